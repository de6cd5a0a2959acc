import { describe, expect, test } from 'vitest';
import { createRandom } from '../../../packages/simulator/src/values/random.ts';
import { type Detection, feed, newDetection } from '../../../src/domain/incidents/detection.ts';
import {
  greatest,
  markNear,
  markWords,
  narrowestSlice,
  type Slice,
  type SlicedStay,
  sliceWords,
  whereOf,
} from '../../../src/domain/incidents/slice.ts';
import { numberOf } from '../../../src/domain/purchases/states.ts';
import { MINUTE } from '../../../src/domain/values/time.ts';

const T = Date.UTC(2026, 10, 20, 20, 0);
const LIMIT = 10 * MINUTE;
const ALL: Slice = { method: null, country: null, currency: null };
const SE = { method: '1', country: 'SE', currency: 'SEK' };
const NO = { method: '1', country: 'NO', currency: 'NOK' };

type Came = Slice & { readonly isStuck: boolean; readonly at?: number; readonly customer?: string };

const stayOf = ({ isStuck, at = T, customer, ...slice }: Came, index: number): SlicedStay => ({
  ...slice,
  customer: customer ?? `customer ${index}`,
  enteredAt: at,
  overdueAt: isStuck ? at + LIMIT : null,
  leftAt: isStuck ? null : at + MINUTE,
  toState: isStuck ? null : numberOf('Completed'),
});
const several = (count: number, slice: Slice, isStuck: boolean): Came[] =>
  Array.from({ length: count }, () => ({ ...slice, isStuck }));
const narrowed = (came: readonly Came[], usualShare = 0.02) => narrowestSlice(came.map(stayOf), usualShare);

