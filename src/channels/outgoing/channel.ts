/** The duty of every channel: to send one event once, and to say in a value how that went. */

import type { TogetherReason } from '../../domain/deliveries/channel-pace.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { IncidentNow } from '../../postgres/incidents/current.ts';
import type { RequestTrace } from '../../runtime/traces/traces.ts';

/** An event on its way to a subscriber. */
export interface OutgoingEvent {
  /** The same on every attempt: receivers recognise a repeat by it. */
  readonly id: string;
  readonly type: string;
  /** The exact text that was stored, sent as these bytes. */
  readonly body: string;
}

export interface SendOptions {
  /** Which try of this delivery it is, from 1. */
  readonly attempt: number;
  readonly now: Instant;
  /** How many attempts it had when a replay began to send it again; left out when none did. */
  readonly again?: number;
  /**
   * Asked right before the event leaves this process; false: it must not, because the lease may have ended while the
   * connection was made. The attempt then fails without having sent anything.
   */
  readonly mayLeave?: () => boolean;
  /** Ends the attempt early (the daemon stops): it then counts as a failure of ours. */
  readonly signal?: AbortSignal;
  /** Where the spans of its requests belong; left out where nothing is traced. */
  readonly trace?: RequestTrace | undefined;
}

export interface TogetherOptions extends SendOptions {
  /** When the first and the last of them were made. */
  readonly since: Instant;
  readonly until: Instant;
  readonly reason: TogetherReason;
  /** The present state of the events' incidents, by their ids, as far as it is known. */
  readonly incidents: ReadonlyMap<string, IncidentNow>;
}

/** The facts of an attempt, however it ended. */
interface Attempted {
  readonly tookMs: Milliseconds;
  /** The beginning of the answer, fit to be stored and shown. */
  readonly excerpt: string;
  /** The whole answer to an attempt that failed, up to 8 kB and without what gives access; left out where none came. */
  readonly answer?: string | null;
}

/** Why an attempt did not succeed. */
interface Refusal {
  /** A stable word for logs, metrics and the API, for example `timeout`, `http_503`, `address_refused`. */
  readonly reason: string;
  /** One sentence for people. It holds no secret, and no address that is one. */
  readonly detail: string;
  readonly httpStatus: number | null;
}

export type SendResult =
  | ({ readonly kind: 'delivered'; readonly httpStatus: number | null } & Attempted)
  /** To be tried again. A fault of `ours` (no name server, no free socket) is not held against the receiver. */
  | ({
      readonly kind: 'failed';
      readonly retryAfter: Milliseconds | null;
      readonly fault: 'receiver' | 'ours';
      /** The receiver takes messages, but fewer: it is tried again after `retryAfter`, and its schedule does not count this. */
      readonly isLimit?: boolean;
    } & Refusal &
      Attempted)
  /** The receiver will never take anything again: the subscriber is switched off and says why. */
  | ({ readonly kind: 'gone' } & Refusal & Attempted);

export interface Channel {
  /** Makes one attempt. Never rejects: whatever happens is a result. */
  send(event: OutgoingEvent, options: SendOptions): Promise<SendResult>;
  /**
   * Sends events that waited, the oldest first, or one that comes late, in one message: as one attempt. A channel that has it is for people, who are
   * not to be sent one message after the other. Never rejects either.
   */
  sendAll?(events: readonly OutgoingEvent[], options: TogetherOptions): Promise<SendResult>;
  /** Lets running attempts finish, then closes connections. May be called again. */
  close(): Promise<void>;
}
