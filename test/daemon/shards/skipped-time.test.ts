/** What replicas know together of the time that the database's clock skipped. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSkippedTime, type SkippedTimeKeeper } from '../../../src/daemon/shards/skipped-time.ts';
import type { SkippedTime } from '../../../src/domain/values/clock-steps.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { realClock } from '../../../src/runtime/clock.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const HOUR = 3_600_000;
let database: TestDatabase;
/** The database's clock as every replica knows it, and for how long machines were suspended. */
let now: number;
let suspended: number;
beforeEach(async () => {
  database = await testDatabase();
  now = 1_900_000_000_000;
  suspended = 0;
});
afterEach(() => database.drop());

const replica = (): SkippedTimeKeeper =>
  createSkippedTime({ sql: database.sql, clock: { ...realClock(), now: () => now, suspended: () => suspended } });
const noted = async () => (await renewReplica(database.sql, { id: 'r', process: 'p', ttl: 60_000 })).skipped;
/** Each of them reads what was noted before any of them notes, and then notes. */
async function see(step: number, ...replicas: SkippedTimeKeeper[]): Promise<void> {
  const before = await noted();
  for (const each of replicas) each.read(step, before);
  await Promise.all(replicas.map((each) => each.note()));
}
const hours = (skipped: SkippedTime): number => skipped.reduce((sum, { from, until }) => sum + until - from, 0) / HOUR;
/** Whole hours: of a step that replicas see at different moments, the seconds in between count, too. */
const known = (...replicas: SkippedTimeKeeper[]): number[] => replicas.map((each) => Math.floor(hours(each.skipped())));

test('is noted once, whoever sees it and when, and a replica that starts knows it', async () => {
  const [a, b, c] = [replica(), replica(), replica()];
  await see(0, a, b, c);
  now += 5 * HOUR;
  // a and b see the step at once, c later and measures a little more.
  await see(5 * HOUR, a, b);
  await see(0, a, b);
  now += 2_000;
  await see(5 * HOUR + 9_000, c);
  await see(0, a, b, c);
  expect([known(a, b, c), (await noted()).length]).toEqual([[5, 5, 5], 1]);
  const late = replica();
  await see(0, late);
  expect(known(late)).toEqual([5]);

  // What is new from here on belongs to the replica that sees it.
  now += 3 * HOUR;
  await see(2 * HOUR, late);
  await see(0, a, b, late);
  expect([known(a, b, late), (await noted()).length]).toEqual([[7, 7, 7], 2]);
});

test('counts from the moment on that it is seen, also while it cannot be noted', async () => {
  const a = replica();
  await see(0, a);
  now += 5 * HOUR;
  a.read(5 * HOUR, await noted());
  expect(known(a)).toEqual([5]);
  await database.sql`alter table purchase_watch_internal.database_clock add constraint refused check (skipped = '{}')`;
  await expect(a.note()).rejects.toThrow('refused');
  a.read(0, await noted());
  expect(known(a)).toEqual([5]);
  await database.sql`alter table purchase_watch_internal.database_clock drop constraint refused`;
  await a.note();
  expect(known(a)).toEqual([5]);
  const b = replica();
  await see(0, b);
  expect(known(b)).toEqual([5]);
});

test('is none while no daemon runs, nor while a machine is suspended: that time passed', async () => {
  const a = replica();
  await see(0, a);
  now += 8 * HOUR;
  suspended += 8 * HOUR;
  await see(8 * HOUR, a);
  // Its clock stepped, too, by an hour.
  now += 3 * HOUR;
  suspended += 2 * HOUR;
  await see(3 * HOUR, a);
  expect(known(a)).toEqual([1]);
  now += 100 * HOUR;
  const b = replica();
  await see(0, b);
  expect([known(b), (await noted()).length]).toEqual([[1], 1]);
});

test('is not noted later when the clock was set back before it could be noted', async () => {
  const a = replica();
  await see(0, a);
  now += 5 * HOUR;
  a.read(5 * HOUR, await noted());
  now -= 5 * HOUR;
  await see(-5 * HOUR, a);
  expect([known(a), await noted()]).toEqual([[0], []]);
});

test('is none before the first reading, nor once another database answers, and then what that one has noted', () => {
  const a = replica();
  expect(a.skipped()).toEqual([]);
  const before: SkippedTime = [{ from: 1, until: 2 }];
  a.read(5 * HOUR, before);
  expect(a.skipped()).toEqual([...before, { from: now - 5 * HOUR, until: now }]);
  a.forget();
  expect(a.skipped()).toEqual([]);
});

test('is what the clock stepped by, from ten seconds on, without the time for which the machine was suspended', () => {
  const { suspended: _, ...clock } = { ...realClock(), now: () => now };
  const awake = createSkippedTime({ sql: database.sql, clock });
  awake.read(9_999, []);
  expect(awake.skipped()).toEqual([]);
  awake.read(10_000, []);
  expect(awake.skipped()).toEqual([{ from: now - 10_000, until: now }]);
  const a = replica();
  suspended += HOUR;
  a.read(HOUR, []);
  expect(a.skipped()).toEqual([]);
});

test('stays when the clock is set back to a moment after it was seen', () => {
  const a = replica();
  a.read(5 * HOUR, []);
  now += HOUR;
  a.read(-HOUR / 2, []);
  expect(known(a)).toEqual([5]);
});
