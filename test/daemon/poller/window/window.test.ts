import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Entry } from '../../../../src/daemon/poller/window/entries.ts';
import { createWindow, type Window } from '../../../../src/daemon/poller/window/window.ts';
import { ranksInTurn } from '../../../../src/domain/polling/poll-rank.ts';
import { numberOf } from '../../../../src/domain/purchases/states.ts';
import { FIRST_BULK_SLOT } from '../../../../src/postgres/migrations/names.ts';
import { type Cursor, dueSlot, LAST_SLOT, type QueuedPurchase } from '../../../../src/postgres/polling/queue.ts';
import { aPurchase } from '../../../support/a-purchase.ts';

const SLOT = 10_000;
const END = Number.MAX_SAFE_INTEGER;
const CAPACITY = 10;

let epochs: Map<number, number>;
let window: Window;
beforeEach(() => {
  epochs = new Map([
    [0, 7],
    [1, 8],
  ]);
  window = createWindow({ capacity: CAPACITY, epochOf: (shard) => epochs.get(shard) ?? null, now: () => 9 * SLOT });
  window.gain([0, 1]);
});

interface RowLike {
  readonly id?: number;
  readonly purchaseId?: string;
  readonly shard?: number;
  readonly revision?: number;
  readonly polls?: number;
  readonly dueAt?: number | null;
}
function row({ id = 1, purchaseId = 'p-1', shard = 0, revision = 0, polls = 0, dueAt = 0 }: RowLike = {}): QueuedPurchase {
  const purchase = aPurchase({ id, purchaseId, shard, revision, polls });
  return { purchase, nextPollAt: dueAt, slot: dueAt === null ? null : dueSlot(dueAt), reason: 'growth', isBulk: false };
}
const ids = (now = END): number[] => {
  const taken: number[] = [];
  for (let entry = window.take(now); entry; entry = window.take(now)) taken.push(entry.purchase.id);
  return taken;
};
/** Takes the one entry that is due. */
const taken = (): Entry => window.take(END)!;
const readBulkThrough = (slot: number, id = END): void => {
  const behind = window.bulk.behind(slot);
  window.bulk.moved(
    behind,
    behind.map(({ shard }) => ({ shard, slot, id })),
  );
};
const readThrough = (slot: number, id = END): void => {
  readBulkThrough(LAST_SLOT);
  const behind = window.behind(slot);
  window.moved(
    behind,
    behind.map(({ shard }) => ({ shard, slot, id })),
  );
};
/** As after a first reading: what the tests put in lies in slot 0. */
const readBeginning = (): void => readThrough(0);
const size = (): number => CAPACITY - window.room();
const cursorOf = (shard: number) => window.behind(END).find((cursor) => cursor.shard === shard);

describe('what is due', () => {
  beforeEach(readBeginning);

  test('comes out earliest first, and not before it is due', () => {
    window.put(row({ id: 1, dueAt: 300 }));
    window.put(row({ id: 2, dueAt: 100 }));
    expect(window.nextDue()).toBe(100);
    expect(window.take(99)).toBeNull();
    expect(ids()).toEqual([2, 1]);
    expect(window.nextDue()).toBeNull();
  });

  test('is handed out once until it is settled', () => {
    window.put(row());
    const entry = taken();
    expect(window.nextDue()).toBeNull();
    expect(window.take(END)).toBeNull();
    window.settle(entry, { purchase: entry.purchase, dueAt: 500, slot: 0 });
    expect(window.nextDue()).toBe(500);
  });

  test('gives way to the first of some that are named, due or not, as long as these are idle and usable', () => {
    for (const id of [1, 2, 3]) window.put(row({ id, dueAt: id * 100 }));
    const takeOneOf = (...named: number[]): Entry | null => window.takeOneOf(named, ({ id }) => id !== 2);
    const early = takeOneOf(9, 2, 3)!;
    expect([early.purchase.id, takeOneOf(9, 2, 3), size()]).toEqual([3, null, 3]);
    expect([window.take(400)!.purchase.id, window.take(400)!.purchase.id, window.take(400)]).toEqual([1, 2, null]);
    window.settle(early, { purchase: early.purchase, dueAt: 50, slot: 0 });
    expect([window.nextDue(), size()]).toEqual([50, 3]);
    expect(ids()).toEqual([3]);
  });

  test('remembers the epoch under which it was read', () => {
    window.put(row({ shard: 1 }));
    epochs.set(1, 9);
    expect(taken().epoch).toBe(8);
  });

  test('is gone when its row is, and so is the answer about it', () => {
    window.put(row());
    const entry = taken();
    window.remove(1);
    window.remove(9);
    window.settle(entry, entry);
    expect([window.knows(1), entry.gone, ids()]).toEqual([false, true, []]);
  });

  test('is known as long as it is in memory', () => {
    window.put(row());
    const entry = taken();
    expect([window.knows(1), window.knows(2), window.isEmpty()]).toEqual([true, false, false]);
    window.settle(entry, null);
    expect([window.knows(1), window.isEmpty()]).toEqual([false, true]);
  });
});

