/** The pieces an explanation is made of. */

import type { ShownLimit } from '../stays/dwell.ts';
import type { Instant } from '../values/time.ts';

export const STEP_KINDS = [
  'registered',
  'watched',
  'transition',
  'stuck',
  'event',
  'delivery',
  'attempt',
  'ended',
  'alert',
  'more',
  'polled',
  'site',
  'shard',
  'stuck_clock',
  'incident',
  'order',
  'subscriber',
  'poll',
  'give_up',
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** One thing that happened, holds or will happen; the fields beside the text are there where they apply. */
export interface ExplanationStep {
  readonly at: Instant | null;
  readonly kind: StepKind;
  readonly text: string;
  /** Whether a person may have to do something about it. */
  readonly wrong?: boolean;
  readonly sequence?: number;
  readonly eventId?: string;
  readonly type?: string;
  readonly from?: number | null;
  readonly to?: number;
  readonly subscriber?: string;
  /** Of a delivery; `none` when there is no delivery, with the reason. */
  readonly status?: string;
  /** A stable word: why the next poll is when it is, or why there is no delivery. */
  readonly reason?: string;
  readonly attempt?: number;
  readonly outcome?: string;
  readonly httpStatus?: number | null;
  readonly incidentId?: string;
  /** Of an alert: the channels for people that got it. */
  readonly channels?: readonly string[];
  /** Of the stuck clock. */
  readonly limit?: ShownLimit;
}

/** Something that is the matter, the gravest first. */
export interface Matter {
  readonly code: MatterCode;
  readonly text: string;
  /** Of an event for which the same holds as for others: what follows "Event 3 is". */
  readonly of?: { readonly sequence: number; readonly rest: string };
}

export const MATTER_CODES = [
  'no_daemon',
  'site_not_configured',
  'site_failing',
  'event_missing',
  'delivery_missing',
  'paid_twice',
  'stuck',
  'unreadable',
  'subscriber_off',
  'subscriber_paused',
  'subscriber_unreached',
  'delivery_exhausted',
  'delivery_failing',
  'poll_late',
  'poll_failing',
] as const;
export type MatterCode = (typeof MATTER_CODES)[number];