describe('a slice', () => {
  const broken = [
    ...several(9, { ...SE, method: '5' }, true),
    ...several(12, SE, false),
    ...several(8, { ...NO, method: '5' }, false),
  ];

  test('is as narrow as the fault, with who got stuck in it and elsewhere', () => {
    expect(narrowed([...broken, ...several(6, NO, false)])).toEqual({
      slice: { ...ALL, method: '5', country: 'SE' },
      since: T,
      inside: { came: 9, stuck: 9 },
      elsewhere: { came: 26, stuck: 0 },
    });
  });

  test('is no narrower than the fault, whatever most customers have', () => {
    const mostly = [...several(14, { ...SE, method: '5' }, true), ...several(4, { ...NO, method: '5' }, true)];
    expect(narrowed([...mostly, ...several(20, SE, false), ...several(6, NO, false)])?.slice).toEqual({ ...ALL, method: '5' });
  });

  test('is named once chance makes its first condition less than once in 200 times, and each further one less than once in 100', () => {
    const first = [...several(4, SE, true), ...several(8, NO, false)];
    expect(narrowed(first)).toBeNull();
    // A field that is not stored is not looked at: chance has one try less.
    expect(narrowed(first.map((came) => ({ ...came, method: null })))?.slice).toEqual({ ...ALL, country: 'SE' });
    expect(narrowed([...first, ...several(1, NO, false)])?.slice).toEqual({ ...ALL, country: 'SE' });
    const second = [...several(4, { ...SE, method: '5' }, true), ...several(60, SE, false)];
    expect(narrowed([...second, ...several(8, { ...NO, method: '5' }, false)])?.slice).toEqual({
      ...{ ...ALL, method: '5', country: 'SE' },
    });
  });

  test('has no condition that another one makes needless: three stuck Finns point to the euro, twelve Germans to Germany', () => {
    const [fi, de] = ['FI', 'DE'].map((country) => ({ method: '1', country, currency: 'EUR' })) as [Slice, Slice];
    const euro = [...several(12, de, true), ...several(16, { ...de, method: '5' }, false), ...several(3, fi, true)];
    const others = [...several(10, fi, false), ...several(27, SE, false), ...several(22, { ...NO, method: '5' }, false)];
    expect(narrowed([...euro, ...others])?.slice).toEqual({ ...ALL, method: '1', country: 'DE' });
  });

  test('is named unless more got stuck elsewhere than usually do; a usual share below one in 200 is not believed', () => {
    const came = [...several(12, SE, true), ...several(2, NO, true), ...several(6, NO, false)];
    expect(narrowed(came, 0.02)?.slice).toEqual({ ...ALL, country: 'SE' });
    expect(narrowed(came, 0.005)).toBeNull();
    const fewer = [...several(12, SE, true), ...several(1, NO, true), ...several(7, NO, false)];
    expect(narrowed(fewer, 0)?.slice).toEqual({ ...ALL, country: 'SE' });
  });

  test('does not wait for a small part of its customers', () => {
    const came = [...several(20, { ...SE, method: '5' }, true), ...several(2, { ...NO, method: '5' }, false)];
    expect(narrowed([...came, ...several(40, SE, false)])?.slice).toEqual({ ...ALL, method: '5' });
  });

  test('begins with the first customer of it who got stuck', () => {
    const at = (minutes: number, came: Came): Came => ({ ...came, at: T + minutes * MINUTE });
    const well = [at(0, { ...SE, isStuck: false }), ...several(30, NO, false), at(1, { ...NO, isStuck: true })];
    const stuck = several(8, SE, true).map((came, place) => at(2 + place, came));
    expect(narrowed([...well, ...stuck])).toMatchObject({ slice: { ...ALL, country: 'SE' }, since: T + 2 * MINUTE });
  });

  test('counts nobody who left in time without getting on: that says nothing of the page', () => {
    const timedOut = several(20, NO, false).map((came, place) => ({
      ...stayOf(came, 100 + place),
      toState: numberOf('SessionTimedOut'),
    }));
    const stays = [...several(8, SE, true), ...several(12, NO, false)].map(stayOf);
    expect(narrowestSlice([...stays, ...timedOut], 0.02)?.elsewhere).toEqual({ came: 12, stuck: 0 });
  });

  test('is named by the country where all its customers have one currency', () => {
    expect(narrowed([...several(8, SE, true), ...several(12, NO, false)])?.slice).toEqual({ ...ALL, country: 'SE' });
  });

  test.each([
    ['too few came', [...several(4, SE, true), ...several(3, NO, false)]],
    ['all get stuck', [...several(12, SE, true), ...several(9, NO, true)]],
    [
      'as many get stuck everywhere',
      [...several(8, SE, true), ...several(8, SE, false), ...several(6, NO, true), ...several(6, NO, false)],
    ],
    [
      'there are two faults',
      [...several(12, SE, true), ...several(6, NO, true), ...several(30, { ...NO, country: 'FI' }, false)],
    ],
    ['the fields are not stored', [...several(12, ALL, true), ...several(30, ALL, false)]],
    ['nobody came', []],
  ] as [string, Came[]][])('is not named when %s', (_, came) => expect(narrowed(came)).toBeNull());

  test('waits until it is known whether other countries have the fault, too', () => {
    const few = [
      ...several(9, { ...SE, method: '5' }, true),
      ...several(3, { ...NO, method: '5' }, false),
      ...several(40, SE, false),
    ];
    expect(narrowed(few)).toBeNull();
    expect(narrowed([...few, ...several(4, { ...NO, method: '5' }, false)])?.slice).toEqual({
      ...ALL,
      method: '5',
      country: 'SE',
    });
  });

  test('counts a customer once, who tries again and gets on', () => {
    const again = several(5, SE, true).flatMap((came, index) => [
      { ...came, isStuck: false, customer: `again ${index}` },
      { ...came, customer: `again ${index}` },
      { ...came, isStuck: false, customer: `again ${index}` },
    ]);
    expect(narrowed([...again, ...several(30, NO, false)])?.inside).toEqual({ came: 5, stuck: 5 });
  });

  test('leaves out who came after the last stuck customer: the fault may be over', () => {
    const after = several(50, SE, false).map((came) => ({ ...came, at: T + MINUTE }));
    expect(narrowed([...several(8, SE, true), ...several(20, NO, false), ...after])).toEqual({
      ...{ slice: { ...ALL, country: 'SE' }, since: T },
      ...{ inside: { came: 8, stuck: 8 }, elsewhere: { came: 20, stuck: 0 } },
    });
  });

  test('reads as words', () => {
    expect(sliceWords({ method: '5', country: 'SE', currency: 'SEK' })).toBe('only payment method 5, only SE, only SEK');
    expect(sliceWords({ ...ALL, country: 'SE' })).toBe('only SE');
  });
});

