/**
 * Where a fault is: the narrowest slice of customers, by payment method, country and currency, that holds the fault, and the mark
 * near its beginning. Exact tests compare customers who got stuck with customers who got on in the same time. Pure.
 */

import { humanDuration } from '../values/duration.ts';
import { type Instant, isoTime, MINUTE, type Milliseconds } from '../values/time.ts';
import { fateOf, type SeenStay } from './customers.ts';

const SLICE_FIELDS = ['method', 'country', 'currency'] as const;
type SliceField = (typeof SLICE_FIELDS)[number];

/** The value of each field that all customers of a slice share; null: they share none. */
export type Slice = Readonly<Record<SliceField, string | null>>;

/** A stay of a customer, with the fields of the purchase as far as they are stored. */
export type SlicedStay = SeenStay & Slice;

/** Customers who came, and how many of them became stuck. */
interface SliceCount {
  readonly came: number;
  readonly stuck: number;
}

export interface FoundSlice {
  readonly slice: Slice;
  /** When the first customer of the slice came who became stuck. */
  readonly since: Instant;
  readonly inside: SliceCount;
  readonly elsewhere: SliceCount;
}

/** A mark, as near as it is to the beginning of a fault. */
export interface NearMark {
  readonly at: Instant;
  readonly text: string;
}

interface Customer extends Slice {
  readonly isStuck: boolean;
  readonly enteredAt: Instant;
}

const ALL: Slice = { method: null, country: null, currency: null };

/** How often chance alone may name a slice, over all slices that are looked at. */
const BY_CHANCE = 0.005;
/** How often chance alone may make one condition of a slice. */
const CONDITION_BY_CHANCE = 0.01;
/** Customers elsewhere got stuck as usual, unless chance makes so many stuck ones more rarely than this. */
const USUAL_ELSEWHERE = 0.001;
/** The same of a part of the slice: then it is not yet known whether the fault is in that part, too. */
const USUAL_PART = 0.01;
/** A part with a smaller share of the slice's customers is not waited for. */
const SMALL_PART = 0.15;
/** Below this, a usual share was measured on too few customers. */
const LEAST_SHARE = 0.005;

/** A mark is named when it is at most this much before the first stuck customer came. */
export const MARKS_BEFORE: Milliseconds = 120 * MINUTE;
/** Who came shortly before a deploy returns to the page that was deployed. */
const AFTER: Milliseconds = 10 * MINUTE;

/**
 * The narrowest slice that holds the fault; null where none does, or too few customers came to say so. `usualShare` is the share of
 * customers who get stuck without a fault.
 */
export function narrowestSlice(stays: readonly SlicedStay[], usualShare: number): FoundSlice | null {
  const customers = customersIn(stays);
  const usual = Math.max(usualShare, LEAST_SHARE);
  const looks = valuesOf(customers).length;
  let slice = ALL;
  for (;;) {
    const most = slice === ALL ? BY_CHANCE : CONDITION_BY_CHANCE;
    const [next] = narrowings(customers, slice);
    if (next === undefined || next.chance * looks >= most) break;
    slice = next.slice;
  }
  slice = withoutNeedless(customers, slice);
  const [inside, elsewhere] = parted(customers, slice);
  if (elsewhere.came === 0 || byShare(elsewhere, usual) < USUAL_ELSEWHERE) return null;
  const isOpen = narrowings(customers, slice).some(
    (each) => each.rest.came > SMALL_PART * inside.came && byShare(each.rest, usual) >= USUAL_PART,
  );
  if (isOpen) return null;
  const since = Math.min(...customers.filter((each) => each.isStuck && isIn(each, slice)).map(({ enteredAt }) => enteredAt));
  return { slice, since, inside, elsewhere };
}

/**
 * Where a fault is, and the mark near its beginning, as events and the API have them. `usualShare`: null when it is not known, and then
 * no slice is looked for. `since`: when the incident began.
 */
export function whereOf(
  { stays, marks }: { readonly stays: readonly SlicedStay[]; readonly marks: readonly NearMark[] },
  { usualShare, since }: { readonly usualShare: number | null; readonly since: Instant },
) {
  const found = usualShare === null ? null : narrowestSlice(stays, usualShare);
  const mark = markNear(marks, found?.since ?? since);
  return {
    slice:
      found === null
        ? null
        : { ...found.slice, since: isoTime(found.since), inside: { ...found.inside }, elsewhere: { ...found.elsewhere } },
    mark: mark === null ? null : { at: isoTime(mark.at), text: mark.text },
  };
}

