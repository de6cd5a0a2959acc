/**
 * Orders that were paid twice: a second purchase of an order of a site became Completed. At a site that reuses references by
 * design a second payment is no news, so the share of such payments is counted as they come. Pure: the judge and a rehearsal
 * decide here.
 */

import { dueAfter } from '../values/clock-steps.ts';
import { earliest, type Instant, type Milliseconds } from '../values/time.ts';
import { audienceOf, type ChannelRule } from './audience.ts';

/** Fewer paid purchases say nothing about how a site names its orders. */
const ENOUGH_PAID = 50;
/** A site where more than one payment in so many repeats an order reuses references by design. */
const ONE_REPEAT_IN = 50;
/** A reference with more payments than this is a customer's number or a fixed word, and names no order. */
export const MOST_PAYMENTS = 5;
/** From so many on, counts are halved: older payments weigh less. */
const HALVED_AT = 2_000;

/** Of the paid purchases of a site whose order is known: how many there were, and how many repeated an order. */
export interface OrderCounts {
  readonly paid: number;
  readonly repeated: number;
}

export const NOTHING_PAID: OrderCounts = { paid: 0, repeated: 0 };

/** Whether the site reuses references by design, so that an order paid twice is no news there. */
export function reusesReferences({ paid, repeated }: OrderCounts): boolean {
  return paid >= ENOUGH_PAID && repeated * ONE_REPEAT_IN > paid;
}

/** The counts after one more paid purchase. */
export function withPayment({ paid, repeated }: OrderCounts, isRepeat: boolean): OrderCounts {
  const sum = { paid: paid + 1, repeated: repeated + (isRepeat ? 1 : 0) };
  return sum.paid < HALVED_AT ? sum : { paid: sum.paid >> 1, repeated: sum.repeated >> 1 };
}

/** Why nothing is announced at a site that reuses references, in words that follow "because". */
export function reuseText({ paid, repeated }: OrderCounts): string {
  return `${repeated} of the last ${paid} paid purchases whose order is known were of an order that was paid before, more than one in ${ONE_REPEAT_IN}: the site reuses references by design`;
}

/** A completed purchase of an order. */
export interface OrderPayment {
  readonly id: number;
  /** Whether the judge is still to look at it, after the purchase that is looked at. */
  readonly isLater: boolean;
}

/** A purchase that became Completed. */
export interface PaidPurchase<Payment extends OrderPayment> {
  readonly id: number;
  readonly site: string;
  readonly paidAt: Instant;
  /** Whether it is still Completed. */
  readonly isPaid: boolean;
  /** Whether it came with the first load of its site, and its first poll found it paid: when that was is not known, so it only teaches. */
  readonly isOld: boolean;
  /** The completed purchases of its order, itself included, the earliest first; empty when its order is not known. */
  readonly order: readonly Payment[];
}

/** An order of a site that was paid more than once. */
export interface PaidOrder<Payment> {
  readonly site: string;
  readonly payments: readonly Payment[];
}

/**
 * Judges purchases that became Completed, each `wait` after that: one that was corrected meanwhile counts as not paid. They come in
 * the order in which they are judged. Of an order that is paid again among them, all payments are named once.
 */
export function planPayments<Payment extends OrderPayment>({
  now,
  wait,
  purchases,
  countsOf,
}: {
  readonly now: Instant;
  readonly wait: Milliseconds;
  readonly purchases: readonly PaidPurchase<Payment>[];
  countsOf(site: string): OrderCounts;
}) {
  const dueAt = ({ paidAt }: PaidPurchase<Payment>): Instant => dueAfter(paidAt, wait, now);
  const due = purchases.filter((each) => dueAt(each) <= now);
  const later = purchases.filter((each) => dueAt(each) > now).map(dueAt);
  const counts = new Map<string, OrderCounts>();
  const repeats: (PaidOrder<Payment> & { readonly id: number })[] = [];
  for (const { id, site, isPaid, isOld, order } of due) {
    if (!isPaid || order.length === 0) continue;
    const payments = order.filter(({ isLater }) => !isLater);
    const isRepeat = payments.length > 1;
    counts.set(site, withPayment(counts.get(site) ?? countsOf(site), isRepeat));
    if (isRepeat && !isOld) repeats.push({ id, site, payments });
  }
  const isNews = ({ site, payments }: PaidOrder<Payment>): boolean =>
    payments.length <= MOST_PAYMENTS && !reusesReferences(counts.get(site)!);
  // The last payment of an order names the others.
  const orders = repeats.filter(
    (repeat, place) =>
      isNews(repeat) && !repeats.slice(place + 1).some(({ payments }) => payments.some(({ id }) => id === repeat.id)),
  );
  return {
    /** Row ids of the purchases that are judged now; the others are looked at again. */
    judged: due.map(({ id }) => id),
    orders: orders.map(({ site, payments }) => ({ site, payments })),
    /** The new counts of the sites of those judged. */
    counts,
    lookAgainAt: earliest(later),
  };
}

/** The channels that are alerted of an order of a site that was paid twice. */
export function audienceOfPaidTwice(site: string, channels: readonly ChannelRule[]): string[] {
  const wanting = channels.filter(({ paidTwice = true }) => paidTwice);
  return audienceOf({ kind: 'stuck', severity: 0, subscriber: null }, [site], wanting);
}
