/** Alerts about orders that were paid twice, as a rehearsal goes through them. Deterministic, without I/O. */

import type { ChannelRule } from '../incidents/audience.ts';
import type { AlertPolicy } from '../incidents/incident.ts';
import {
  audienceOfPaidTwice,
  MOST_PAYMENTS,
  NOTHING_PAID,
  type OrderCounts,
  reusesReferences,
  withPayment,
} from '../incidents/paid-twice.ts';
import { type Instant, type Milliseconds, SECOND } from '../values/time.ts';

/** A purchase that became Completed, and which payment of its order it was, from 1. */
export interface RecordedPayment {
  readonly site: string;
  readonly at: Instant;
  readonly place: number;
  /** As of `PaidPurchase`. */
  readonly isOld: boolean;
}

/** A message that would have been sent; `orders`: how often each of its orders was paid. */
export interface RehearsedPaidTwice {
  readonly at: Instant;
  readonly site: string;
  readonly channels: readonly string[];
  readonly orders: readonly number[];
}

/** The judge looks this often. */
const TICK: Milliseconds = 5 * SECOND;

export function createPaymentRehearsal({
  from,
  alerts,
  channels,
}: {
  /** Payments that are alerted of before only teach how often orders repeat. */
  readonly from: Instant;
  readonly alerts: Pick<AlertPolicy, 'groupWait'>;
  readonly channels: readonly ChannelRule[];
}) {
  const counts = new Map<string, OrderCounts>();
  const said = new Map<string, RehearsedPaidTwice & { readonly orders: number[] }>();

  const note = ({ site, at, place, isOld }: RecordedPayment): void => {
    const sum = withPayment(counts.get(site) ?? NOTHING_PAID, place > 1);
    counts.set(site, sum);
    const lookAt = Math.ceil((at + alerts.groupWait) / TICK) * TICK;
    if (isOld || place < 2 || place > MOST_PAYMENTS || lookAt < from || reusesReferences(sum)) return;
    const audience = audienceOfPaidTwice(site, channels);
    if (audience.length === 0) return;
    const key = `${lookAt} ${site}`;
    const message = said.get(key) ?? { at: lookAt, site, channels: audience, orders: [] };
    message.orders.push(place);
    said.set(key, message);
  };

  return {
    /** Takes the next payments, the earliest first. */
    take: (payments: readonly RecordedPayment[]): void => {
      for (const payment of payments) note(payment);
    },
    /** Messages that would have been sent before a moment. */
    messages: (to: Instant): RehearsedPaidTwice[] => [...said.values()].filter(({ at }) => at < to),
    /** Sites that reuse references by design, as counted so far. */
    reusing: () => [...counts].flatMap(([site, sum]) => (reusesReferences(sum) ? [{ site, ...sum }] : [])),
  };
}
