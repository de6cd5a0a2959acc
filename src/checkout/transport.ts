/**
 * Sends one call and brings back its bytes, or the reason why there are none. Knows HTTP, connections, one deadline for
 * the whole call and a cap on the body; knows nothing about purchases. Never rejects.
 *
 * It stands on undici's `dispatch` with one Client per connection instead of `request` on a Pool: no stream per answer
 * and no search for an idle connection, and it knows whether a connection was used before, which the retry below needs.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { Client, type Dispatcher } from 'undici';
import type { Milliseconds } from '../domain/values/time.ts';
import { Deadlines, Lapsing } from './deadlines.ts';
import { type FailureReason, lostConnection, reasonOf } from './failure.ts';

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Below the base address, starting with a slash. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string | null;
}

/** A complete answer of any status. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** No complete answer. `status` is there when the answer had begun;  */
export interface Failure {
  readonly failed: FailureReason;
  readonly status: number | null;
  /** How far the call came. */
  readonly phase: 'connecting' | 'waiting' | 'reading';
}

export interface Transport {
  /**
   * Sends as soon as a connection is free. The deadline begins then, since waiting for our own other calls says nothing
   * about the service. It is written into `deadline.by` (monotonic milliseconds); one that has a value is kept, so that
   * two calls can share it.
   */
  send(call: Call, deadline?: { by: Milliseconds }): Promise<Reply | Failure>;
  /** Breaks off what is on its way: those calls, and later ones, end as `stopped`. */
  close(): Promise<void>;
}

interface TransportOptions {
  readonly baseUrl: URL;
  readonly connections: number;
  /** For one call: connecting, headers and body together. */
  readonly timeout: Milliseconds;
  /** Of a body; a longer one is not read to its end. */
  readonly maxBytes: number;
}

/** Answers are read as they come: unpacking a compressed one could take any amount of memory. */
const UNPACKED = ['accept-encoding', 'identity'];
/** Idle connections are kept this long when the service says nothing about it; a new one costs a TLS handshake. */
const KEEP_ALIVE: Milliseconds = 30_000;

interface Slot {
  client: Client | null;
  /** Whether the present connection has carried an answer before. */
  reused: boolean;
}

export function createTransport({ baseUrl, connections, timeout, maxBytes }: TransportOptions): Transport {
  const prefix = baseUrl.pathname.replace(/\/+$/, '');
  const deadlines = new Deadlines();
  const slots: Slot[] = [];
  const free: Slot[] = [];
  const waiting: Exchange[] = [];
  let closed = false;

  function connectionOf(slot: Slot): Client {
    if (slot.client !== null) return slot.client;
    const client = new Client(baseUrl.origin, {
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE,
      // The deadline below covers these; two timers for one thing would only race.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout },
    });
    client.on('connect', () => {
      slot.reused = false;
    });
    slot.client = client;
    return client;
  }

  function release(slot: Slot): void {
    const next = closed ? undefined : waiting.shift();
    if (next === undefined) free.push(slot);
    else next.begin(slot);
  }

  class Exchange extends Lapsing implements Dispatcher.DispatchHandler {
    #slot: Slot | null = null;
    #controller: Dispatcher.DispatchController | null = null;
    #settled = false;
    #retried = false;
    #answered = false;
    #status = 0;
    #headers: IncomingHttpHeaders = {};
    #bytes = 0;
    #chunk: Buffer | null = null;
    #chunks: Buffer[] | null = null;
    readonly #call: Call;
    readonly #deadline: { by: Milliseconds };
    readonly #resolve: (answer: Reply | Failure) => void;

    constructor(call: Call, deadline: { by: Milliseconds }, resolve: (answer: Reply | Failure) => void) {
      super();
      this.#deadline = deadline;
      this.#call = call;
      this.#resolve = resolve;
    }

    begin(slot: Slot): void {
      this.#slot = slot;
      if (this.#deadline.by === 0) this.#deadline.by = performance.now() + timeout;
      this.by = this.#deadline.by;
      deadlines.add(this);
      this.#dispatch(slot);
    }

    #dispatch(slot: Slot): void {
      const { method, path, headers, body } = this.#call;
      connectionOf(slot).dispatch({ method, path: prefix + path, headers: [...headers, ...UNPACKED], body }, this);
    }

    #settle(answer: Reply | Failure): void {
      if (this.#settled) return;
      this.#settled = true;
      deadlines.remove(this);
      this.#resolve(answer);
    }

    fail(failed: FailureReason): void {
      const phase = this.#status > 0 ? 'reading' : this.#controller === null ? 'connecting' : 'waiting';
      this.#settle({ failed, status: this.#status || null, phase });
    }

    lapse(): void {
      this.fail('timeout');
      if (this.#controller !== null) {
        this.#controller.abort(new Error('deadline'));
        return;
      }
      // Still connecting: undici would hold the call until the connection is there, and the slot with it.
      const slot = this.#slot!;
      const client = slot.client;
      slot.client = null;
      void client?.destroy(new Error('deadline'));
    }

    onRequestStart(controller: Dispatcher.DispatchController): void {
      this.#controller = controller;
      if (this.#settled) controller.abort(new Error('over'));
    }

    onResponseStarted(): void {
      this.#answered = true;
    }

    onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
      if (status < 200) return; // an interim answer; the real one follows
      this.#status = status;
      this.#headers = headers;
      if (Number(headers['content-length'] ?? 0) > maxBytes) this.#tooLarge(controller);
    }

    onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
      this.#bytes += chunk.length;
      if (this.#bytes > maxBytes) {
        this.#tooLarge(controller);
      } else if (this.#chunk === null) {
        this.#chunk = chunk;
      } else {
        this.#chunks ??= [this.#chunk];
        this.#chunks.push(chunk);
      }
    }

    #tooLarge(controller: Dispatcher.DispatchController): void {
      this.fail('too_large');
      controller.abort(new Error('too large'));
    }

    onResponseEnd(): void {
      const body = this.#chunks === null ? (this.#chunk ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
      const slot = this.#slot!;
      slot.reused = true;
      this.#settle({ status: this.#status, headers: this.#headers, body });
      release(slot);
    }

    onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
      const slot = this.#slot!;
      // A service may close an idle connection at the very moment we write on it. Nothing was answered, these calls only
      // read, and the fault is not the service's: once more, on a new connection, under the same deadline. A connection
      // that never carried an answer is not given this chance, or a service that resets everything would be called twice.
      const stale = slot.reused && !this.#retried && !this.#answered && !this.#settled && !closed && lostConnection(error);
      if (stale) {
        this.#retried = true;
        this.#controller = null;
      } else {
        const progress = { isSent: this.#controller !== null, hasBegun: this.#status > 0 };
        this.fail(closed ? 'stopped' : reasonOf(error, progress));
      }
      // undici is in the middle of taking the connection down; what comes next starts after that.
      setImmediate(() => {
        if (stale && !this.#settled) this.#dispatch(slot);
        else release(slot);
      });
    }
  }

  return {
    send: (call, deadline = { by: 0 }) =>
      new Promise((resolve) => {
        const exchange = new Exchange(call, deadline, resolve);
        if (closed) return exchange.fail('stopped');
        let slot = free.pop();
        if (slot === undefined && slots.length < connections) {
          slot = { client: null, reused: false };
          slots.push(slot);
        }
        if (slot === undefined) waiting.push(exchange);
        else exchange.begin(slot);
      }),
    async close() {
      closed = true;
      for (const exchange of waiting.splice(0)) exchange.fail('stopped');
      await Promise.all(slots.map((slot) => slot.client?.destroy()));
      deadlines.stop();
    },
  };
}
