/** One call on its way: from the connection that it is lent to a complete answer, or to the reason why there is none. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Milliseconds } from '../domain/values/time.ts';
import { ProxyFailed } from '../runtime/http/tunnel.ts';
import { monotonic, startImmediate } from '../runtime/time.ts';
import type { Call, Failure, Reply } from './call.ts';
import type { Borrower, Connections, Slot } from './connections.ts';
import { type Deadlines, Lapsing } from './deadlines.ts';
import { type FailureReason, lostConnection, reasonOf } from './failure.ts';

/** The parts that the calls to one site share. */
export interface Line {
  readonly connections: Connections;
  readonly deadlines: Deadlines;
  readonly origin: string;
  /** The path of the base address, without a slash at its end. */
  readonly prefix: string;
  /** For one call: connecting, headers and body together. */
  readonly timeout: Milliseconds;
  /** Of a body; a longer one is not read to its end. */
  readonly maxBytes: number;
}

export class Exchange extends Lapsing implements Borrower, Dispatcher.DispatchHandler {
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
  readonly #line: Line;
  readonly #call: Call;
  readonly #deadline: { by: Milliseconds };
  readonly #resolve: (answer: Reply | Failure) => void;

  constructor(line: Line, call: Call, deadline: { by: Milliseconds }, resolve: (answer: Reply | Failure) => void) {
    super();
    this.#line = line;
    this.#deadline = deadline;
    this.#call = call;
    this.#resolve = resolve;
  }

  begin(slot: Slot): void {
    this.#slot = slot;
    if (this.#deadline.by === 0) this.#deadline.by = monotonic() + this.#line.timeout;
    this.by = this.#deadline.by;
    this.#line.deadlines.add(this);
    this.#dispatch(slot);
  }

  #dispatch(slot: Slot): void {
    const { method, path, headers, body } = this.#call;
    const { connections, origin, prefix } = this.#line;
    // With the origin given, undici does not write the origin as text for each call.
    connections.clientOf(slot).dispatch({ origin, method, path: prefix + path, headers, body }, this);
  }

  #settle(answer: Reply | Failure): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#line.deadlines.remove(this);
    this.#resolve(answer);
  }

  fail(failed: FailureReason, proxy?: string): void {
    const phase = this.#status > 0 ? 'reading' : this.#controller === null ? 'connecting' : 'waiting';
    this.#settle({ failed, status: this.#status || null, phase, proxy });
  }

  lapse(): void {
    this.fail('timeout');
    if (this.#controller !== null) {
      this.#controller.abort(new Error('deadline'));
      return;
    }
    // Still connecting: undici would hold the call until the connection is there, and the slot with it.
    this.#line.connections.abandon(this.#slot!);
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
    if (Number(headers['content-length'] ?? 0) > this.#line.maxBytes) this.#tooLarge(controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#line.maxBytes) {
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
    const { connections } = this.#line;
    const slot = this.#slot!;
    connections.answered(slot);
    this.#settle({ status: this.#status, headers: this.#headers, body });
    connections.release(slot);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    const { connections } = this.#line;
    const slot = this.#slot!;
    const isSentAgain = this.#isStale(slot, error);
    if (isSentAgain) {
      this.#retried = true;
      this.#controller = null;
    } else {
      const progress = { isSent: this.#controller !== null, hasBegun: this.#status > 0 };
      if (connections.isClosed) this.fail('stopped');
      else this.fail(reasonOf(error, progress), error instanceof ProxyFailed ? error.message : undefined);
    }
    // undici is in the middle of taking the connection down; what comes next starts after that.
    startImmediate(() => {
      if (isSentAgain && !this.#settled) this.#dispatch(slot);
      else connections.release(slot);
    });
  }

  /**
   * Whether the service closed an idle connection at the very moment we wrote on it. Nothing was answered, these calls only
   * read, and the fault is not the service's: once more, on a new connection, under the same deadline. A connection that
   * never carried an answer is not given this chance, or a service that resets everything would be called twice.
   */
  #isStale(slot: Slot, error: Error): boolean {
    if (this.#retried || this.#answered || this.#settled || this.#line.connections.isClosed) return false;
    return slot.reused && lostConnection(error);
  }
}