describe('a full window', () => {
  beforeEach(() => {
    readThrough(9);
    for (let id = 1; id <= CAPACITY; id++) window.put(row({ id, dueAt: 2 * SLOT }));
  });

  test('has no room, and says so in time', () => {
    window.settle(taken(), null);
    expect(window.room()).toBe(1);
    window.put(row({ id: 11, dueAt: 2 * SLOT }));
    expect(window.room()).toBe(0);
  });

  test('leaves a row to its cursor, which comes by again', () => {
    window.put(row({ id: 11, dueAt: 3 * SLOT }));
    expect([window.knows(11), window.room(), window.pressed()]).toEqual([false, 0, true]);
    expect(cursorOf(0)).toEqual({ shard: 0, slot: 3, id: 10 });
    expect(cursorOf(1)).toEqual({ shard: 1, slot: 9, id: END });
  });

  test('goes back to the earliest of them, and never forward', () => {
    for (const [id, slot] of [
      [11, 3],
      [12, 2],
      [13, 4],
      [14, 2],
    ] as const)
      window.put(row({ id, dueAt: slot * SLOT }));
    expect(cursorOf(0)).toEqual({ shard: 0, slot: 2, id: 11 });
    window.put(row({ id: 15, dueAt: 50 * SLOT }));
    expect(cursorOf(0)).toEqual({ shard: 0, slot: 2, id: 11 });
  });

  test('that went back while the queue was being read stays there', () => {
    const behind = window.behind(12);
    window.put(row({ id: 11, dueAt: 3 * SLOT }));
    window.moved(
      behind,
      behind.map(({ shard }) => ({ shard, slot: 12, id: END })),
    );
    expect(window.behind(12)).toEqual([{ shard: 0, slot: 3, id: 10 }]);
  });

  test('gives way to what is due in earlier slots: what is due later leaves, and its cursor comes by again', () => {
    window.put(row({ id: 11, shard: 1, dueAt: SLOT }));
    expect([window.knows(11), window.knows(1), window.pressed()]).toEqual([true, false, false]);
    expect([cursorOf(0), cursorOf(1)]).toEqual([
      { shard: 0, slot: 2, id: 0 },
      { shard: 1, slot: 9, id: END },
    ]);
    expect(ids()).toEqual([11]);
    // They are read again, and are in memory as before.
    readThrough(9);
    for (let id = 1; id <= 3; id++) window.put(row({ id, dueAt: 2 * SLOT }));
    expect([1, 2, 3].every((id) => window.knows(id))).toBe(true);
  });

  test('keeps what is being asked, what will be tried again, and what is due as early', () => {
    const asked = taken();
    const postponed = taken();
    window.settle(postponed, { purchase: postponed.purchase, dueAt: 4 * SLOT, slot: 2 });
    expect([window.makeRoom(1, 2), window.makeRoom(1, 1)]).toEqual([0, CAPACITY - 2]);
    expect([window.knows(asked.purchase.id), window.knows(postponed.purchase.id)]).toEqual([true, true]);
    // Asked for once more, it may go, too.
    window.settle(asked, { purchase: asked.purchase, dueAt: 3 * SLOT, slot: 3 });
    for (let id = 11; window.room() > 0; id++) window.put(row({ id, dueAt: SLOT }));
    expect([window.makeRoom(1, 1), window.knows(asked.purchase.id)]).toEqual([1, false]);
  });

  test('keeps rows where they are due, so that they can leave it', () => {
    const entry = taken();
    expect(window.place(entry, 5 * SLOT, 0)).toEqual({ slot: 5, stays: true });
    window.settle(entry, null);
    while (window.roomAhead() === 0) window.settle(taken(), null);
    expect(window.place(taken(), 5 * SLOT, 0)).toEqual({ slot: 2, stays: true });
  });

  test('says when what had no room may be read again', () => {
    expect(window.hasRoomAgain()).toBe(false);
    window.put(row({ id: 11, dueAt: 2 * SLOT }));
    expect(window.hasRoomAgain()).toBe(false);
    for (let polls = 0; polls < 3; polls++) window.settle(taken(), null);
    expect(window.hasRoomAgain()).toBe(true);
    window.setPressure(false);
    expect(window.hasRoomAgain()).toBe(false);
  });

  test('still learns of what it knows', () => {
    window.put(row({ id: 4, dueAt: 5, revision: 1 }));
    expect([window.nextDue(), cursorOf(0)!.slot]).toEqual([5, 9]);
  });
});

