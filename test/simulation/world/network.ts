/** A network inside the process: sockets in pairs, whose bytes arrive when the scheduler says so. */

import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Duplex } from 'node:stream';
import type { Place, Scheduler } from './time.ts';

/** What the network does to the bytes and ends of one connection. */
export interface Weather {
  /** Milliseconds from one end to the other; null: nothing arrives for now. */
  delay(from: Place, to: Place): number | null;
  /** Whether a connection is refused. */
  refuses(from: Place, to: Place): boolean;
}

/** Milliseconds until bytes that did not arrive are sent again. */
const SENDS_AGAIN_AFTER = 1_000;

type Accept = (socket: SimSocket) => void;

export class Network {
  readonly #scheduler: Scheduler;
  readonly #listeners = new Map<string, { accept: Accept; place: Place }>();
  weather: Weather = { delay: () => 0.2, refuses: () => false };
  readonly open = new Set<SimSocket>();
  #ports = 40_000;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get scheduler(): Scheduler {
    return this.#scheduler;
  }

  listen(address: string, accept: Accept, place = this.#scheduler.here()): void {
    this.#listeners.set(address, { accept, place });
  }

  unlisten(address: string): void {
    this.#listeners.delete(address);
  }

  /** Breaks every connection of a place, as the kernel does when its process is killed. */
  breakOf(place: Place): void {
    for (const socket of this.open) if (socket.place === place) socket.breakOff();
  }

  /** Forgets every address and connection: another world begins. */
  reset(): void {
    this.#listeners.clear();
    this.open.clear();
    this.#ports = 40_000;
  }

  nextPort(): number {
    return this.#ports++;
  }

  dial(host: string, port: number, onConnect?: () => void): SimSocket {
    const here = this.#scheduler.here();
    const near = new SimSocket(this, here, `${host}:${port}`);
    if (onConnect) near.once('connect', onConnect);
    const listener = this.#listeners.get(`${host}:${port}`);
    const there = listener?.place ?? this.#scheduler.world;
    const delay = this.weather.delay(here, there);
    if (delay === null) return near;
    this.#scheduler.after(delay, () => {
      if (near.destroyed) return;
      const current = this.#listeners.get(`${host}:${port}`);
      if (current === undefined || current.place.state === 'dead' || this.weather.refuses(here, there)) {
        near.destroy(
          Object.assign(new Error(`connect ECONNREFUSED ${host}:${port}`), { code: 'ECONNREFUSED', syscall: 'connect' }),
        );
        return;
      }
      const far = new SimSocket(this, current.place, 'in');
      near.peer = far;
      far.peer = near;
      far.connecting = false;
      near.connecting = false;
      near.emit('connect');
      near.emit('ready');
      near.flushHeld();
      this.#scheduler.soon(() => current.accept(far), current.place);
    });
    return near;
  }
}

export class SimSocket extends Duplex {
  peer: SimSocket | null = null;
  connecting = true;
  bytesRead = 0;
  bytesWritten = 0;
  readonly place: Place;
  readonly target: string;
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort: number;
  readonly remoteFamily = 'IPv4';
  readonly localAddress = '127.0.0.1';
  readonly localPort: number;
  readonly #network: Network;
  #held: (() => void)[] = [];
  /** What was sent while nothing arrived. */
  readonly #stalled: (() => void)[] = [];
  /** When the last of what was sent arrives: bytes keep their order. */
  #arrives = 0;

  constructor(network: Network, place: Place, target: string) {
    super({ allowHalfOpen: false, autoDestroy: true });
    this.#network = network;
    this.place = place;
    this.target = target;
    this.remotePort = network.nextPort();
    this.localPort = network.nextPort();
    network.open.add(this);
    this.once('close', () => network.open.delete(this));
  }

