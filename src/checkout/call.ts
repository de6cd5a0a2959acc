/** One call to the service, and how it can end. */

import type { IncomingHttpHeaders } from 'node:http';
import type { FailureReason } from './failure.ts';

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Below the base address, starting with a slash. */
  readonly path: string;
  /** Names and values in turn, `UNPACKED` among them. They are sent as they are, and must not be changed. */
  readonly headers: string[];
  readonly body: string | null;
}

/** A complete answer of any status. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** No complete answer. `status` is there when the answer had begun. */
export interface Failure {
  readonly failed: FailureReason;
  readonly status: number | null;
  /** How far the call came. */
  readonly phase: 'connecting' | 'waiting' | 'reading';
  /** How the proxy failed, as a sentence. */
  readonly proxy?: string | undefined;
}
