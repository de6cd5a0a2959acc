/** The bill of incidents: each customer once, sums to the last digit, and a loss that is near the true one of simulated incidents. */
import { describe, expect, test } from 'vitest';
import { createRandom } from '../../../packages/simulator/src/values/random.ts';
import { type Came, eachCustomer, lossOf, type SiteCounts, sumOf, usualTimes } from '../../../src/domain/trends/aftermath.ts';
import { DAY, HOUR } from '../../../src/domain/values/time.ts';
import { aMember } from './a-member.ts';

test('several purchases of one order are one customer, who has the best of their ends', () => {
  const members = [
    aMember('a', 5, 'not_paid'),
    aMember('b', 1, 'open'),
    aMember('a', 2, 'paid', '10'),
    aMember('c', 3, 'not_paid', '1'),
    aMember('c', 4, 'not_paid', '2'),
    aMember('b', 6, 'not_paid'),
  ];
  const each = eachCustomer(members).map(({ customer, came, outcome, price }) => [customer, came, outcome, price]);
  expect(each).toEqual([
    ['b', 1, 'open', null],
    ['a', 2, 'paid', '10'],
    ['c', 3, 'not_paid', '2'],
  ]);
  expect(eachCustomer([aMember('a', 1, 'open'), { ...aMember('a', 2, 'open'), site: 'no' }])).toHaveLength(2);
});

test('the best end is one that was paid, then by another purchase, then one that is open', () => {
  const best = ['paid', 'paid_by_another', 'open', 'not_paid'] as const;
  for (const [at, outcome] of best.entries())
    for (const worse of best.slice(at))
      for (const pair of [[outcome, worse] as const, [worse, outcome] as const])
        expect(eachCustomer(pair.map((each, came) => aMember('a', came, each)))).toMatchObject([{ outcome }]);
});

test('sums keep every digit', () => {
  expect(sumOf(['0.10', '0.2', '12345678901234567890'])).toBe('12345678901234567890.30');
  expect(sumOf(['-1.05', '1'])).toBe('-0.05');
  expect(sumOf(['2', '3'])).toBe('5');
  expect(sumOf([])).toBe('0');
});

test('the days before touch neither each other nor the incident', () => {
  const short = usualTimes({ from: 100 * DAY, until: 100 * DAY + 2 * HOUR });
  expect(short[0]).toEqual({ from: 99 * DAY, until: 99 * DAY + 2 * HOUR });
  expect(short[13]).toEqual({ from: 86 * DAY, until: 86 * DAY + 2 * HOUR });
  expect(short).toHaveLength(14);
  expect(usualTimes({ from: 100 * DAY, until: 101 * DAY + HOUR })[0]).toEqual({ from: 98 * DAY, until: 99 * DAY + HOUR });
});

const counted = (over: Partial<SiteCounts> = {}, came: Partial<Came> = {}): SiteCounts => ({
  ...{ site: 'se', states: [6], from: 0, until: HOUR, isComplete: true },
  came: [{ currency: 'SEK', customers: 136, paid: 72, open: 0, priced: 64, sum: 64 * 648, squares: 64 * 648 ** 2, ...came }],
  usual: Array.from({ length: 14 }, () => ({ customers: 164, paid: 143 })),
  ...over,
});

test('the loss is what the usual share expects without those who paid', () => {
  const loss = lossOf([counted()])!;
  expect(Math.round(loss.expected)).toBe(119);
  expect(Math.round(loss.customers.about)).toBe(47);
  expect([Math.round(loss.customers.from), Math.round(loss.customers.to)]).toEqual([39, 54]);
  expect(loss.money).toMatchObject([{ currency: 'SEK', about: expect.closeTo(loss.customers.about * 648, 3) }]);
  expect(loss.usual).toEqual({ customers: 2296, paid: 2002 });
  // Two sites are two times as many, with an interval that is not.
  const both = lossOf([counted(), counted({ site: 'no' })])!;
  expect(both.customers.about).toBeCloseTo(2 * loss.customers.about, 6);
  expect(both.customers.to - both.customers.from).toBeLessThan(1.5 * (loss.customers.to - loss.customers.from));
});