  get readyState(): string {
    if (this.destroyed) return 'closed';
    return this.connecting ? 'opening' : 'open';
  }
  get pending(): boolean {
    return this.connecting;
  }
  get timeout(): number {
    return 0;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  setTimeout(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  address(): object {
    return { address: '127.0.0.1', family: 'IPv4', port: this.localPort };
  }
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
  resetAndDestroy(): this {
    return this.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET', isOwn: true }));
  }

  /** Ends without a word to its own side; the peer sees a reset. */
  breakOff(): void {
    this.#network.open.delete(this);
    this.#deliver((peer) => peer.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })));
    this.peer = null;
  }

  flushHeld(): void {
    for (const act of this.#held.splice(0)) act();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (this.connecting) {
      this.#held.push(() => this._write(chunk, _encoding, done));
      return;
    }
    this.bytesWritten += chunk.length;
    const bytes = Buffer.from(chunk);
    this.#deliver((peer) => {
      peer.bytesRead += bytes.length;
      peer.push(bytes);
    });
    done();
  }

  override _final(done: (error?: Error) => void): void {
    if (this.connecting) {
      this.#held.push(() => this._final(done));
      return;
    }
    this.#deliver((peer) => peer.push(null));
    done();
  }

  override _destroy(error: (Error & { isOwn?: boolean }) | null, done: (error: Error | null) => void): void {
    const isReset = error !== null || !this.writableFinished;
    if (this.peer !== null) {
      this.#deliver((peer) => {
        if (isReset && error !== null)
          peer.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }));
        else {
          peer.push(null);
          // Nobody reads what is written from here on.
          if (!peer.destroyed && !peer.readableFlowing) peer.resume();
        }
      });
    }
    done(error?.isOwn ? null : error);
  }

  #deliver(act: (peer: SimSocket) => void, peer = this.peer): void {
    if (peer === null) return;
    const { scheduler, weather } = this.#network;
    const delay = this.#stalled.length > 0 ? null : weather.delay(this.place, peer.place);
    if (delay === null) {
      this.#stalled.push(() => this.#deliver(act, peer));
      if (this.#stalled.length === 1) this.#sendAgain(peer);
      return;
    }
    this.#arrives = Math.max(this.#arrives, scheduler.now + delay);
    scheduler.after(
      this.#arrives - scheduler.now,
      () => {
        if (!peer.destroyed) act(peer);
      },
      peer.place,
    );
  }

  /** Sends what did not arrive again until it does, as kernels do: a connection never loses bytes in its middle. */
  #sendAgain(peer: SimSocket): void {
    const { scheduler, weather } = this.#network;
    const tryAgain = (): void => {
      if (weather.delay(this.place, peer.place) === null) this.#sendAgain(peer);
      else for (const act of this.#stalled.splice(0)) act();
    };
    scheduler.after(SENDS_AGAIN_AFTER, tryAgain, scheduler.world);
  }
}

/** Has `net.connect` and every server of this process use the network. */
export function useNetwork(network: Network): void {
  const connect = (...values: unknown[]): SimSocket => {
    const done = values.findLast((value) => typeof value === 'function') as (() => void) | undefined;
    const [first, second] = values;
    const { host = '127.0.0.1', port } =
      typeof first === 'object'
        ? (first as { host?: string; port: number })
        : { port: first as number, host: typeof second === 'string' ? second : undefined };
    return network.dial(host ?? '127.0.0.1', Number(port), done);
  };
  Object.assign(net, { connect, createConnection: connect });
  net.Server.prototype.listen = function listen(this: net.Server, ...values: unknown[]): net.Server {
    const done = values.findLast((value) => typeof value === 'function') as (() => void) | undefined;
    const options = (typeof values[0] === 'object' ? values[0] : { port: values[0], host: values[1] }) as {
      port: number;
      host?: string;
    };
    const port = Number(options.port) || network.nextPort();
    const host = typeof options.host === 'string' ? options.host : '127.0.0.1';
    const address = `${host}:${port}`;
    Object.assign(this, {
      _handle: {
        close: () => network.unlisten(address),
        getsockname: (out: object) => Object.assign(out, { address: host, family: 'IPv4', port }) && 0,
        ref: () => undefined,
        unref: () => undefined,
        hasRef: () => true,
      },
    });
    if (done) this.once('listening', done);
    network.listen(address, (socket) => this.emit('connection', socket));
    network.scheduler.soon(() => this.emit('listening'));
    return this;
  };
  syncBuiltinESMExports();
}