describe('a mark', () => {
  const at = (minutes: number, text = `deploy ${minutes}`) => ({ at: T + minutes * MINUTE, text });

  test('is the nearest one, from two hours before to ten minutes after', () => {
    expect(markNear([at(-120), at(-5), at(9)], T)).toEqual(at(-5));
    expect(markNear([at(-120), at(10)], T)).toEqual(at(10));
    expect(markNear([at(-120)], T)).toEqual(at(-120));
    expect(markNear([at(-121), at(11)], T)).toBeNull();
  });

  test('reads as words', () => {
    expect(markWords(at(-4, 'deploy 4.2'), T)).toBe('4 min after deploy 4.2');
    expect(markWords(at(-1, 'deploy 4.2'), T)).toBe('1 min after deploy 4.2');
    expect(markWords(at(3, 'deploy 4.2'), T)).toBe('at the time of deploy 4.2');
  });

  test('is near the first stuck customer of the slice, where there is one', () => {
    const stays = [...several(8, SE, true), ...several(12, NO, false)].map(stayOf);
    const around = { stays, marks: [at(-4), at(-90)] };
    expect(whereOf(around, { usualShare: 0.02, since: T - 95 * MINUTE })).toEqual({
      slice: {
        ...{ method: null, country: 'SE', currency: null, since: new Date(T).toISOString() },
        ...{ inside: { came: 8, stuck: 8 }, elsewhere: { came: 12, stuck: 0 } },
      },
      mark: { at: new Date(T - 4 * MINUTE).toISOString(), text: 'deploy -4' },
    });
    expect(whereOf(around, { usualShare: greatest([null]), since: T - 95 * MINUTE })).toMatchObject({
      slice: null,
      mark: { text: 'deploy -90' },
    });
    expect(whereOf({ stays, marks: [] }, { usualShare: null, since: T })).toEqual({ slice: null, mark: null });
    expect(greatest([0.02, null, 0.04])).toBe(0.04);
  });
});

type Shop = ReturnType<typeof shopOf>;
const CURRENCIES = { SE: 'SEK', NO: 'NOK', FI: 'EUR', DK: 'DKK', DE: 'EUR' } as const;

/** A shop with two to five methods and one to four countries; one customer in twenty pays in euros, wherever the customer is. */
function shopOf(random: () => number) {
  const weighed = <Value>(values: readonly Value[]) => values.map((value) => ({ value, weight: 0.15 + random() }));
  const methods = weighed(Array.from({ length: 2 + Math.floor(random() * 4) }, (_, index) => String(index + 1)));
  const all = Object.keys(CURRENCIES) as (keyof typeof CURRENCIES)[];
  const first = Math.floor(random() * all.length);
  const countries = weighed([...all, ...all].slice(first, first + 1 + Math.floor(random() * 4)));
  const drawn = <Value>(from: readonly { value: Value; weight: number }[]): Value => {
    let left = random() * from.reduce((sum, { weight }) => sum + weight, 0);
    for (const { value, weight } of from) {
      left -= weight;
      if (left < 0) return value;
    }
    return from[0]!.value;
  };
  const one = <Value>(from: readonly { value: Value }[]): Value => from[Math.floor(random() * from.length)]!.value;
  return {
    someSlice: (): Slice => {
      const [method, country] = [one(methods), one(countries)];
      const slices = [
        ALL,
        { ...ALL, method },
        { ...ALL, country },
        { ...ALL, method, country },
        { ...ALL, currency: CURRENCIES[country] },
      ];
      return slices[Math.floor(random() * slices.length)]!;
    },
    customer: (): Slice => {
      const country = drawn(countries);
      return { method: drawn(methods), country, currency: random() < 0.05 ? 'EUR' : CURRENCIES[country] };
    },
  };
}

const isIn = (customer: Slice, slice: Slice): boolean =>
  (['method', 'country', 'currency'] as const).every((field) => slice[field] === null || slice[field] === customer[field]);

