/** A line between two real programs that a test can spoil: slow, silent, refused, broken before or within an answer, or cut for ever. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What is wrong with the line. It shows on connections that are open already, too. */
export type Fault =
  /** Each piece arrives so many milliseconds later, in both directions. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** Takes connections and what is sent, and says nothing. */
  | { readonly kind: 'black hole' }
  /** Keeps what is sent in both directions, and hands it on, in order, once the line is mended: a path that fails and heals. */
  | { readonly kind: 'held' }
  /** No process listens. Connections that are open are broken. */
  | { readonly kind: 'refused' }
  /** Takes connections, and ends each at its first bytes without a word: a load balancer with no server behind it. Those that are open end. */
  | { readonly kind: 'closed' }
  /** The request arrives; the connection is reset in place of the answer's first byte. */
  | { readonly kind: 'reset before the answer' }
  /** The connection is reset after so many bytes of an answer. */
  | { readonly kind: 'reset in the answer'; readonly after: number }
  /** An answer comes byte by byte, so many milliseconds apart. */
  | { readonly kind: 'slow bytes'; readonly ms: number };

/** What a test sees of one connection, and what it lets pass: the bytes to hand on, now or with a later piece. */
export interface Tap {
  up(chunk: Buffer, line: Line): Buffer;
  down(chunk: Buffer, line: Line): Buffer;
  /** Whether the far end is kept although the near one is gone. */
  keeps?(): boolean;
}

export interface Line {
  /** Sends bytes to the side that dialled, as if the other end had. */
  answer(bytes: string): void;
  /** Resets it. */
  reset(): void;
}

export interface Wire {
  /** The address of the near end in place of that of the far end: same path, same credentials. */
  readonly url: string;
  /** Spoils the line, or mends it. */
  spoil(fault: Fault | null): Promise<void>;
  /** Resets every connection at both ends; new ones pass. */
  reset(): void;
  /** Ends every connection at both ends without an error; new ones pass. */
  end(): void;
  /** The same as `reset`, and new ones are refused for ever. */
  cut(): void;
  stop(): Promise<void>;
}

/** Lays a line to the host and port of `target`. */
export async function startWire(target: string, tap?: () => Tap): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const far = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (target.startsWith('postgres') ? 5432 : 80)) };
  const open = new Set<Socket>();
  let fault: Fault | null = null;

  const server = createServer((near) => {
    const beyond = connect(far);
    const seen = tap?.();
    const line: Line = { answer: (bytes) => void near.write(bytes), reset: () => near.resetAndDestroy() };
    for (const [one, other] of [
      [near, beyond],
      [beyond, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      const isKept = (): boolean => one === near && seen?.keeps?.() === true;
      one.on('close', () => {
        open.delete(one);
        if (isKept()) return;
        // A path that fails hides the end of a connection, too: it arrives behind what was sent before.
        if (fault?.kind === 'held') later(() => other.destroySoon());
        else other.destroy();
      });
      one.on('error', () => {
        if (!isKept() && fault?.kind !== 'held') other.resetAndDestroy();
      });
    }
    near.on('data', (chunk: Buffer) => {
      if (fault?.kind === 'closed') {
        near.end();
        return;
      }
      const passed = seen ? seen.up(chunk, line) : chunk;
      if (fault?.kind !== 'black hole' && passed.length > 0) later(() => beyond.write(passed));
    });
    beyond.on('data', (chunk: Buffer) => {
      const passed = seen ? seen.down(chunk, line) : chunk;
      if (passed.length > 0) answer(near, passed);
    });
  });

  let held: (() => void)[] = [];
  const later = (act: () => void): void => {
    if (fault?.kind === 'held') held.push(act);
    else if (fault?.kind === 'latency') setTimeout(act, fault.ms);
    else act();
  };
  const answer = (near: Socket, chunk: Buffer): void => {
    if (fault?.kind === 'black hole') return;
    if (fault?.kind === 'reset before the answer') near.resetAndDestroy();
    else if (fault?.kind === 'reset in the answer') near.write(chunk.subarray(0, fault.after), () => near.resetAndDestroy());
    else if (fault?.kind === 'slow bytes') trickle(near, chunk, fault.ms);
    else later(() => near.write(chunk));
  };
  const trickle = (near: Socket, chunk: Buffer, ms: number): void => {
    if (chunk.length === 0 || near.destroyed) return;
    near.write(chunk.subarray(0, 1));
    setTimeout(() => trickle(near, chunk.subarray(1), ms), ms);
  };
  const reset = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const end = (): void => {
    for (const socket of open) socket.destroySoon();
  };
  const listen = async (on: number): Promise<void> => {
    server.listen(on, '127.0.0.1');
    await once(server, 'listening');
  };
  const refuse = (): void => {
    server.close();
    reset();
  };

  await listen(0);
  const url = new URL(target);
  const nearPort = (server.address() as AddressInfo).port;
  url.hostname = '127.0.0.1';
  url.port = String(nearPort);
  return {
    url: url.href,
    spoil: async (next) => {
      fault = next;
      const kept = held;
      held = [];
      for (const act of kept) later(act);
      if (next?.kind === 'closed') end();
      if (next?.kind === 'refused') refuse();
      else if (!server.listening) await listen(nearPort);
    },
    reset,
    end,
    cut: refuse,
    stop: async () => {
      if (server.listening) {
        refuse();
        await once(server, 'close');
      } else reset();
    },
  };
}
