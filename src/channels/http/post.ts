/**
 * One POST over a pool of connections, with one deadline for connecting, headers and body. undici's `dispatch` is used
 * because its `request` builds a stream per answer, which costs more than the rest of a delivery.
 */

import type { Dispatcher, Pool } from 'undici';
import { readRetryAfter } from '../../domain/deliveries/retry-after.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { UNPACKED } from '../../runtime/http/unpacked.ts';
import { startTimer } from '../../runtime/time.ts';
import type { RequestTrace } from '../../runtime/traces/traces.ts';
import { networkFailureOf } from './network-failure.ts';

/** More of an answer is not read: it is not used, and a receiver could send without end. */
const MOST_READ = 16 * 1024;

export interface PostRequest {
  readonly origin: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string;
  readonly timeout: Milliseconds;
  readonly signal: AbortSignal | undefined;
  /** Asked right before the request is written; false: it is not. */
  readonly mayLeave?: (() => boolean) | undefined;
  /** Where the request's span belongs; nowhere when left out. */
  readonly trace?: RequestTrace | undefined;
}

/** The outcome of a request. `error` is null when the answer is complete, or as much of it was read as is ever read. */
export interface PostOutcome {
  /** Null when not even the beginning of an answer came. */
  readonly status: number | null;
  /** The words after the status, such as `Internal Server Error`; empty when there are none. */
  readonly statusText: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: string;
  readonly error: Error | null;
  /** Whether a connection stood and the request was being written when it ended. */
  readonly isSent: boolean;
}

export class DeadlinePassed extends Error {
  readonly code = 'TIMEOUT';
}

function stopped(): Error {
  return new DOMException('the attempt was stopped', 'AbortError');
}

/** One request on its way; gathers what comes and settles once, also while it still waits for a connection. */
class Exchange implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #statusText = '';
  #headers: PostOutcome['headers'] = {};
  #chunks: Buffer[] = [];
  #read = 0;
  #endedBy: Error | null = null;
  #settle: ((outcome: PostOutcome) => void) | null;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #mayLeave: (() => boolean) | undefined;
  #onAbort: (() => void) | null = null;

  constructor({ timeout, signal, mayLeave }: PostRequest, settle: (outcome: PostOutcome) => void) {
    this.#settle = settle;
    this.#timer = startTimer(() => this.#end(new DeadlinePassed()), timeout);
    this.#signal = signal;
    this.#mayLeave = mayLeave;
    if (signal === undefined) return;
    this.#onAbort = () => this.#end(stopped());
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request's turn came after it was given up, or its connection stood when the lease had ended.
    if (this.#endedBy === null && this.#mayLeave?.() === false) this.#end(stopped());
    else if (this.#endedBy) controller.abort(this.#endedBy);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: PostOutcome['headers'],
    statusText = '',
  ): void {
    // An interim answer (100, 103) is followed by the real one.
    if (status < 200) return;
    this.#status = status;
    this.#statusText = statusText;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = MOST_READ - this.#read;
    this.#chunks.push(chunk.length <= room ? chunk : chunk.subarray(0, room));
    this.#read += chunk.length;
    if (this.#read < MOST_READ) return;
    this.#finish(null);
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    this.#finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(error);
  }

  #end(error: Error): void {
    this.#endedBy = error;
    this.#finish(error);
    this.#controller?.abort(error);
  }

  #finish(error: Error | null): void {
    const settle = this.#settle;
    if (settle === null) return;
    this.#settle = null;
    clearTimeout(this.#timer);
    if (this.#onAbort !== null) this.#signal?.removeEventListener('abort', this.#onAbort);
    const [first] = this.#chunks;
    // Nearly every answer comes in one piece.
    const body = first === undefined ? '' : (this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)).toString();
    settle({
      status: this.#status,
      statusText: this.#statusText,
      headers: this.#headers,
      body,
      error,
      isSent: this.#controller !== null,
    });
  }
}

/** Sends the request. Never rejects; whatever goes wrong is the outcome's `error`. */
export function post(pool: Pool, request: PostRequest): Promise<PostOutcome> {
  const { trace } = request;
  return trace === undefined ? postOnce(pool, request) : postTraced(pool, request, trace);
}

/** A receiver's path may give access, so its span has none. */
async function postTraced(pool: Pool, request: PostRequest, trace: RequestTrace): Promise<PostOutcome> {
  const span = trace.request({ method: 'POST', address: shownAddress(request.origin + request.path) });
  const outcome = await postOnce(pool, { ...request, headers: [...request.headers, 'traceparent', span.traceparent] });
  const { status, error } = outcome;
  const failed = error instanceof DeadlinePassed ? 'timeout' : error === null ? null : networkFailureOf(error, outcome).reason;
  span.end(status, failed);
  return outcome;
}

function postOnce(pool: Pool, request: PostRequest): Promise<PostOutcome> {
  if (request.signal?.aborted) {
    return Promise.resolve({ status: null, statusText: '', headers: {}, body: '', error: stopped(), isSent: false });
  }
  return new Promise((resolve) => {
    const { path, headers, body } = request;
    pool.dispatch({ method: 'POST', path, headers: [...headers, ...UNPACKED], body }, new Exchange(request, resolve));
  });
}

/** The value of a header, of several the first; empty when there is none. */
export function headerOf(headers: PostOutcome['headers'], name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** How long an answer asks us to wait; null when it says nothing that can be read. */
export function retryAfterOf(headers: PostOutcome['headers'], now: Instant): Milliseconds | null {
  return readRetryAfter(headerOf(headers, 'retry-after'), { date: headerOf(headers, 'date'), now });
}
