import { expect, test } from 'vitest';
import { createEntries, type Entry } from '../../../../src/daemon/poller/window/entries.ts';
import { numberOf } from '../../../../src/domain/purchases/states.ts';
import { FIRST_BULK_SLOT } from '../../../../src/postgres/migrations/names.ts';
import { dueSlot } from '../../../../src/postgres/polling/queue.ts';
import { aPurchase } from '../../../support/a-purchase.ts';

const SLOT = 10_000;
const entry = (id: number, differs: Partial<Entry> = {}): Entry => {
  const { dueAt = 0 } = differs;
  return {
    ...{ purchase: aPurchase({ id, shard: id % 2 }), dueAt, slot: dueSlot(dueAt), rank: 2, isBulk: false, epoch: 1 },
    ...{ busy: false, digest: null, strikes: 0, gone: false, newer: null },
    ...differs,
  };
};
function entries(...all: Entry[]) {
  const made = createEntries();
  for (const each of all) made.add(each);
  return made;
}
const counts = (of: ReturnType<typeof entries>) => (['urgent', 'ordinary', 'bulk'] as const).map(of.count);

test('each is counted by what it has room of', () => {
  const all = entries(entry(1), entry(2, { rank: 0 }), entry(3, { rank: 3, isBulk: true, slot: FIRST_BULK_SLOT }));
  expect(counts(all)).toEqual([1, 1, 1]);
  all.remove(all.get(2)!);
  all.remove(entry(9));
  expect([counts(all), all.get(2)]).toEqual([[0, 1, 1], undefined]);
});

test('what is taken is busy, and comes again with its new time', () => {
  const all = entries(entry(1), entry(2, { dueAt: 5 }));
  const taken = all.take(0)!;
  expect([taken.purchase.id, taken.busy, all.take(0)]).toEqual([1, true, null]);
  all.putBack(taken, { purchase: { ...taken.purchase, polls: 1 }, dueAt: 9, slot: 0 });
  expect([all.take(9)!.purchase.id, all.take(9)!.purchase]).toEqual([2, expect.objectContaining({ id: 1, polls: 1 })]);
});

test('one that was asked for is urgent until a poll of it is recorded', () => {
  const all = entries(entry(1, { rank: 0 }));
  const taken = all.take(0)!;
  all.putBack(taken, { purchase: taken.purchase, dueAt: 0, slot: 0 });
  expect(counts(all)).toEqual([1, 0, 0]);
  const again = all.take(0)!;
  all.putBack(again, { purchase: { ...again.purchase, polls: 1 }, dueAt: 0, slot: 0 });
  expect(counts(all)).toEqual([0, 1, 0]);
});

test('one at which the customer is at work goes before others, however it was registered', () => {
  const atBank = numberOf('WaitingForIdentityProvider')!;
  const all = entries(entry(1, { isBulk: true, rank: 3 }), entry(2, { rank: 0 }), entry(3));
  for (let count = 0; count < 2; count++) {
    const { purchase, ...rest } = all.take(0)!;
    all.putBack(all.get(purchase.id)!, {
      ...rest,
      purchase: { ...purchase, polls: 1, state: purchase.id === 1 ? null : atBank },
    });
  }
  expect([1, 2].map((id) => all.get(id)!.rank)).toEqual([3, 1]);
});

test('a purchase is taken by id before it is due, and once', () => {
  const all = entries(entry(1, { dueAt: 99 }), entry(2));
  expect(all.takeOneOf([7, 1], () => false)).toBeNull();
  expect(all.takeOneOf([7, 1], () => true)).toMatchObject({ purchase: { id: 1 }, busy: true });
  expect(all.takeOneOf([1], () => true)).toBeNull();
  expect([all.take(999)!.purchase.id, all.take(999)]).toEqual([2, null]);
  expect(all.count('ordinary')).toBe(2);
});

test('a lost shard takes its purchases along, busy ones too', () => {
  const all = entries(entry(1), entry(2), entry(3));
  const busy = all.take(0)!;
  all.removeShards([1]);
  expect([busy.gone, all.get(1), all.get(3), all.take(0)!.purchase.id]).toEqual([true, undefined, undefined, 2]);
});

test('ordinary ones of later slots make room; those whose place a cursor would not come to again stay', () => {
  const [soon, late, moved, urgent] = [
    entry(1, { dueAt: SLOT }),
    entry(2, { dueAt: 5 * SLOT }),
    entry(3, { dueAt: 6 * SLOT, slot: 4 }),
    entry(4, { dueAt: 5 * SLOT, rank: 0 }),
  ];
  const all = entries(soon, late, moved, urgent);
  expect(all.evict(2).map(({ purchase }) => purchase.id)).toEqual([2]);
  expect([all.evict(2), all.count('ordinary'), all.nextDue()]).toEqual([[], 2, SLOT]);
});

test('what stays when others make room comes out in order, and once', () => {
  const all = entries(entry(1), entry(2, { dueAt: 10 }), entry(3, { dueAt: 5 * SLOT }));
  all.evict(2);
  const first = all.take(0)!;
  all.putBack(first, { purchase: first.purchase, dueAt: 20, slot: 0 });
  expect([10, 20, 30].map((now) => all.take(now)?.purchase.id)).toEqual([2, 1, undefined]);
});
