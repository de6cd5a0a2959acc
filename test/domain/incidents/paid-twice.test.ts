import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  audienceOfPaidTwice,
  MOST_PAYMENTS,
  NOTHING_PAID,
  type OrderCounts,
  type PaidPurchase,
  planPayments,
  reusesReferences,
  reuseText,
  withPayment,
} from '../../../src/domain/incidents/paid-twice.ts';

const NOW = Date.UTC(2026, 10, 20, 9);
const WAIT = 30_000;

interface Payment {
  readonly id: number;
  readonly order: number | null;
  readonly isPaid: boolean;
}

/** Lives through payments in batches, as the judge does, each batch read with what is judged already. */
function live(batches: readonly (readonly Payment[])[]) {
  const all: Payment[] = [];
  const judged = new Set<number>();
  const named: number[][] = [];
  let counts: OrderCounts = NOTHING_PAID;
  for (const batch of batches) {
    all.push(...batch);
    const purchases = batch.map(({ id, order, isPaid }): PaidPurchase<{ id: number; isLater: boolean }> => {
      const mates = all.filter((each) => order !== null && each.order === order && each.isPaid);
      const payments = mates.map((each) => ({ id: each.id, isLater: !judged.has(each.id) && each.id > id }));
      return { id, site: 'se', paidAt: NOW - WAIT, isPaid, isOld: false, order: payments.slice(0, MOST_PAYMENTS + 1) };
    });
    const before = counts;
    const plan = planPayments({ now: NOW, wait: WAIT, purchases, countsOf: () => before });
    counts = plan.counts.get('se') ?? counts;
    for (const id of plan.judged) judged.add(id);
    named.push(...plan.orders.map(({ payments }) => payments.map(({ id }) => id)));
  }
  return { named, counts };
}

const payments = fc
  .array(fc.array(fc.record({ order: fc.option(fc.integer({ min: 0, max: 30 })), isPaid: fc.boolean() }), { maxLength: 12 }), {
    maxLength: 12,
  })
  .map((batches) => {
    let id = 0;
    return batches.map((batch) => batch.map((each) => ({ id: ++id, ...each })));
  });

describe('whatever payments come, in whatever batches', () => {
  test('an announcement names two to five paid purchases of one order, and none comes twice', () => {
    fc.assert(
      fc.property(payments, (batches) => {
        const { named } = live(batches);
        const byId = new Map(batches.flat().map((each) => [each.id, each]));
        for (const ids of named) {
          expect(ids.length).toBeGreaterThan(1);
          expect(ids.length).toBeLessThanOrEqual(MOST_PAYMENTS);
          expect(new Set(ids.map((id) => byId.get(id)!.order)).size).toBe(1);
          expect(ids.every((id) => byId.get(id)!.isPaid)).toBe(true);
        }
        expect(new Set(named.map(String)).size).toBe(named.length);
      }),
    );
  });

  test('while fewer than 50 are paid, each order with two to five payments is announced with all of them', () => {
    fc.assert(
      fc.property(payments, (batches) => {
        const paid = batches.flat().filter(({ isPaid, order }) => isPaid && order !== null);
        fc.pre(paid.length < 50);
        const { named } = live(batches);
        for (const order of Map.groupBy(paid, (each) => each.order).values()) {
          const ids = order.map(({ id }) => id);
          if (ids.length > 1 && ids.length <= MOST_PAYMENTS) expect(named).toContainEqual(ids);
        }
      }),
    );
  });

  test('every paid purchase whose order is known is counted once, and repeats only those after the first', () => {
    fc.assert(
      fc.property(payments, (batches) => {
        const paid = batches.flat().filter(({ isPaid, order }) => isPaid && order !== null);
        const orders = new Set(paid.map(({ order }) => order)).size;
        expect(live(batches).counts).toEqual({ paid: paid.length, repeated: paid.length - orders });
      }),
    );
  });
});

test('a purchase is judged once it has been paid for the wait, and at once where the clock was set back', () => {
  const plan = (paidAt: number) => {
    const purchases = [{ id: 1, site: 'se', paidAt, isPaid: true, isOld: false, order: [{ id: 1, isLater: false }] }];
    const { judged, lookAgainAt } = planPayments({ now: NOW, wait: WAIT, purchases, countsOf: () => NOTHING_PAID });
    return { judged, lookAgainAt };
  };
  expect(plan(NOW - WAIT + 1)).toEqual({ judged: [], lookAgainAt: NOW + 1 });
  expect(plan(NOW - WAIT)).toEqual({ judged: [1], lookAgainAt: null });
  expect(plan(NOW + 3_600_000)).toEqual({ judged: [1], lookAgainAt: null });
});

test.each([
  [{ paid: 49, repeated: 49 }, false],
  [{ paid: 50, repeated: 1 }, false],
  [{ paid: 50, repeated: 2 }, true],
  [{ paid: 1_000, repeated: 20 }, false],
  [{ paid: 1_000, repeated: 21 }, true],
])('a site with %j reuses references by design: %s', (counts, expected) => expect(reusesReferences(counts)).toBe(expected));

test('counts follow a change of habit: a site that stops reusing references is alerted again', () => {
  let counts: OrderCounts = { paid: 1_900, repeated: 190 };
  expect(reusesReferences(counts)).toBe(true);
  for (let paid = 0; paid < 5_000; paid++) counts = withPayment(counts, false);
  expect(reusesReferences(counts)).toBe(false);
  expect(counts.paid).toBeGreaterThanOrEqual(1_000);
});

test('goes to channels for the site that want warnings and did not switch it off', () => {
  const rule = { sites: null, severity: 'warning' } as const;
  const channels = [
    { ...rule, name: '@slack' },
    { ...rule, name: '@off', paidTwice: false },
    { ...rule, name: '@critical', severity: 'critical' as const },
    { ...rule, name: '@no', sites: ['no'] },
  ];
  expect(audienceOfPaidTwice('se', channels)).toEqual(['@slack']);
  expect(audienceOfPaidTwice('no', channels)).toEqual(['@slack', '@no']);
});

describe('payments that are judged together', () => {
  const paid = (id: number, order: readonly number[]) => ({
    ...{ id, site: 'se', paidAt: NOW - WAIT, isPaid: true, isOld: false },
    order: order.map((each) => ({ id: each, isLater: each > id })),
  });
  const named = (purchases: readonly ReturnType<typeof paid>[], counts = NOTHING_PAID) =>
    planPayments({ now: NOW, wait: WAIT, purchases, countsOf: () => counts }).orders.map(({ payments: all }) =>
      all.map(({ id }) => id),
    );
  test('of one order are named once, by the last; those of others apart', () => {
    const [ours, theirs] = [
      [1, 2, 4],
      [3, 5],
    ];
    expect(named([paid(2, ours!), paid(4, ours!), paid(5, theirs!)])).toEqual([
      [1, 2, 4],
      [3, 5],
    ]);
  });
  test('name no order of more than five payments, and none at a site that reuses references', () => {
    const order = [1, 2, 3, 4, 5, 6];
    expect([named([paid(5, order)]), named([paid(6, order)])]).toEqual([[[1, 2, 3, 4, 5]], []]);
    expect(named([paid(2, [1, 2])], { paid: 60, repeated: 9 })).toEqual([]);
    expect(reuseText({ paid: 60, repeated: 9 })).toBe(
      '9 of the last 60 paid purchases whose order is known were of an order that was paid before, more than one in 50: the site reuses references by design',
    );
  });
});
