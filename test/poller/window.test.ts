import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createWindow, type Entry, type Window } from '../../src/poller/window.ts';
import { dueSlot, type QueuedPurchase } from '../../src/store/queue.ts';
import { aPurchase } from '../support/a-purchase.ts';

const SLOT = 10_000;
const END = Number.MAX_SAFE_INTEGER;

let epochs: Map<number, number>;
let window: Window;
beforeEach(() => {
  epochs = new Map([
    [0, 7],
    [1, 8],
  ]);
  window = createWindow({ capacity: 10, epochOf: (shard) => epochs.get(shard) ?? null });
  window.gain([0, 1]);
});

interface RowLike {
  readonly id?: number;
  readonly site?: string;
  readonly shard?: number;
  readonly revision?: number;
  readonly dueAt?: number | null;
}
function row({ id = 1, site = 'default', shard = 0, revision = 0, dueAt = 0 }: RowLike = {}): QueuedPurchase {
  const purchase = aPurchase({ id, site, shard, revision });
  return { purchase, nextPollAt: dueAt, slot: dueAt === null ? null : dueSlot(dueAt) };
}
const ids = (site = 'default', now = END): number[] => {
  const taken: number[] = [];
  for (let entry = window.take(site, now); entry; entry = window.take(site, now)) taken.push(entry.purchase.id);
  return taken;
};
/** Takes the one entry that is due. */
const taken = (): Entry => window.take('default', END)!;
const readThrough = (slot: number): void => {
  window.moved(
    [0, 1].map((shard) => ({ shard, slot, id: END })),
    slot,
  );
};

describe('what is due', () => {
  test('comes out earliest first, each site for itself, and not before it is due', () => {
    window.put(row({ id: 1, dueAt: 300 }));
    window.put(row({ id: 2, dueAt: 100 }));
    window.put(row({ id: 3, dueAt: 50, site: 'other' }));
    expect(window.nextDue('default')).toBe(100);
    expect(window.take('default', 99)).toBeNull();
    expect(ids()).toEqual([2, 1]);
    expect(ids('other')).toEqual([3]);
    expect(window.nextDue('nowhere')).toBeNull();
  });

  test('is handed out once until it is settled', () => {
    window.put(row());
    const entry = taken();
    expect(window.nextDue('default')).toBeNull();
    expect(window.take('default', END)).toBeNull();
    window.settle(entry, { purchase: entry.purchase, dueAt: 500, slot: 0 });
    expect(window.nextDue('default')).toBe(500);
  });

  test('remembers the epoch under which it was read', () => {
    window.put(row({ shard: 1 }));
    epochs.set(1, 9);
    expect(taken().epoch).toBe(8);
  });

  test('fills the window up to its capacity', () => {
    for (let id = 1; id <= 9; id++) window.put(row({ id }));
    expect(window.room()).toBe(1);
    // What changed from outside comes in all the same.
    for (let id = 10; id <= 12; id++) window.put(row({ id }));
    expect([window.size, window.room()]).toEqual([12, 0]);
  });
});

describe('a row that is read again', () => {
  test('with the same revision is no newer than memory', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: 999 }));
    expect([window.size, window.nextDue('default')]).toEqual([1, 100]);
  });

  test('with another revision replaces what was known', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: 5, revision: 1 }));
    expect([window.size, window.nextDue('default')]).toEqual([1, 5]);
    expect(taken().purchase.revision).toBe(1);
    expect(window.take('default', END)).toBeNull();
  });

  test('and is not polled any more leaves memory', () => {
    window.put(row({ dueAt: 100 }));
    window.put(row({ dueAt: null, revision: 1 }));
    expect([window.size, window.nextDue('default')]).toEqual([0, null]);
  });

  test('while it is asked waits for the answer, and then counts instead of it', () => {
    window.put(row({ dueAt: 100 }));
    const entry = taken();
    window.put(row({ dueAt: 5, revision: 1 }));
    expect(window.take('default', END)).toBeNull();
    window.settle(entry, { purchase: entry.purchase, dueAt: 900, slot: 0 });
    expect(window.nextDue('default')).toBe(5);
    expect(taken().purchase.revision).toBe(1);
    expect(window.size).toBe(1);
  });

  test('while it is asked, and was stopped, is gone after the answer', () => {
    window.put(row());
    const entry = taken();
    window.put(row({ dueAt: null, revision: 1 }));
    window.settle(entry, { purchase: entry.purchase, dueAt: 900, slot: 0 });
    expect([window.size, window.nextDue('default')]).toEqual([0, null]);
  });

  test('of a shard that is not ours is left alone', () => {
    window.put(row({ shard: 2 }));
    expect(window.size).toBe(0);
  });
});

