/** Where fewer customers paid than before: the slices, by site, state waited in last and currency, that lost most. Pure. */
import { namedState, stateWords } from '../purchases/states.ts';
import { counted } from '../values/counts.ts';
import { changeOf, shareOf } from './compare.ts';
import { customersOf, type Ends, endsOf, type OutcomeCount } from './ends.ts';
import { RANGE_WORDS, type TrendRange } from './period.ts';

/** Purchases of a site, by the state that they waited in last and by currency. */
export interface PlacedCount extends OutcomeCount {
  readonly site: string;
  /** Null: no poll showed a state. */
  readonly way: number | null;
  /** Null: not stored. */
  readonly currency: string | null;
}

/** Stands for all currencies of a site beyond those that are counted apart. */
const OTHERS = '*';
/** Slices that are named at most. */
const MOST = 3;

interface Cut {
  readonly site: string;
  readonly way: number | null;
  /** Null: whatever the currency. */
  readonly currency: string | null;
  readonly now: Ends;
  readonly earlier: Ends;
}

/**
 * The slices where fewer paid than in the time before, at most three, those that lost most customers first, in words and figures.
 * `looked`: how many had enough customers in both times. Each is named only where chance would make any difference among all of
 * these in fewer than one of a hundred cases. `isOneSite`: words leave the site out.
 */
export function worseSlices(
  present: readonly PlacedCount[],
  before: readonly PlacedCount[],
  { range, isOneSite }: { readonly range: TrendRange; readonly isOneSite: boolean },
) {
  const against = RANGE_WORDS[range].before;
  const looked = cutsOf(present, before).filter(({ now, earlier }) =>
    [now, earlier].every((ends) => shareOf(customersOf(ends)) !== null),
  );
  const slices = looked
    .filter(({ now, earlier }) => changeOf(customersOf(now), customersOf(earlier), looked.length) === 'worse')
    .sort((a, b) => lost(b) - lost(a))
    .slice(0, MOST)
    .map(({ site, way, currency, now, earlier }) => {
      const [of, was] = [customersOf(now), customersOf(earlier)];
      const { notPaid, open, gone } = now;
      const waited = way === null ? 'no state seen' : `last ${stateWords(way)}`;
      const where = [isOneSite ? null : site, waited, currency].filter((part) => part !== null).join(', ');
      const fewer = tenths(was.paid / was.customers - of.paid / of.customers);
      return {
        site,
        state: way === null ? null : namedState(way),
        currency,
        where,
        words: `${tenths(of.paid / of.customers)} % paid, ${fewer} percentage points less than in ${against}`,
        ...of,
        notPaid,
        open,
        gone,
        share: shareOf(of),
        before: { ...was, share: shareOf(was) },
      };
    });
  return { looked: looked.length, words: lookedWords(looked.length, slices.length, against), slices };
}

function lookedWords(looked: number, named: number, against: string): string {
  if (looked === 0) return 'Too few to say where fewer paid: no group had 30 customers now and before.';
  const of = `${counted(looked, 'group')} with 30 customers or more`;
  if (named === 0) return `In none of ${of} did the share that paid fall by more than chance makes, against ${against}.`;
  return `The worst of ${of}: each drop is larger than chance makes in one of a hundred cases.`;
}

/** Customers who would have paid by the share of before, beyond those who did. */
function lost({ now, earlier }: Cut): number {
  const [of, was] = [customersOf(now), customersOf(earlier)];
  return (of.customers * was.paid) / was.customers - of.paid;
}

const tenths = (share: number): number => Math.round(share * 1_000) / 10;

/** Slices that no customer is in twice: by currency only where purchases of one site and state have several, all of them counted apart. */
function cutsOf(present: readonly PlacedCount[], before: readonly PlacedCount[]): Cut[] {
  const rows = [...present.map((count) => ({ count, isNow: true })), ...before.map((count) => ({ count, isNow: false }))];
  const places = Map.groupBy(rows, ({ count: { site, way } }) => JSON.stringify([site, way]));
  return [...places.values()].flatMap((own) => {
    const { site, way } = own[0]!.count;
    const currencies = [...new Set(own.map(({ count }) => count.currency))];
    const ends = (isNow: boolean, currency: string | null): Ends =>
      endsOf(
        own.flatMap((row) => (row.isNow === isNow && (currency === null || row.count.currency === currency) ? [row.count] : [])),
      );
    const cut = (currency: string | null): Cut => ({
      site,
      way,
      currency,
      now: ends(true, currency),
      earlier: ends(false, currency),
    });
    if (currencies.length === 1 || currencies.includes(OTHERS)) return [cut(null)];
    // No list is of purchases whose currency is not stored.
    return currencies.flatMap((currency) => (currency === null ? [] : [cut(currency)]));
  });
}
