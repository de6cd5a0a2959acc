/** The outcome of a poll, and the facts that deciding needs: shared by good answers and failures. */

import { type PurchaseDraft, purchaseDraftOf, stateOrNull } from '../events/make-event.ts';
import type { OwnData, PurchaseEventType } from '../events/system-event-types.ts';
import type { PollPolicy } from '../polling/poll-plan.ts';
import type { PollReason } from '../polling/poll-reason.ts';
import type { Details, Purchase } from '../purchases/purchase.ts';
import type { JudgedStay } from '../stays/stay.ts';
import type { SkippedTime } from '../values/clock-steps.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../values/time.ts';
import type { InvoiceSeen } from './invoice-seen.ts';

/** A change between two observations: the state moved after `notBefore` (null at first) and no later than `notAfter`. */
export interface StateTransition {
  readonly sequence: number;
  readonly from: number | null;
  readonly to: number;
  readonly notBefore: Instant | null;
  readonly notAfter: Instant;
}

export interface PollOutcome {
  /**
   * `postponed`: the site's trouble, nothing is recorded and the purchase stays due. The others are recorded:
   * `unchanged` only moves times and counters, `failed` is the purchase's own trouble, `changed` brings events.
   */
  readonly kind: 'postponed' | 'unchanged' | 'failed' | 'changed';
  /** For logs and `why`: a stable word. */
  readonly reason: string;
  /** Codes of the errors that the answer listed; absent where it listed none. */
  readonly codes?: readonly string[];
  /** Whether people are alerted that the purchase cannot be read any more. */
  readonly isAlarming?: boolean;
  /** The purchase as it is from now on. */
  readonly purchase: Purchase;
  readonly nextPollAt: Instant | null;
  /** The reason for that time; null without a next poll, and when nothing is recorded. */
  readonly nextPollReason: PollReason | null;
  readonly lastError: string | null;
  readonly transition: StateTransition | null;
  /** A stay in a state with a limit that ended, or is stuck from now on; null without one. */
  readonly stay: JudgedStay | null;
  /** Without what the merchant attached and the stored fields: `completedEvents` adds them when they are written. */
  readonly events: readonly PurchaseDraft[];
  /** The fields of the answer that `store.fields` names; null when the poll brought none, and the stored ones hold. */
  readonly details: Details | null;
  /** Whether the stored fields differ from those recorded last. */
  readonly detailsChanged: boolean;
  /** A number the specification does not list, seen in this purchase's answer. */
  readonly unknownState: number | null;
}

export interface DecideContext {
  /** When the request left; the state held at some moment between this and `now`. */
  readonly askedAt: Instant;
  /** When the answer was complete. */
  readonly now: Instant;
  readonly policy: PollPolicy;
  /** Time that the clock skipped: no watch expires by it, and asking for an invoice is not given up. */
  readonly skipped?: SkippedTime;
  /** Jitter in [-1, 1]. */
  readonly spread: number;
  /** Failed polls of this purchase in a row that looked like the site's trouble, this one included. */
  readonly strikes: number;
  /** Whether no purchase of the site can be read: then no failure is this purchase's own. */
  readonly excused?: boolean;
  /** Whether the site asks for the invoice of what completes. */
  readonly invoices?: boolean;
  /** The result of asking for the invoice; null without a call: no setting wanted it, or the site had no time for the call. */
  readonly invoice?: InvoiceSeen | null;
}

/** Adds the next event of a purchase; those of one poll are numbered on from the last one. */
export function announce<Type extends PurchaseEventType>(
  events: PurchaseDraft[],
  before: Purchase,
  at: Instant,
  type: Type,
  state: number | null,
  data: OwnData<Type>,
): void {
  const sequence = before.sequence + events.length + 1;
  events.push(purchaseDraftOf(type, { purchase: before, sequence, at, state }, data));
}

/** The fields of an outcome that hold whatever becomes of the watch. */
export type Kept = Pick<
  PollOutcome,
  'purchase' | 'lastError' | 'transition' | 'stay' | 'details' | 'detailsChanged' | 'unknownState'
>;

/** The watch ends with this poll. */
export function expire(kept: Kept, events: readonly PurchaseDraft[], { now }: DecideContext): PollOutcome {
  const sequence = kept.purchase.sequence + 1;
  const purchase: Purchase = { ...kept.purchase, status: 'expired', stuckSince: null, sequence };
  const expired = purchaseDraftOf(
    'purchase.expired',
    { purchase, sequence, at: now, state: purchase.state },
    {
      state: stateOrNull(purchase.state),
      stateSince: isoTimeOrNull(purchase.stateSince),
      watchedSince: isoTime(purchase.watchedSince),
    },
  );
  return {
    ...kept,
    kind: 'changed',
    reason: 'expired',
    purchase,
    nextPollAt: null,
    nextPollReason: null,
    events: [...events, expired],
  };
}