describe('a row that is read again', () => {
  beforeEach(readBeginning);

  test('with the same revision is no newer than memory', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: 999 }));
    expect([size(), window.nextDue()]).toEqual([1, 100]);
  });

  test('with another revision replaces what was known', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: 5, revision: 1 }));
    expect([size(), window.nextDue()]).toEqual([1, 5]);
    expect(taken().purchase.revision).toBe(1);
    expect(window.take(END)).toBeNull();
  });

  test('with polls that memory does not know replaces it; one with fewer does not', () => {
    window.put(row({ dueAt: 100, polls: 3 }));
    window.put(row({ dueAt: 5, polls: 2 }));
    expect([size(), window.nextDue()]).toEqual([1, 100]);
    window.put(row({ dueAt: 50, polls: 4 }));
    expect([size(), window.nextDue()]).toEqual([1, 50]);
    expect(taken().purchase.polls).toBe(4);
  });

  test('while it is recorded, and is what was recorded, leaves memory as it is', () => {
    window.put(row({ dueAt: 100 }));
    const entry = taken();
    window.put(row({ dueAt: 900, polls: 1 }));
    window.settle(entry, { purchase: { ...entry.purchase, polls: 1 }, dueAt: 900, slot: 0 });
    expect(taken()).toBe(entry);
  });

  test('of another purchase, which was given the id again, replaces it, however few polls it has', () => {
    window.put(row({ dueAt: 100, polls: 3 }));
    window.put(row({ purchaseId: 'new', dueAt: 900, polls: 3 }));
    expect(size()).toBe(1);
    const entry = taken();
    expect(entry.purchase.purchaseId).toBe('new');
    // While it is asked, too: its answer is dropped.
    window.put(row({ purchaseId: 'newer', dueAt: 50 }));
    expect([entry.gone, window.nextDue()]).toEqual([true, 50]);
    window.settle(entry, { purchase: entry.purchase, dueAt: 1, slot: 0 });
    expect(taken().purchase.purchaseId).toBe('newer');
    expect([size(), window.nextDue()]).toEqual([1, null]);
  });

  test('and is not polled any more does not enter memory, however far its queue has been read', () => {
    readThrough(5);
    window.put(row({ dueAt: null }));
    expect(window.knows(1)).toBe(false);
  });

  test('and is not polled any more leaves memory', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: null, revision: 1 }));
    expect([size(), window.nextDue()]).toEqual([0, null]);
  });

  test('while it is asked waits for the answer, and then counts instead of it', () => {
    window.put(row({ dueAt: 100 }));
    const entry = taken();
    window.put(row({ dueAt: 5, revision: 1 }));
    expect(window.take(END)).toBeNull();
    window.settle(entry, { purchase: entry.purchase, dueAt: 900, slot: 0 });
    expect(window.nextDue()).toBe(5);
    expect(taken().purchase.revision).toBe(1);
    expect(size()).toBe(1);
  });

  test('while it is asked, and leaves memory with the answer, comes in its place', () => {
    window.put(row());
    const entry = taken();
    window.put(row({ revision: 1, dueAt: 7 }));
    window.settle(entry, null);
    expect([window.nextDue(), ids()]).toEqual([7, [1]]);
  });

  test('while it is asked, and was stopped, is gone after the answer', () => {
    window.put(row());
    const entry = taken();
    window.put(row({ dueAt: null, revision: 1 }));
    window.settle(entry, { purchase: entry.purchase, dueAt: 900, slot: 0 });
    expect([size(), window.nextDue()]).toEqual([0, null]);
  });

  test('beyond its cursor is left to the cursor, whatever memory knew of it', () => {
    window.put(row({ dueAt: SLOT }));
    expect(size()).toBe(0);
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: SLOT, revision: 1 }));
    expect([size(), window.nextDue()]).toEqual([0, null]);
    // Within the slot in which the cursor stands, the id counts.
    readThrough(1, 5);
    window.put(row({ id: 6, dueAt: SLOT }));
    window.put(row({ id: 5, dueAt: SLOT }));
    expect([window.knows(6), window.knows(5)]).toEqual([false, true]);
  });

  test('of a shard that is not ours is left alone', () => {
    window.put(row({ shard: 2 }));
    expect(size()).toBe(0);
  });
});

