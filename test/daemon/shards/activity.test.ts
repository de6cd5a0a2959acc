import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createActivity } from '../../../src/daemon/shards/activity.ts';
import { addActivity, deliveredMinutes, polledMinutes, recentActivity } from '../../../src/postgres/shards/activity.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.sql`insert into purchase_watch_internal.sites (name) values ('default'), ('se')`;
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch_internal.activity, purchase_watch_internal.delivery_activity`);

const sums = async () =>
  (await recentActivity(database.sql, 5)).map(({ site, polls, failedPolls, changes }) => [site, polls, failedPolls, changes]);

test('adds what was done since the last time, of both replicas, and writes nothing when nothing was', async () => {
  const meters = createMeters();
  const one = createActivity({ sql: database.sql, meters });
  meters.site('default');
  expect([await one.tick(), await sums()]).toEqual([10_000, []]);
  meters.site('default').polled('seen', 1);
  meters.site('default').polled('unreachable', 1);
  meters.site('default').changes += 1;
  meters.site('se').polled('same', 1);
  await one.tick();
  const both = [
    ['default', 2, 1, 1],
    ['se', 1, 0, 0],
  ];
  expect(await sums()).toEqual(both);
  await one.tick();
  expect(await sums()).toEqual(both);

  const others = createMeters();
  others.site('se').polled('unknown', 1);
  await createActivity({ sql: database.sql, meters: others }).tick();
  meters.site('default').polled('same', 1);
  await one.tick();
  expect(await sums()).toEqual([
    ['default', 3, 1, 1],
    ['se', 2, 1, 0],
  ]);
});

test('what could not be written is written with the next', async () => {
  const meters = createMeters();
  const { sql } = database;
  const activity = createActivity({ sql, meters });
  meters.site('default').polled('seen', 1);
  await sql`alter table purchase_watch_internal.activity rename to away`;
  await expect(activity.tick()).rejects.toThrow();
  await sql`alter table purchase_watch_internal.away rename to activity`;
  meters.site('default').polled('seen', 1);
  await activity.tick();
  expect(await sums()).toEqual([['default', 2, 0, 0]]);
});

const ALWAYS = { first: 0, last: Date.UTC(2100, 0, 1) };
const lag = async () =>
  (await polledMinutes(database.sql, ALWAYS, null)).reduce((most, row) => Math.max(most, row.greatestLag), 0);
const deliveries = async (subscriber: string | null = null) => {
  const rows = await deliveredMinutes(database.sql, ALWAYS, subscriber);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return [sum(rows.map(({ delivered }) => delivered)), sum(rows.map(({ failedAttempts }) => failedAttempts))];
};

test('the greatest lag is that of the latest poll of any replica, of each minute by itself', async () => {
  const { sql } = database;
  const [mine, others] = [createMeters(), createMeters()];
  const ticks = [mine, others].map((meters) => createActivity({ sql, meters }).tick);
  for (const [meters, lags] of [
    [mine, [900, 4_000.6, -5]],
    [others, [2_500, -5]],
  ] as const) {
    for (const each of lags) meters.site('default').began(each);
    meters.site('default').polled('seen', 1);
  }
  for (const tick of ticks) await tick();
  expect(await lag()).toBe(4_001);
  await sql`update purchase_watch_internal.activity set minute = minute - interval '1 minute', greatest_lag_ms = 1`;
  mine.site('default').began(-1);
  mine.site('default').polled('seen', 1);
  await ticks[0]!();
  expect(await lag()).toBe(1);
});

test('a lag that could not be written is written with the next', async () => {
  const { sql } = database;
  const meters = createMeters();
  const { tick } = createActivity({ sql, meters });
  meters.site('default').began(3_000);
  meters.site('default').polled('seen', 1);
  await sql`alter table purchase_watch_internal.activity rename to away`;
  await expect(tick()).rejects.toThrow();
  await sql`alter table purchase_watch_internal.away rename to activity`;
  await tick();
  expect(await lag()).toBe(3_000);
});

test('attempts are added up by subscriber, also of one that is deleted and added again', async () => {
  const meters = createMeters();
  const { tick } = createActivity({ sql: database.sql, meters });
  meters.subscriber('shop').attempted('delivered', 5);
  meters.subscriber('shop').attempted('delivered', 5);
  for (const outcome of ['failed', 'exhausted', 'gone'] as const) meters.subscriber('@slack').attempted(outcome, 5);
  await tick();
  await tick();
  expect([await deliveries(), await deliveries('shop'), await deliveries('@slack')]).toEqual([
    [2, 3],
    [2, 0],
    [0, 3],
  ]);
  meters.forgetSubscriber('shop');
  meters.subscriber('shop').attempted('delivered', 5);
  await tick();
  expect(await deliveries('shop')).toEqual([3, 0]);
});

test('rates are of the minutes asked for', async () => {
  const { sql } = database;
  await addActivity(sql, [{ site: 'default', polls: 10, failedPolls: 2, changes: 1, greatestLag: 0 }]);
  await sql`update purchase_watch_internal.activity set minute = minute - interval '20 minutes'`;
  await addActivity(sql, [{ site: 'default', polls: 5, failedPolls: 0, changes: 0, greatestLag: 0 }]);
  expect(await recentActivity(sql, 5)).toMatchObject([{ polls: 5 }]);
  const [hour] = await recentActivity(sql, 60);
  expect(hour).toMatchObject({ polls: 15, failedPolls: 2, changes: 1 });
  expect(hour!.minutes).toBeGreaterThanOrEqual(60);
  expect(hour!.minutes).toBeLessThan(61);
});
