/** A line to Postgres on which a test holds a single connection back: what that connection sends arrives later, as over a path that fails and heals. */
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

export interface HoldingWire {
  /** The database's address by way of this line. */
  readonly url: string;
  /** From the first piece on that holds the text, nothing of that connection passes, in either direction. Resolves with that piece. */
  hold(text: string): Promise<void>;
  /** Hands on what was held. Resolves when the server has carried it out and ended the connection. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

const SSL_REQUEST = 80_877_103;

/**
 * Lays the line. It refuses sessions that begin with settings of the names in `refuses`, as PgBouncer does with those it does
 * not know: it names the first.
 */
export async function startHoldingWire(
  target: string,
  { refuses = [] }: { refuses?: readonly string[] } = {},
): Promise<HoldingWire> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let wanted: { readonly text: string; found(): void } | null = null;
  let held: { readonly far: Socket; readonly pieces: Buffer[] } | null = null;

  const server = createServer((near) => {
    const far = dial(Number(port || 5432), hostname.replace(/^\[|\]$/g, ''));
    for (const side of [near, far]) {
      open.add(side);
      side.setNoDelay(true);
      side.on('error', () => undefined).on('close', () => open.delete(side));
    }
    let isBegun = false;
    near.on('data', (piece: Buffer) => {
      if (!isBegun && piece.readInt32BE(4) !== SSL_REQUEST) {
        isBegun = true;
        const name = refuses.find((each) => piece.includes(`${each}\0`));
        if (name !== undefined) return void near.end(refusal(`unsupported startup parameter: ${name}`));
      }
      if (wanted !== null && piece.includes(wanted.text)) {
        held = { far, pieces: [] };
        wanted.found();
        wanted = null;
      }
      if (held?.far === far) held.pieces.push(piece);
      else far.write(piece);
    });
    far.on('data', (piece: Buffer) => void (held?.far === far || near.write(piece)));
    near.on('close', () => {
      // The path hides the end of the connection, too.
      if (held?.far !== far) far.destroy();
    });
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    hold: (text) =>
      new Promise((resolve) => {
        wanted = { text, found: resolve };
      }),
    release: async () => {
      if (held === null) throw new Error('nothing is held');
      const { far, pieces } = held;
      far.end(Buffer.concat(pieces));
      await once(far, 'close');
    },
    stop: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The message of the protocol with which a session is refused. */
function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, 0]);
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