test('those who may pay yet could all pay, and no more are lost than did not pay', () => {
  const some = lossOf([counted({}, { open: 10 })])!;
  expect(some.customers.from).toBeCloseTo(lossOf([counted()])!.customers.from - 10, 6);
  expect(lossOf([counted({}, { paid: 130 })])!.customers).toMatchObject({ about: 0, from: 0, to: expect.closeTo(0, -1) });
  expect(lossOf([counted({}, { paid: 0, priced: 136 })])!.customers.to).toBeLessThanOrEqual(136);
});

test('days that differ beyond chance widen the interval', () => {
  const unlike = Array.from({ length: 14 }, (_, day) => ({ customers: 164, paid: day % 2 === 0 ? 163 : 123 }));
  const wide = lossOf([counted({ usual: unlike })])!.customers;
  expect(wide.to - wide.from).toBeGreaterThan(2 * 15);
});

test('nothing is reckoned of too few, of too many to count, or of nobody', () => {
  expect(lossOf([])).toBeNull();
  expect(lossOf([counted({}, { customers: 29, paid: 3 })])).toBeNull();
  expect(lossOf([counted({ usual: [{ customers: 29, paid: 20 }] })])).toBeNull();
  expect(lossOf([counted({ isComplete: false })])).toBeNull();
  expect(lossOf([counted({ came: [] })])).toBeNull();
  expect(lossOf([counted(), counted({ isComplete: false })])).toBeNull();
  expect(lossOf([counted({}, { customers: 30, paid: 3 })])).not.toBeNull();
  expect(lossOf([counted({ usual: [{ customers: 30, paid: 20 }] })])).not.toBeNull();
});

describe('by the formulas', () => {
  // 149 of 198 make a usual share of 0.75; its days differ 2.0366 times as much as chance makes them. A day without customers is none.
  const usual = [
    ...[
      { customers: 49, paid: 41 },
      { customers: 49, paid: 33 },
      { customers: 0, paid: 0 },
    ],
    ...[
      { customers: 50, paid: 41 },
      { customers: 50, paid: 34 },
    ],
  ];
  const own = { customers: 98, paid: 39, open: 4, priced: 40, sum: 40 * 500, squares: 40 * (500 ** 2 + 10_000) };

  test('the interval holds chance, the error of the usual share, how days differ, and amounts that differ', () => {
    const loss = lossOf([counted({ usual }, own)])!;
    expect(loss).toMatchObject({ came: 98, expected: 73.5, paid: 39, open: 4, usual: { customers: 198, paid: 149 } });
    expect(loss.customers.about).toBeCloseTo(34.5, 9);
    expect(loss.customers.from).toBeCloseTo(15.839777, 6);
    expect(loss.customers.to).toBeCloseTo(49.160223, 6);
    expect(loss.money).toHaveLength(1);
    expect(loss.money[0]!.about).toBeCloseTo(17_250, 6);
    expect(loss.money[0]!.from).toBeCloseTo(7_882.44342, 4);
    expect(loss.money[0]!.to).toBeCloseTo(24_617.55658, 4);
  });

  test('sites are added up, and their money by currency', () => {
    const both = lossOf([
      counted({ usual }, own),
      counted({ usual, site: 'no' }, { ...own, currency: 'NOK', paid: 0, open: 98 }),
    ])!;
    expect(both).toMatchObject({ came: 196, expected: 147, paid: 39, open: 102, usual: { customers: 396, paid: 298 } });
    expect(both.money).toMatchObject([
      { currency: 'SEK', about: expect.closeTo(17_250, 6) },
      { currency: 'NOK', about: expect.closeTo(0.75 * 98 * 500, 6) },
    ]);
  });
});