describe('a shard that was lost', () => {
  beforeEach(readBeginning);

  test('takes its purchases along, those under way too', () => {
    window.put(row({ id: 1, shard: 0 }));
    window.put(row({ id: 2, shard: 1 }));
    const entry = window.take(END)!;
    const other = window.take(END)!;
    const [lost, kept] = entry.purchase.shard === 0 ? [entry, other] : [other, entry];
    window.drop([0]);
    expect([lost.gone, kept.gone, size()]).toEqual([true, false, 1]);
    window.settle(lost, { purchase: lost.purchase, dueAt: 1, slot: 0 });
    expect([size(), window.nextDue()]).toEqual([1, null]);
  });

  test('and came back is not troubled by answers from before', () => {
    for (const late of [null, { purchase: aPurchase(), dueAt: 1, slot: 0 }]) {
      window.put(row({ dueAt: 100 }));
      const entry = taken();
      window.drop([0]);
      window.gain([0]);
      readBeginning();
      window.put(row({ dueAt: 100 }));
      window.settle(entry, late);
      expect([window.knows(1), window.nextDue()]).toEqual([true, 100]);
      window.drop([0]);
      window.gain([0]);
      readBeginning();
    }
  });

  test('is read from its beginning when it comes back', () => {
    readThrough(5);
    expect(window.behind(5)).toEqual([]);
    window.drop([0]);
    window.gain([0]);
    expect(window.behind(5)).toEqual([{ shard: 0, slot: -1, id: 0 }]);
  });

  test('is not read on by an answer that comes late', () => {
    const behind = window.behind(5);
    const read = behind.map(({ shard }) => ({ shard, slot: 5, id: END }));
    window.drop([0]);
    window.moved(behind, read);
    expect(window.behind(5)).toEqual([]);
    window.gain([0]);
    window.moved(behind, read);
    expect(window.behind(5)).toEqual([{ shard: 0, slot: -1, id: 0 }]);
  });
});

