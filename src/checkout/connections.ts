/** Lends the connections of one site: one call on each at a time, and the calls beyond that wait their turn. */

import { Client } from 'undici';
import type { Milliseconds } from '../domain/values/time.ts';

/** The place of one connection. Only `Connections` writes into it. */
export interface Slot {
  client: Client | null;
  /** Whether the present connection has carried an answer before. */
  reused: boolean;
}

/** A call that wants a connection. */
export interface Borrower {
  begin(slot: Slot): void;
  /** There are no connections any more. */
  fail(reason: 'stopped'): void;
}

interface ConnectionOptions {
  readonly origin: string;
  readonly most: number;
  readonly connect: NonNullable<Client.Options['connect']>;
}

/** Idle connections are kept this long when the service says nothing about it; a new one costs a TLS handshake. */
const KEEP_ALIVE: Milliseconds = 30_000;

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];
  readonly #waiting: Borrower[] = [];
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begins the call now when a connection is free, and otherwise when one is released. */
  lend(borrower: Borrower): void {
    if (this.#isClosed) {
      borrower.fail('stopped');
      return;
    }
    let slot = this.#free.pop();
    if (slot === undefined && this.#slots.length < this.#options.most) {
      slot = { client: null, reused: false };
      this.#slots.push(slot);
    }
    if (slot === undefined) this.#waiting.push(borrower);
    else borrower.begin(slot);
  }

  clientOf(slot: Slot): Client {
    slot.client ??= this.#open(slot);
    return slot.client;
  }

  /** The call on it has ended, and it goes to the next one that waits. */
  release(slot: Slot): void {
    const next = this.#isClosed ? undefined : this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next.begin(slot);
  }

  /** The connection has carried a complete answer. */
  answered(slot: Slot): void {
    slot.reused = true;
  }

  /** Gives up a connection that does not come about. */
  abandon(slot: Slot): void {
    const client = slot.client;
    slot.client = null;
    void client?.destroy(new Error('deadline'));
  }

  /** Breaks off the calls that are on their way, and ends those that wait. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const borrower of this.#waiting.splice(0)) borrower.fail('stopped');
    await Promise.all(this.#slots.map((slot) => slot.client?.destroy()));
  }

  #open(slot: Slot): Client {
    const client = new Client(this.#options.origin, {
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE,
      // The call's deadline covers these; two timers for one thing would only race.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#options.connect,
    });
    client.on('connect', () => {
      slot.reused = false;
    });
    return client;
  }
}