test('one day alone says nothing of how days differ, and two do', () => {
  const alone = lossOf([counted({ usual: [{ customers: 164, paid: 143 }] })])!.customers;
  expect(alone.to - alone.from).toBeLessThan(30);
  const two = lossOf([
    counted({
      usual: [
        { customers: 164, paid: 164 },
        { customers: 164, paid: 122 },
      ],
    }),
  ])!.customers;
  expect(two).toEqual({ about: expect.closeTo(46.7, 0), from: 0, to: 64 });
});

test('customers without a known amount count, and their money does not', () => {
  const [row] = counted().came as [Came];
  const without = lossOf([counted({ came: [row, { ...row, currency: null }, { ...row, currency: 'EUR', priced: 0 }] })])!;
  expect(without.came).toBe(3 * 136);
  expect(without.money).toEqual(lossOf([counted()])!.money);
});

/** One simulated incident: each customer would have paid or not, was hit or not, and tried again or not. */
function simulated(seed: number) {
  const number = createRandom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - number())) * Math.cos(2 * Math.PI * number());
  const share = 0.6 + 0.35 * number();
  const unlike = 0.02 * number();
  const ofDay = (): number => Math.min(Math.max(share + unlike * normal(), 0.02), 0.99);
  const size = Math.round(60 * 12 ** number());
  const usual = Array.from({ length: 14 }, () => {
    const customers = Math.round(size * (0.7 + 0.6 * number()));
    const chance = ofDay();
    return { customers, paid: Array.from({ length: customers }, () => number() < chance).filter(Boolean).length };
  });
  const [chance, hit, back] = [ofDay(), 0.4 + 0.6 * number(), 0.4 * number()];
  const customers = Array.from({ length: size }, () => {
    const would = number() < chance;
    const isHit = number() < hit;
    const paid = would && (!isHit || number() < back);
    return { would, paid, price: 400 * Math.exp(0.8 * normal()), currency: number() < 0.8 ? 'SEK' : 'EUR' };
  });
  const came = [...Map.groupBy(customers, ({ currency }) => currency)].map(([currency, own]) => {
    const unpaid = own.filter(({ paid }) => !paid).map(({ price }) => price);
    const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
    const of = { customers: own.length, paid: own.length - unpaid.length, open: 0, priced: unpaid.length };
    return { currency, ...of, sum: sum(unpaid), squares: sum(unpaid.map((price) => price ** 2)) };
  });
  const lost = customers.filter(({ would, paid }) => would && !paid);
  const truth = { customers: lost.length, money: lost.filter(({ currency }) => currency === 'SEK').map(({ price }) => price) };
  const loss = lossOf([counted({ came, usual })])!;
  return { loss, truth: { customers: truth.customers, money: truth.money.reduce((all, each) => all + each, 0) } };
}

test('of 200 simulated incidents, the true loss lies in the interval of nine in ten, and half are off by a tenth at most', () => {
  const all = Array.from({ length: 200 }, (_, seed) => simulated(seed + 1));
  const errors = (of: (each: (typeof all)[number]) => readonly [about: number, truth: number]): number =>
    all
      .map((each) => of(each))
      .map(([about, truth]) => Math.abs(about - truth) / truth)
      .toSorted((a, b) => a - b)[100]!;
  const within = (of: (each: (typeof all)[number]) => readonly [{ from: number; to: number }, truth: number]): number =>
    all.map((each) => of(each)).filter(([{ from, to }, truth]) => from <= truth && truth <= to).length;
  const sek = ({ money }: (typeof all)[number]['loss']) => money.find(({ currency }) => currency === 'SEK')!;
  expect(within(({ loss, truth }) => [loss.customers, truth.customers])).toBeGreaterThanOrEqual(180);
  expect(within(({ loss, truth }) => [sek(loss), truth.money])).toBeGreaterThanOrEqual(180);
  expect(errors(({ loss, truth }) => [loss.customers.about, truth.customers])).toBeLessThanOrEqual(0.1);
  expect(errors(({ loss, truth }) => [sek(loss).about, truth.money])).toBeLessThanOrEqual(0.1);
});