describe('where a row must lie', () => {
  const entryAt = (dueAt: number): Entry => {
    window.put(row({ dueAt }));
    return taken();
  };

  test('what is due within what has been read stays in memory, and its row where it is', () => {
    readThrough(9);
    const entry = entryAt(2 * SLOT);
    expect(window.place(entry, 5 * SLOT, 0)).toEqual({ slot: 2, stays: true });
    expect(window.place(entry, 9 * SLOT + 9_999, 0)).toEqual({ slot: 2, stays: true });
  });

  test('what is due later leaves, and lies where the cursor will come to it', () => {
    readThrough(9);
    expect(window.place(entryAt(2 * SLOT), 10 * SLOT + 1, -2 * SLOT)).toEqual({ slot: 10, stays: false });
  });

  test('what is due within two minutes stays, and its row where it is, while the window holds less than an eighth', () => {
    const tested = createWindow({ capacity: 24, epochOf: () => 1, now: () => 9 * SLOT });
    tested.gain([0]);
    tested.moved(tested.behind(9), [{ shard: 0, slot: 9, id: END }]);
    const placeOfNext = (id: number) => {
      tested.put(row({ id, dueAt: 2 * SLOT }));
      return tested.place(tested.take(9 * SLOT)!, 10 * SLOT, -2 * SLOT);
    };
    expect([1, 2, 3].map(placeOfNext)).toEqual([
      { slot: 2, stays: true },
      { slot: 2, stays: true },
      { slot: 10, stays: false },
    ]);
  });

  test('what the cursor has not come to where it lies now leaves, however soon it is due', () => {
    readThrough(9);
    const entry = entryAt(9 * SLOT);
    window.rewind(0, 9, 1);
    expect(window.place(entry, 10 * SLOT, 9 * SLOT)).toEqual({ slot: 10, stays: false });
  });

  test('what is due earlier than its row says lies there', () => {
    readThrough(9);
    const entry = entryAt(7 * SLOT);
    expect(window.place(entry, 3 * SLOT, 0)).toEqual({ slot: 3, stays: true });
  });

  test('what is not polled any more lies nowhere', () => {
    expect(window.place(entryAt(0), null, 0)).toEqual({ slot: null, stays: false });
  });

  test('when more is due than fits, makes room and lies where it is due', () => {
    readThrough(9);
    window.setPressure(true);
    const entry = entryAt(2 * SLOT);
    expect(window.place(entry, 5 * SLOT, 2 * SLOT)).toEqual({ slot: 5, stays: false });
    expect(window.place(entry, 2 * SLOT + 9, 2 * SLOT + 7)).toEqual({ slot: 3, stays: false });
    expect(window.place(entry, 30 * SLOT, 0)).toEqual({ slot: 30, stays: false });
  });

  test('of a shard that is not read at all is its own slot', () => {
    readThrough(9);
    const entry = entryAt(2 * SLOT);
    window.drop([0]);
    expect(window.place(entry, 5 * SLOT, 0)).toEqual({ slot: 5, stays: false });
  });
});