describe('a shard that was lost', () => {
  test('takes its purchases along, those under way too', () => {
    window.put(row({ id: 1, shard: 0 }));
    window.put(row({ id: 2, shard: 1 }));
    const entry = window.take('default', END)!;
    const other = window.take('default', END)!;
    const [lost, kept] = entry.purchase.shard === 0 ? [entry, other] : [other, entry];
    window.drop([0]);
    expect([lost.gone, kept.gone, window.size]).toEqual([true, false, 1]);
    window.settle(lost, { purchase: lost.purchase, dueAt: 1, slot: 0 });
    expect([window.size, window.nextDue('default')]).toEqual([1, null]);
  });

  test('is read from its beginning when it comes back', () => {
    readThrough(5);
    expect(window.behind(5)).toEqual([]);
    window.drop([0]);
    window.gain([0]);
    expect(window.behind(5)).toEqual([{ shard: 0, slot: -1, id: 0 }]);
  });

  test('is not read on by an answer that comes late', () => {
    window.drop([0]);
    window.moved([{ shard: 0, slot: 5, id: END }], 5);
    expect(window.behind(5).map(({ shard }) => shard)).toEqual([1]);
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
    expect(window.place(entry, 5 * SLOT)).toEqual({ slot: 2, stays: true });
    expect(window.place(entry, 9 * SLOT + 9_999)).toEqual({ slot: 2, stays: true });
  });

  test('what is due later leaves, and lies where the cursor will come to it', () => {
    readThrough(9);
    expect(window.place(entryAt(2 * SLOT), 10 * SLOT)).toEqual({ slot: 10, stays: false });
  });

  test('what is due earlier than its row says lies there', () => {
    readThrough(9);
    const entry = entryAt(7 * SLOT);
    expect(window.place(entry, 3 * SLOT)).toEqual({ slot: 3, stays: true });
  });

  test('what is not polled any more lies nowhere', () => {
    expect(window.place(entryAt(0), null)).toEqual({ slot: null, stays: false });
  });

  test('when more is due than fits, makes room and lies ahead of the cursor', () => {
    readThrough(9);
    window.setPressure(true);
    const entry = entryAt(2 * SLOT);
    expect(window.place(entry, 5 * SLOT)).toEqual({ slot: 10, stays: false });
    expect(window.place(entry, 30 * SLOT)).toEqual({ slot: 30, stays: false });
  });

  test('of a shard that is not read at all is its own slot', () => {
    const entry = entryAt(2 * SLOT);
    window.drop([0]);
    expect(window.place(entry, 5 * SLOT)).toEqual({ slot: 5, stays: false });
  });
});

test('more is to be read until every cursor has come through the slot', () => {
  window.moved([{ shard: 0, slot: 4, id: END }], 4);
  expect(window.behind(4).map(({ shard }) => shard)).toEqual([1]);
  expect(window.pressed()).toBe(true);
  window.moved([{ shard: 1, slot: 4, id: 17 }], 4);
  expect(window.behind(4)).toEqual([{ shard: 1, slot: 4, id: 17 }]);
  window.moved([{ shard: 1, slot: 4, id: END }], 4);
  expect([window.behind(4), window.pressed()]).toEqual([[], false]);
});

test('through anything that may happen it holds what a plain list would', () => {
  interface Known {
    revision: number;
    dueAt: number;
    shard: number;
    site: string;
    busy: Entry | null;
    newer: QueuedPurchase | null;
  }
  const id = fc.integer({ min: 0, max: 7 });
  const shardOf = (of: number): number => of % 3;
  const siteOf = (of: number): string => (of % 2 === 0 ? 'even' : 'odd');
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('put' as const), id, revision: fc.nat(2), dueAt: fc.option(fc.nat(100)) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('take' as const), site: fc.constantFrom('even', 'odd'), now: fc.nat(100) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), id, dueAt: fc.option(fc.nat(100)) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('gain' as const, 'drop' as const), shard: fc.nat(2) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const owned = new Set([0, 1]);
      const tested = createWindow({ capacity: 100, epochOf: (shard) => (owned.has(shard) ? 1 : null) });
      tested.gain([0, 1]);
      const model = new Map<number, Known>();
      const under: Entry[] = [];
      const put = (queued: QueuedPurchase): void => {
        const { id: key, revision, shard, site } = queued.purchase;
        const known = model.get(key);
        if (known?.revision === revision) return;
        if (known?.busy) {
          known.newer = queued;
          return;
        }
        model.delete(key);
        if (owned.has(shard) && queued.nextPollAt !== null)
          model.set(key, { revision, dueAt: queued.nextPollAt, shard, site, busy: null, newer: null });
      };
      const idle = (site: string): Known[] => [...model.values()].filter((known) => known.site === site && known.busy === null);
      for (const action of steps) {
        if (action.do === 'put') {
          const queued = row({ ...action, shard: shardOf(action.id), site: siteOf(action.id) });
          tested.put(queued);
          put(queued);
        } else if (action.do === 'take') {
          const entry = tested.take(action.site, action.now);
          const due = idle(action.site).filter(({ dueAt }) => dueAt <= action.now);
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
          // Lost meanwhile, and perhaps read anew: then this answer is nobody's.
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
        } else {
          owned.delete(action.shard);
          tested.drop([action.shard]);
          for (const [key, { shard }] of model) if (shard === action.shard) model.delete(key);
        }
        expect(tested.size).toBe(model.size);
        for (const site of ['even', 'odd']) {
          const dues = idle(site).map(({ dueAt }) => dueAt);
          expect(tested.nextDue(site)).toBe(dues.length === 0 ? null : Math.min(...dues));
        }
      }
    }),
    { numRuns: 1_000 },
  );
});
