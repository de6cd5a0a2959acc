/** The customers who were stuck in an incident, how each of them ended, and how many more were lost than usual. Pure. */

import type { Instant, Milliseconds } from '../values/time.ts';
import { DAY } from '../values/time.ts';

/** `open`: not decided yet, or not known because the purchase is not watched any more. */
export const MEMBER_OUTCOMES = ['paid', 'paid_by_another', 'not_paid', 'open'] as const;
export type MemberOutcome = (typeof MEMBER_OUTCOMES)[number];

/** A purchase that was stuck in an incident, as it is now. Digits are those that the service sent. */
export interface Member {
  /** The same for all purchases of one order. */
  readonly customer: string;
  readonly site: string;
  /** The state that the purchase was stuck in. */
  readonly state: number;
  readonly came: Instant;
  readonly stuckAt: Instant;
  /** When a poll first showed another state; null: none did, or the purchase was deleted since. */
  readonly leftAt: Instant | null;
  /** Null: the purchase was deleted since. */
  readonly purchaseId: string | null;
  readonly reference: string | null;
  readonly orderReference: string | null;
  readonly price: string | null;
  readonly currency: string | null;
  /** The state it ended in; null: it has not ended, or was deleted. */
  readonly endState: number | null;
  readonly outcome: MemberOutcome;
  readonly endedAt: Instant | null;
  readonly isWatched: boolean;
}

/** The best outcome first: a customer with several purchases has that of the best one. */
const BEST: readonly MemberOutcome[] = ['paid', 'paid_by_another', 'open', 'not_paid'];

/** Each customer once, first come first: with the purchase that ended best, the latest of those; `came` is that of the first one. */
export function eachCustomer(members: readonly Member[]): Member[] {
  const better = (one: Member, other: Member): Member =>
    BEST.indexOf(other.outcome) <= BEST.indexOf(one.outcome) ? { ...other, came: one.came, stuckAt: one.stuckAt } : one;
  const ordered = members.toSorted((a, b) => a.came - b.came);
  return [...Map.groupBy(ordered, ({ site, customer }) => JSON.stringify([site, customer])).values()].map((own) =>
    own.reduce(better),
  );
}

/** Adds up decimal numbers digit for digit. */
export function sumOf(amounts: readonly string[]): string {
  const places = Math.max(0, ...amounts.map((each) => each.split('.')[1]?.length ?? 0));
  const scaled = amounts.map((each) => BigInt(each.split('.')[0]! + (each.split('.')[1] ?? '').padEnd(places, '0')));
  const sum = scaled.reduce((all, each) => all + each, 0n);
  const digits = String(sum)
    .replace('-', '')
    .padStart(places + 1, '0');
  const whole = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return sum < 0n ? `-${whole}` : whole;
}

/** Customers who came to the states of an incident in a time, in one currency. */
export interface Came {
  /** Null: not known. */
  readonly currency: string | null;
  readonly customers: number;
  readonly paid: number;
  /** Of those who have not paid, those who may pay yet. */
  readonly open: number;
  /** Of those who have not paid and whose amount is known: how many, the sum of the amounts, and that of their squares. */
  readonly priced: number;
  readonly sum: number;
  readonly squares: number;
}

/** The counts that the loss at one site is reckoned from. */
export interface SiteCounts {
  readonly site: string;
  readonly states: readonly number[];
  readonly from: Instant;
  readonly until: Instant;
  /** False: more came than are counted, and nothing is reckoned. */
  readonly isComplete: boolean;
  readonly came: readonly Came[];
  /** The same hours of earlier days: how many came, and how many of them paid. */
  readonly usual: readonly { readonly customers: number; readonly paid: number }[];
}

/** Days before an incident that say what is usual. */
const USUAL_DAYS = 14;

/** The same hours of the days before: the nearest first, none of which touches the time itself. */
export function usualTimes({ from, until }: { from: Instant; until: Instant }) {
  const first = Math.floor((until - from) / DAY) + 1;
  return Array.from({ length: USUAL_DAYS }, (_, index) => (first + index) * DAY).map((back: Milliseconds) => ({
    from: from - back,
    until: until - back,
  }));
}

/** A reckoned number, and where it lies with 95 % certainty. */
export interface Reckoned {
  readonly about: number;
  readonly from: number;
  readonly to: number;
}