describe('ranks', () => {
  const AT_THE_BANK = numberOf('WaitingForCardPayments');
  const BULK = FIRST_BULK_SLOT;
  const inBulk = (id: number): QueuedPurchase => ({ ...row({ id }), slot: BULK, reason: 'first', isBulk: true });
  const single = (id: number, dueAt = 0): QueuedPurchase => ({ ...row({ id, dueAt }), reason: 'first' });
  const atBank = (id: number): QueuedPurchase => {
    const queued = row({ id });
    return { ...queued, purchase: { ...queued.purchase, state: AT_THE_BANK } };
  };
  /** Polls what is due, call after call; answers the ids in order. */
  const polls = (count: number): number[] =>
    Array.from({ length: count }, () => {
      const entry = taken();
      window.nextTurn();
      return entry.purchase.id;
    });

  test('decide, whatever has been due for longer, and none starves', () => {
    readBeginning();
    for (let id = 1; id <= 20; id++) window.put(inBulk(id));
    for (let id = 31; id <= 34; id++) window.put(row({ id }));
    for (let id = 41; id <= 44; id++) window.put(atBank(id));
    for (let id = 51; id <= 54; id++) window.put(single(id, 5));
    const order = polls(20);
    const of = (from: number): number[] => order.filter((id) => id > from && id <= from + 9).map((id) => order.indexOf(id));
    expect(order.slice(0, 3).every((id) => id > 50)).toBe(true);
    const last = (ids: readonly number[]): number => Math.max(...ids);
    expect([of(50), of(40), of(30)].map((ids) => ids.length)).toEqual([4, 4, 4]);
    expect(last(of(50))).toBeLessThan(last(of(40)));
    expect(last(of(40))).toBeLessThan(last(of(30)));
    // The eighth and the sixteenth call are theirs; later calls are, too, because nothing else is due.
    expect([order[7]! <= 20, order[15]! <= 20]).toEqual([true, true]);
  });

  test('whatever is due, the rank whose turn it is gives its earliest, else the next one', () => {
    const poll = fc.record({ kind: fc.constantFrom(0, 1, 2, 3), dueAt: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(poll, { maxLength: 40 }), fc.array(fc.nat(60), { minLength: 40, maxLength: 80 }), (polls, times) => {
        const tested = createWindow({ capacity: 100, epochOf: () => 1, now: () => 9 * SLOT });
        tested.gain([0]);
        tested.moved(tested.behind(0), [{ shard: 0, slot: 0, id: END }]);
        tested.bulk.moved(tested.bulk.behind(LAST_SLOT), [{ shard: 0, slot: LAST_SLOT, id: END }]);
        const waiting = polls.map(({ kind, dueAt }, index) => ({ kind, dueAt, id: index + 1 }));
        const made = [single, atBank, (id: number) => row({ id }), inBulk];
        for (const { kind, dueAt, id } of waiting) tested.put({ ...made[kind]!(id), nextPollAt: dueAt });
        times.forEach((now, turn) => {
          const due = waiting.filter(({ dueAt }) => dueAt <= now);
          const first = ranksInTurn(turn).find((rank) => due.some(({ kind }) => kind === rank));
          const entry = tested.take(now);
          tested.nextTurn();
          const earliest = Math.min(...due.filter(({ kind }) => kind === first).map(({ dueAt }) => dueAt));
          expect(entry && [entry.rank, entry.dueAt]).toEqual(first === undefined ? null : [first, earliest]);
          if (entry !== null)
            waiting.splice(
              waiting.findIndex(({ id }) => id === entry.purchase.id),
              1,
            );
        });
      }),
      { seed: 30, numRuns: 300 },
    );
  });

  test('a call that could not leave takes no turn', () => {
    readBeginning();
    window.put(inBulk(1));
    window.put(single(51));
    for (let time = 0; time < 20; time++) {
      const entry = taken();
      expect(entry.purchase.id).toBe(51);
      window.settle(entry, entry);
    }
  });

  test('a purchase that is registered goes ahead of its cursor, which has much to read before, and of a full window', () => {
    readThrough(0);
    for (let id = 1; id <= CAPACITY; id++) window.put(row({ id }));
    window.put(row({ id: 60, dueAt: 9 * SLOT }));
    window.put(single(61, 9 * SLOT));
    expect([window.knows(60), window.knows(61), window.room()]).toEqual([false, true, 0]);
    expect(taken().purchase.id).toBe(61);
    window.put(single(64, 10 * SLOT));
    expect(window.knows(64)).toBe(true);
    // One that is planned for later waits for the cursor.
    window.put(single(63, 11 * SLOT));
    expect(window.knows(63)).toBe(false);
    // Room for what is due is not made of it.
    window.put(single(62, 9 * SLOT));
    window.makeRoom(1, 3);
    expect(window.knows(62)).toBe(true);
  });

  test('a purchase that goes first waits for its cursor when there are too many of them, and its shard must be held', () => {
    for (let id = 1; id <= 65; id++) window.put(single(id, 9 * SLOT));
    expect([window.knows(64), window.knows(65)]).toEqual([true, false]);
    epochs.delete(1);
    window.remove(1);
    window.put({ ...single(66, 9 * SLOT), purchase: aPurchase({ id: 66, shard: 1 }) });
    expect(window.knows(66)).toBe(false);
  });

  test('once its poll is recorded, a purchase goes by its state', () => {
    readBeginning();
    window.put(single(1));
    const first = taken();
    const { purchase } = first;
    // Without a record it is still the first one.
    window.settle(first, { purchase: { ...purchase, failures: 0 }, dueAt: 10, slot: 0 });
    window.put(atBank(2));
    const again = taken();
    expect(again.purchase.id).toBe(1);
    window.settle(again, { purchase: { ...again.purchase, polls: 1, state: 0 }, dueAt: 0, slot: 0 });
    expect(ids()).toEqual([2, 1]);
  });

  test('a bulk registration has room of its own, and is read again from where a part begins that had none', () => {
    const most = 64;
    readThrough(9);
    expect([window.bulk.behind(LAST_SLOT), window.hasRoomAgain()]).toEqual([[], false]);
    window.bulkBegins({ site: 'default', shard: 0, slot: BULK + 3, id: 100 });
    expect(window.bulk.behind(LAST_SLOT)).toEqual([{ shard: 0, slot: BULK + 3, id: 99 }]);
    expect(window.hasRoomAgain()).toBe(true);
    readBulkThrough(LAST_SLOT);
    for (let id = 100; id < 100 + most; id++) window.put({ ...inBulk(id), slot: BULK + 3 });
    expect([window.roomForBulk(), window.room(), window.pressed()]).toEqual([0, CAPACITY, false]);
    window.put({ ...inBulk(164), slot: BULK + 3 });
    expect([window.knows(164), window.pressed(), window.hasRoomAgain()]).toEqual([false, false, false]);
    expect(window.bulk.behind(LAST_SLOT)).toEqual([{ shard: 0, slot: BULK + 3, id: 163 }]);
    for (let count = 0; count < most / 2; count++) window.settle(taken(), null);
    expect([window.roomForBulk(), window.hasRoomAgain()]).toEqual([most / 2, true]);
    readBulkThrough(LAST_SLOT);
    window.put({ ...inBulk(200), slot: BULK + 3 });
    expect(window.roomForBulk()).toBe(0);
  });

  test('shards that are lost and gained are read again in both queues', () => {
    readThrough(9);
    window.put(inBulk(1));
    window.bulkBegins({ site: 'default', shard: 0, slot: BULK, id: 1 });
    window.drop([0]);
    expect([window.knows(1), window.bulk.behind(LAST_SLOT)]).toEqual([false, []]);
    window.gain([0]);
    expect(window.bulk.behind(LAST_SLOT)).toEqual([{ shard: 0, slot: BULK - 1, id: 0 }]);
  });
});

