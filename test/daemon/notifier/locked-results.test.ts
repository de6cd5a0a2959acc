/** Which results wait for locked rows; that Postgres says so is tested in settling.test.ts and in stories/locked-rows. */
import { expect, test } from 'vitest';
import { settlementOf } from '../../../src/daemon/notifier/delivery-results.ts';
import { type AttemptResult, createRestingResults, settleUnlocked } from '../../../src/daemon/notifier/locked-results.ts';
import type { Subscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { monotonic } from '../../../src/runtime/time.ts';
import { aDelivery, aLog, aSubscriber, NOW } from './parts.ts';

const TIMEOUT = Object.assign(new Error('lock timeout'), { code: '55P03' });
const SHOP = aSubscriber();
const BOOKS = aSubscriber({ id: 2, name: 'books' });

function resultOf(id: number, differs: Partial<AttemptResult> & { readonly of?: Subscriber } = {}): AttemptResult {
  const { of = SHOP, ...rest } = differs;
  return { subscriber: of, delivery: aDelivery(id), settlement: settled(id), along: [], epoch: 3, off: null, ...rest };
}
function settled(id: number) {
  const result = { kind: 'delivered', tookMs: 9, excerpt: '', httpStatus: 200 } as const;
  return settlementOf({ recipient: SHOP.recipient, health: { own: { since: null } } }, aDelivery(id), result, {
    ...{ now: NOW, spread: 0, isReplaced: false },
  });
}

/** A database in which these deliveries, or rows of these subscribers, are locked. Its first statements fail as `failures` say. */
function database({ locked = [] as number[], busy = [] as Subscriber[], failures = [] as unknown[] } = {}) {
  /** Ids that were asked about. */
  const asked: number[][] = [];
  /** Ids of each statement that tried to write. */
  const tried: number[][] = [];
  const sql = (strings: readonly string[], ...values: unknown[]) => {
    if (!strings.join('').includes('unlocked as')) return values;
    asked.push(
      String((values[0] as unknown[])[0])
        .slice(1, -1)
        .split(',')
        .map(Number),
    );
    return Promise.resolve(locked.map((id) => ({ id })));
  };
  const settle = async (results: readonly AttemptResult[]): Promise<ReadonlySet<number>> => {
    tried.push(results.map(({ delivery }) => delivery.id));
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const ids = results.flatMap(({ delivery, along }) => [delivery.id, ...along.map((each) => each.delivery.id)]);
    if (ids.some((id) => locked.includes(id)) || results.some(({ subscriber }) => busy.includes(subscriber))) throw TIMEOUT;
    return new Set(ids);
  };
  return {
    ...{ asked, tried },
    write: async (...results: AttemptResult[]) => {
      const { written, locked: left } = await settleUnlocked(results, { sql: sql as unknown as Sql, settle });
      return { written: [...written], locked: left.map(({ delivery }) => delivery.id), left };
    },
  };
}

test('where nothing is locked, results are written by one statement, and no row is asked about', async () => {
  const { write, asked, tried } = database();
  expect(await write(resultOf(1), resultOf(2))).toMatchObject({ written: [1, 2], locked: [] });
  expect([asked, tried]).toEqual([[], [[1, 2]]]);
});

test('after a statement that waited too long for a lock, those of locked rows are left out, and the others written', async () => {
  const { write, asked, tried } = database({ locked: [2, 5] });
  const before = monotonic();
  const { written, locked, left } = await write(resultOf(1), resultOf(2), resultOf(3, { along: [settled(5)] }));
  expect([written, locked]).toEqual([[1], [2, 3]]);
  // What left in one message is written together or not at all.
  expect([asked, tried]).toEqual([[[1, 2, 3, 5]], [[1, 2, 3], [1]]]);
  for (const { lockedSince } of left) expect(lockedSince).toBeGreaterThanOrEqual(before);
});

test('where all are locked, nothing more is tried', async () => {
  const { write, tried } = database({ locked: [1, 2] });
  expect(await write(resultOf(1), resultOf(2))).toMatchObject({ written: [], locked: [1, 2] });
  expect(tried).toHaveLength(1);
});

test('rows that were known to be locked are asked about first, and they alone', async () => {
  const { write, asked, tried } = database({ locked: [2] });
  const { written, locked, left } = await write(resultOf(1), resultOf(2, { lockedSince: 50 }), resultOf(3, { lockedSince: 60 }));
  expect([written, locked, left[0]!.lockedSince]).toEqual([[1, 3], [2], 50]);
  expect([asked, tried]).toEqual([[[2, 3]], [[1, 3]]]);
});

test('results whose rows are free again are written by one statement', async () => {
  const { write, tried } = database();
  const { written, left } = await write(resultOf(1, { lockedSince: 50 }), resultOf(2, { of: BOOKS }));
  expect([written, left, tried]).toEqual([[1, 2], [], [[1, 2]]]);
});

test('a row that is locked between the question and the statement is asked about again, twice at most', async () => {
  const locked = [1];
  const again = database({ locked, failures: [TIMEOUT, TIMEOUT] });
  expect(await again.write(resultOf(1), resultOf(2))).toMatchObject({ written: [2], locked: [1] });
  expect(again.tried).toEqual([[1, 2], [2], [2]]);
  const without = database({ locked, failures: [TIMEOUT, TIMEOUT, TIMEOUT] });
  await expect(without.write(resultOf(1), resultOf(2))).rejects.toBe(TIMEOUT);
});

test('another failure is none of locks', async () => {
  const broken = new Error('the connection broke');
  const { write, asked } = database({ failures: [broken] });
  await expect(write(resultOf(1))).rejects.toBe(broken);
  expect(asked).toEqual([]);
});

test('where rows of a subscriber are locked, the results of the others are written', async () => {
  const { write, tried } = database({ busy: [BOOKS] });
  const { written, locked, left } = await write(resultOf(1), resultOf(2, { of: BOOKS }), resultOf(3), resultOf(4, { of: BOOKS }));
  expect([written, locked, left.every(({ lockedSince }) => lockedSince !== undefined)]).toEqual([[1, 3], [2, 4], true]);
  expect(tried).toEqual([
    [1, 2, 3, 4],
    [1, 3],
    [2, 4],
  ]);
});

test.each([
  ['of the only subscriber', [SHOP], [resultOf(1), resultOf(2)], 1],
  ['of every subscriber', [SHOP, BOOKS], [resultOf(1), resultOf(2, { of: BOOKS })], 3],
])('where rows %s are locked, nothing can be written, and that is the failure', async (_, busy, results, tries) => {
  const { write, tried } = database({ busy });
  await expect(write(...results)).rejects.toBe(TIMEOUT);
  expect(tried).toHaveLength(tries);
});

test('a failure of another kind while subscribers are tried apart is a failure', async () => {
  const broken = new Error('the connection broke');
  const { write } = database({ failures: [TIMEOUT, broken] });
  await expect(write(resultOf(1), resultOf(2, { of: BOOKS }))).rejects.toBe(broken);
});

/** Results that rest until the test lets them go. */
function resting() {
  const { log, logged } = aLog();
  const rests: number[] = [];
  const ends: (() => void)[] = [];
  const rested: number[] = [];
  const clock = {
    sleep: (rest: number) => {
      rests.push(rest);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
  } as never;
  const stopped = new AbortController().signal;
  const all = createRestingResults({ clock, log, stopped }, ({ delivery }) => rested.push(delivery.id));
  return { ...all, logged, rests, ends, rested };
}

test('results rest for as long as their rows have been locked, from one second to fifteen', () => {
  const { add, rests, logged, count } = resting();
  const now = monotonic();
  add([resultOf(1)]);
  add([resultOf(1, { lockedSince: now - 500 })]);
  add([resultOf(1, { lockedSince: now - 4_000 }), resultOf(2, { lockedSince: now - 8_000 })]);
  add([resultOf(1, { lockedSince: now - 60_000 })]);
  expect(rests.map((rest) => Math.floor(rest / 1_000))).toEqual([1, 1, 8, 15]);
  expect([rests[0], rests[1], rests[3], count()]).toEqual([1_000, 1_000, 15_000, 5]);
  expect(logged[2]).toMatchObject({
    ...{ level: 'warn', event: 'delivery.row_locked', deliveries: 2, retryInMs: Math.round(rests[2]!) },
    advice: expect.stringContaining('pg_stat_activity'),
  });
});

test('nothing rests where nothing is locked', () => {
  const { add, rests, logged, count } = resting();
  add([]);
  expect([rests, logged, count()]).toEqual([[], [], 0]);
});

test('results that have rested are tried again one by one, and a daemon that stops waits for all', async () => {
  const { add, ends, rested, count, over } = resting();
  add([resultOf(1), resultOf(2)]);
  add([resultOf(3)]);
  let isOver = false;
  const all = over().then(() => {
    isOver = true;
  });
  ends[1]!();
  await new Promise((resolve) => setImmediate(resolve));
  expect([rested, count(), isOver]).toEqual([[3], 2, false]);
  ends[0]!();
  await all;
  expect([rested, count()]).toEqual([[3, 1, 2], 0]);
});