/** The share of a shop's customers that a slice has, and how much of two slices is in both. */
function overlap(shop: Shop, one: Slice, other: Slice): number {
  const customers = Array.from({ length: 1_000 }, shop.customer);
  const both = customers.filter((each) => isIn(each, one) && isIn(each, other)).length;
  return both / Math.max(customers.filter((each) => isIn(each, one) || isIn(each, other)).length, 1);
}

/** Customers who come one after the other, each seen by the judge's detector. */
function* comingTo(
  shop: Shop,
  random: () => number,
  { usual, share, fault }: { usual: number; share: number; fault: Slice | null },
) {
  let detection: Detection = newDetection('se', 6);
  for (let index = 0, at = T; ; index += 1, at += (0.2 + random()) * MINUTE) {
    const slice = shop.customer();
    const isStuck = random() < (fault !== null && isIn(slice, fault) ? share : usual);
    const stay = stayOf({ ...slice, isStuck, at }, index);
    detection = feed(
      detection,
      {
        ...{ site: 'se', state: 6, toState: stay.toState, outcome: isStuck ? 'overdue' : 'well', enteredAt: at, at },
        ...{ shortest: LIMIT, longest: LIMIT, foundLate: false, firstSight: false, customer: stay.customer },
      },
      { share: usual, perDay: 500 },
    );
    yield { stay, since: detection.alarm?.since ?? null };
  }
}

/** The slice that is named of a simulated fault once twenty customers are stuck in its incident, beside the true one; null: no incident opened. */
function simulated(seed: number) {
  const random = createRandom(seed);
  const shop = shopOf(random);
  const drawn = shop.someSlice();
  // A slice of nearly all customers is all of them, to everybody who reads it.
  const fault = overlap(shop, drawn, ALL) > 0.9 ? ALL : drawn;
  const [usual, share] = [0.005 + random() * 0.03, 0.7 + random() * 0.3];
  const stays: SlicedStay[] = [];
  for (const { stay, since } of comingTo(shop, random, { usual, share, fault })) {
    stays.push(stay);
    if (stays.length > 2_000) return null;
    const those = since === null ? [] : stays.filter(({ enteredAt }) => enteredAt >= since);
    if (those.filter(({ overdueAt }) => overdueAt !== null).length < 20) continue;
    const named = narrowestSlice(those, usual)?.slice ?? ALL;
    return { fault, named, isRight: (named === ALL) === (fault === ALL) && overlap(shop, named, fault) >= 0.9 };
  }
  return null;
}

test('of 200 simulated faults at least 95 in 100 are narrowed down rightly, once twenty customers are stuck, and at most 1 wrongly', () => {
  const faults: NonNullable<ReturnType<typeof simulated>>[] = [];
  for (let seed = 1; faults.length < 200; seed += 1) {
    const found = simulated(seed);
    if (found !== null) faults.push(found);
  }
  expect(faults.filter(({ isRight }) => isRight).length).toBeGreaterThanOrEqual(190);
  expect(faults.filter(({ isRight, named }) => !isRight && named !== ALL).length).toBeLessThanOrEqual(2);
});

test('without a fault at most one slice in 5 000 customers is named, even if an incident were always open', () => {
  let [named, always, customers] = [0, 0, 0];
  for (let seed = 1; seed <= 10; seed += 1) {
    const random = createRandom(seed * 7_919);
    const shop = shopOf(random);
    const usual = 0.005 + random() * 0.095;
    const stays: SlicedStay[] = [];
    let isNamed = false;
    for (const { stay, since } of comingTo(shop, random, { usual, share: usual, fault: null })) {
      customers += 1;
      stays.push(stay);
      if (stays.length > 5_000) break;
      if (stay.overdueAt === null) continue;
      if (
        since !== null &&
        narrowestSlice(
          stays.filter(({ enteredAt }) => enteredAt >= since),
          usual,
        ) !== null
      )
        named += 1;
      const wasNamed: boolean = isNamed;
      isNamed = narrowestSlice(stays.slice(-100), usual) !== null;
      if (isNamed && !wasNamed) always += 1;
    }
  }
  expect(named).toBe(0);
  expect(always).toBeLessThanOrEqual(customers / 5_000);
});
