/** How other parts trace what they do; where nothing is traced, they hold null. */

import type { PollOutcome } from '../../domain/deciding/outcome.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import type { Milliseconds } from '../../domain/values/time.ts';

/** Where spans go, which traces are kept, and how many spans wait for how long until they are exported. */
export interface TraceSettings {
  readonly exporter: 'otlp' | 'console';
  readonly sampler: `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`;
  /** Share of the traces that a `traceidratio` sampler keeps, in [0, 1]. */
  readonly ratio: number;
  readonly batch: {
    readonly scheduledDelayMillis: Milliseconds;
    readonly exportTimeoutMillis: Milliseconds;
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
  };
}

/** A span that makes requests. */
export interface RequestTrace {
  /** The value of a `traceparent` header. */
  readonly traceparent: string;
  /** Begins the span of one request. `address` and `path` are exported: neither may hold a secret. */
  request(to: { readonly method: string; readonly address: string; readonly path?: string }): RequestSpan;
}

export interface RequestSpan {
  readonly traceparent: string;
  /** `status`: of the answer, null without one. `failed`: a stable word for why there is no complete answer, or null. */
  end(status: number | null, failed: string | null): void;
}

/** An attempt to deliver an event. */
export interface AttemptTrace extends RequestTrace {
  /** `failed`: a stable word; null when the event was delivered. */
  end(failed: string | null): void;
}

/** A delivery of an event, as a trace tells it. */
export interface TracedDelivery {
  readonly event: { readonly id: string; readonly type: string };
  readonly subscriber: string;
  /** From 1, those before a replay included. */
  readonly attempt: number;
}

/** The record of a statement: the row ids of the polls, and new events, each with the row id of its purchase as `lane`. */
export interface TracedRecord {
  readonly ids: ReadonlySet<number>;
  readonly deliveries: { readonly rows: readonly { readonly lane: number; readonly event: { readonly id: string } }[] };
}

/** A poll under way: the same object from its beginning to its record. */
export interface TracedPoll {
  readonly purchase: Purchase;
}

/** Traces of a daemon. That of a poll is exported when the poll changed something or failed, and dropped otherwise. No method throws. */
export interface Traces {
  beginPoll(poll: TracedPoll): RequestTrace;
  /** `began`: when the decision began, by `performance.now()`. */
  decided(poll: TracedPoll, outcome: PollOutcome, began: Milliseconds): void;
  /** One statement wrote these polls, or failed to. `began`: when it was sent, by `performance.now()`. */
  recorded(polls: readonly TracedPoll[], began: Milliseconds, record: TracedRecord | null): void;
  beginAttempt(delivery: TracedDelivery): AttemptTrace;
  /** Exports what is left, within two seconds. Never rejects. */
  close(): Promise<void>;
}
