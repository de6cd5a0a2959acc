/** Failures of calls of the API. */

import type { BatchResult, ProblemField } from './contract.ts';

/**
 * A call that was not answered as asked. `code` is stable: the API's own codes (`purchase_not_found`, `unknown_site` …,
 * see docs/errors.md), and three of this client: `unreachable` (no answer came), `timeout` (none in time) and
 * `unexpected_answer` (something that is not this API answered).
 */
export class ApiProblem extends Error {
  readonly code: string;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** The problem and what to do, in a sentence. */
  readonly detail: string;
  /** For requests that are not valid: each field with its fault. */
  readonly errors: readonly ProblemField[];
  /** Seconds to wait before the next try, where the answer says so. */
  readonly retryAfter: number | null;
  /** Of `watchMany`: the results of the calls before the one that failed; null where there are none. */
  readonly done: BatchResult | null;

  constructor(
    {
      errors = [],
      retryAfter = null,
      done = null,
      ...given
    }: Pick<ApiProblem, 'code' | 'status' | 'detail'> & Partial<Pick<ApiProblem, 'errors' | 'retryAfter' | 'done'>>,
    options?: { cause?: unknown },
  ) {
    super(`${given.code}: ${given.detail}`, options);
    this.name = 'ApiProblem';
    this.code = given.code;
    this.status = given.status;
    this.detail = given.detail;
    this.errors = errors;
    this.retryAfter = retryAfter;
    this.done = done;
  }

  /** Whether the same call may succeed later without a change: no answer, too many calls, or a fault of the server. */
  get isTemporary(): boolean {
    return this.status === null || this.status === 429 || this.status >= 500;
  }
}