/** The loss beyond what is usual. */
export interface Loss {
  readonly customers: Reckoned;
  readonly money: readonly (Reckoned & { readonly currency: string })[];
  /** The working: how many came, how many of them were expected to pay by the usual share, how many paid, and who may pay yet. */
  readonly came: number;
  readonly expected: number;
  readonly paid: number;
  readonly open: number;
  readonly usual: { readonly customers: number; readonly paid: number };
}

/** Fewer customers, now or on the days before, say nothing. */
const FEWEST = 30;
/** Standard deviations on either side that hold 95 %. */
const CERTAIN = 1.96;

/**
 * How many more customers were lost than usual, and their money: those expected by the usual share without those who paid. The
 * interval holds chance among those who came (binomial), the usual share's own error, and how much more earlier days differ from
 * each other than chance makes them (the chi-square of their shares, divided by its degrees of freedom). Its lower end counts those
 * who may pay yet as paid. Money: so many times the mean of those who have not paid. Null where too few came to say anything.
 */
export function lossOf(sites: readonly SiteCounts[]): Loss | null {
  const losses = sites.map(siteLoss);
  if (losses.length === 0 || !losses.every((loss) => loss !== null)) return null;
  const total = (of: (loss: NonNullable<ReturnType<typeof siteLoss>>) => number): number =>
    losses.reduce((sum, loss) => sum + of(loss), 0);
  const currencies = [...new Set(losses.flatMap(({ money }) => money.map(({ currency }) => currency)))];
  const parts = losses.flatMap(({ money }) => money);
  return {
    customers: reckoned(losses.map(({ whole }) => whole)),
    money: currencies.map((currency) => ({ currency, ...reckoned(parts.filter((part) => part.currency === currency)) })),
    came: total(({ came }) => came),
    expected: total(({ expected }) => expected),
    paid: total(({ paid }) => paid),
    open: total(({ open }) => open),
    usual: { customers: total(({ usual }) => usual.customers), paid: total(({ usual }) => usual.paid) },
  };
}

/** A part of the loss: its mean, the variance of that, the least and the most there can be, and how much of it may come yet. */
interface Part {
  readonly lost: number;
  readonly variance: number;
  readonly open: number;
  readonly most: number;
}

function reckoned(parts: readonly Part[]): Reckoned {
  const total = (of: (part: Part) => number): number => parts.reduce((sum, part) => sum + of(part), 0);
  const most = total((part) => part.most);
  const within = (value: number): number => Math.min(Math.max(value, 0), most);
  const lost = total((part) => part.lost);
  const error = CERTAIN * Math.sqrt(total((part) => part.variance));
  return { about: within(lost), from: within(lost - error - total((part) => part.open)), to: within(lost + error) };
}

function siteLoss({ isComplete, came, usual }: SiteCounts) {
  const sum = <T>(rows: readonly T[], of: (row: T) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const [customers, paid, open] = [sum(came, (row) => row.customers), sum(came, (row) => row.paid), sum(came, (row) => row.open)];
  const days = usual.filter((day) => day.customers > 0);
  const known = { customers: sum(days, (day) => day.customers), paid: sum(days, (day) => day.paid) };
  if (!isComplete || customers < FEWEST || known.customers < FEWEST) return null;
  // Never quite all or none: a few customers cannot show that.
  const share = (known.paid + 1) / (known.customers + 2);
  const chance = share * (1 - share);
  const unlike = sum(days, (day) => (day.paid - day.customers * share) ** 2 / (day.customers * chance));
  const spread = days.length < 2 ? 1 : Math.max(1, unlike / (days.length - 1));
  const lossAmong = (row: Pick<Came, 'customers' | 'paid' | 'open'>): Part => ({
    lost: share * row.customers - row.paid,
    variance: spread * chance * (row.customers + row.customers ** 2 / known.customers),
    open: row.open,
    most: row.customers - row.paid,
  });
  const money = came.flatMap((row) => {
    if (row.currency === null || row.priced === 0) return [];
    const part = lossAmong(row);
    const mean = row.sum / row.priced;
    const among = Math.max(row.squares / row.priced - mean ** 2, 0);
    const lost = Math.max(part.lost, 0);
    // Which of those who have not paid are the lost ones is not known; if all are, their sum is.
    const unsure = lost * among * Math.max(1 - lost / Math.max(part.most, 1), 0);
    const variance = part.variance * mean ** 2 + unsure;
    return [{ currency: row.currency, lost: part.lost * mean, variance, open: part.open * mean, most: part.most * mean }];
  });
  return {
    whole: lossAmong({ customers, paid, open }),
    money,
    came: customers,
    expected: share * customers,
    paid,
    open,
    usual: known,
  };
}