test('more is to be read until every cursor has come through the slot', () => {
  const [first, second] = window.behind(4) as [Cursor, Cursor];
  window.moved([first], [{ shard: 0, slot: 4, id: END }]);
  expect(window.behind(4)).toEqual([second]);
  const half = { shard: 1, slot: 4, id: 17 };
  window.moved([second], [half]);
  expect(window.behind(4)).toEqual([half]);
  window.moved([half], [{ shard: 1, slot: 4, id: END }]);
  expect([window.behind(4), window.behind(3)]).toEqual([[], []]);
  window.rewind(1, 3, 5);
  expect([window.behind(4), window.behind(2)]).toEqual([[{ shard: 1, slot: 3, id: 4 }], []]);
});

test('a cursor does not come to a row that is written where it has been, and that is known', () => {
  readThrough(9, 17);
  expect([8, 9, 10].map((slot) => window.hasPassed(0, slot, 17))).toEqual([true, true, false]);
  expect(window.hasPassed(0, 9, 18)).toBe(false);
  expect(window.hasPassed(2, 0, 1)).toBe(false);
});

test('through anything that may happen it holds what a plain list would', () => {
  interface Known {
    revision: number;
    dueAt: number;
    shard: number;
    busy: Entry | null;
    newer: QueuedPurchase | null;
  }
  const id = fc.integer({ min: 0, max: 7 });
  const shardOf = (of: number): number => of % 3;
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('put' as const), id, revision: fc.nat(2), dueAt: fc.option(fc.nat(100)) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('take' as const), now: fc.nat(100) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), id, dueAt: fc.option(fc.nat(100)) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('gain' as const, 'drop' as const), shard: fc.nat(2) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const owned = new Set([0, 1]);
      const tested = createWindow({ capacity: 100, epochOf: (shard) => (owned.has(shard) ? 1 : null), now: () => 0 });
      const read = (shards: number[]): void => {
        const behind = tested.behind(0).filter(({ shard }) => shards.includes(shard));
        tested.moved(
          behind,
          behind.map(({ shard }) => ({ shard, slot: 0, id: END })),
        );
      };
      tested.gain([0, 1]);
      read([0, 1]);
      const model = new Map<number, Known>();
      const under: Entry[] = [];
      const put = (queued: QueuedPurchase): void => {
        const { id: key, revision, shard } = queued.purchase;
        const known = model.get(key);
        if (known?.revision === revision) return;
        if (known?.busy) {
          known.newer = queued;
          return;
        }
        model.delete(key);
        if (owned.has(shard) && queued.nextPollAt !== null)
          model.set(key, { revision, dueAt: queued.nextPollAt, shard, busy: null, newer: null });
      };
      const idle = (): Known[] => [...model.values()].filter(({ busy }) => busy === null);
      for (const action of steps) {
        if (action.do === 'put') {
          const queued = row({ ...action, shard: shardOf(action.id) });
          tested.put(queued);
          put(queued);
        } else if (action.do === 'take') {
          const entry = tested.take(action.now);
          const due = idle().filter(({ dueAt }) => dueAt <= action.now);
          expect(entry === null).toBe(due.length === 0);
          if (entry === null) continue;
          const known = model.get(entry.purchase.id)!;
          expect(known.busy).toBeNull();
          expect(entry.dueAt).toBe(Math.min(...due.map(({ dueAt }) => dueAt)));
          expect([entry.dueAt, entry.purchase.revision]).toEqual([known.dueAt, known.revision]);
          known.busy = entry;
          under.push(entry);
        } else if (action.do === 'settle') {
          const at = under.findIndex(({ purchase }) => purchase.id === action.id);
          if (at < 0) continue;
          const [entry] = under.splice(at, 1) as [Entry];
          const { dueAt } = action;
          tested.settle(entry, dueAt === null ? null : { purchase: entry.purchase, dueAt, slot: 0 });
          const known = model.get(action.id);
          // Lost meanwhile, and perhaps read again: then this answer is nobody's.
          expect(entry.gone && known?.busy === entry).toBe(known?.busy === entry && (known.newer !== null || dueAt === null));
          if (known?.busy !== entry) continue;
          const { newer } = known;
          if (newer !== null || dueAt === null) {
            model.delete(action.id);
            if (newer !== null) put(newer);
          } else Object.assign(known, { busy: null, dueAt });
        } else if (action.do === 'gain') {
          if (owned.has(action.shard)) continue;
          owned.add(action.shard);
          tested.gain([action.shard]);
          read([action.shard]);
        } else {
          owned.delete(action.shard);
          tested.drop([action.shard]);
          for (const [key, { shard }] of model) if (shard === action.shard) model.delete(key);
        }
        expect(100 - tested.room()).toBe(model.size);
        const dues = idle().map(({ dueAt }) => dueAt);
        expect(tested.nextDue()).toBe(dues.length === 0 ? null : Math.min(...dues));
      }
    }),
    { numRuns: 1_000 },
  );
});