/** The greatest of the usual shares of an incident's places; null when none is known. */
export function greatest(shares: readonly (number | null)[]): number | null {
  const known = shares.filter((share) => share !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** The mark nearest to the beginning of a fault; null when none is near. */
export function markNear(marks: readonly NearMark[], since: Instant): NearMark | null {
  const near = marks.filter(({ at }) => at >= since - MARKS_BEFORE && at <= since + AFTER);
  return near.toSorted((a, b) => Math.abs(since - a.at) - Math.abs(since - b.at))[0] ?? null;
}

/** A slice in words: `only payment method 5, only SE`. */
export function sliceWords({ method, country, currency }: Slice): string {
  const parts = [...(method === null ? [] : [`payment method ${method}`]), country, currency];
  return parts.flatMap((part) => (part === null ? [] : [`only ${part}`])).join(', ');
}

/** The time between a mark and a beginning, in words: `4 min after deploy 4.2`. */
export function markWords({ at, text }: NearMark, since: Instant): string {
  return since - at < MINUTE ? `at the time of ${text}` : `${humanDuration(since - at)} after ${text}`;
}

/**
 * Each customer once: stuck, or got on. Who came after the last stuck customer is left out: the fault may be over by then, and whether
 * those customers get stuck is not known yet.
 */
function customersIn(stays: readonly SlicedStay[]): Customer[] {
  const last = Math.max(...stays.flatMap(({ overdueAt, enteredAt }) => (overdueAt === null ? [] : [enteredAt])));
  const known = stays.filter((stay) => stay.enteredAt <= last && (stay.overdueAt !== null || fateOf(stay) === 'well'));
  const customers = new Map<string, Customer>();
  for (const { customer, overdueAt, enteredAt, method, country, currency } of known)
    if (overdueAt !== null || !customers.has(customer))
      customers.set(customer, { isStuck: overdueAt !== null, enteredAt, method, country, currency });
  return [...customers.values()];
}

/** Slices with one more condition, the one first that chance makes most rarely. One that leaves no customer out is always chance. */
function narrowings(customers: readonly Customer[], slice: Slice) {
  const within = customers.filter((each) => isIn(each, slice));
  return valuesOf(within)
    .map(([field, value]) => {
      const narrower: Slice = { ...slice, [field]: value };
      const [inside, rest] = parted(within, narrower);
      return { slice: narrower, rest, chance: byChance(inside, rest) };
    })
    .sort((a, b) => a.chance - b.chance);
}

/** The slice without the conditions that customers beside it give no reason for. */
function withoutNeedless(customers: readonly Customer[], slice: Slice): Slice {
  for (const field of SLICE_FIELDS.filter((each) => slice[each] !== null).toReversed()) {
    const wider: Slice = { ...slice, [field]: null };
    const within = customers.filter((each) => isIn(each, wider));
    if (byChance(...parted(within, slice)) >= CONDITION_BY_CHANCE) return withoutNeedless(customers, wider);
  }
  return slice;
}

/** The values of stuck customers, each once. */
function valuesOf(customers: readonly Customer[]): (readonly [SliceField, string])[] {
  const stuck = customers.filter(({ isStuck }) => isStuck);
  return SLICE_FIELDS.flatMap((field) =>
    [...new Set(stuck.map((each) => each[field]))].flatMap((value) => (value === null ? [] : [[field, value] as const])),
  );
}

const isIn = (customer: Slice, slice: Slice): boolean =>
  SLICE_FIELDS.every((field) => slice[field] === null || slice[field] === customer[field]);

function parted(customers: readonly Customer[], slice: Slice): [inside: SliceCount, rest: SliceCount] {
  const { inside = [], rest = [] } = Object.groupBy(customers, (each) => (isIn(each, slice) ? 'inside' : 'rest'));
  const count = (those: readonly Customer[]) => ({ came: those.length, stuck: those.filter(({ isStuck }) => isStuck).length });
  return [count(inside), count(rest)];
}

/** How likely chance puts so many of the stuck customers, or more, inside (Fisher's exact test, one side). */
function byChance(inside: SliceCount, rest: SliceCount): number {
  const [stuck, all] = [inside.stuck + rest.stuck, inside.came + rest.came];
  let sum = 0;
  for (let k = inside.stuck; k <= Math.min(stuck, inside.came); k += 1)
    sum += Math.exp(lnChoose(inside.came, k) + lnChoose(rest.came, stuck - k) - lnChoose(all, stuck));
  return Math.min(sum, 1);
}

/** How likely so many customers, or more, get stuck when each does with this share (binomial). */
function byShare({ came, stuck }: SliceCount, share: number): number {
  let fewer = 0;
  for (let k = 0; k < stuck; k += 1) fewer += Math.exp(lnChoose(came, k) + k * Math.log(share) + (came - k) * Math.log1p(-share));
  return Math.max(1 - fewer, 0);
}

/** Natural logarithms of factorials, as many as were needed so far. */
const LN_FACTORIALS = [0];

function lnFactorial(of: number): number {
  for (let n = LN_FACTORIALS.length; n <= of; n += 1) LN_FACTORIALS.push(LN_FACTORIALS[n - 1]! + Math.log(n));
  return LN_FACTORIALS[of]!;
}

/** The natural logarithm of the number of ways to choose some of all. */
function lnChoose(all: number, some: number): number {
  return lnFactorial(all) - lnFactorial(some) - lnFactorial(all - some);
}
