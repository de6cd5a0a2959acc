import { afterEach, beforeEach, expect, test } from 'vitest';
import { addActivity, addDeliveryActivity } from '../../../src/postgres/shards/activity.ts';
import { usualDelivered, usualPolled } from '../../../src/postgres/shards/usual-activity.ts';
import { onDatabase } from '../../cli/command.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ sites: ['default', 'se'] });
});
afterEach(() => api.stop());

const activity = async (query = '') => {
  const { status, body } = await api.call('GET', `/v1/activity${query}`);
  expect(status).toBe(200);
  return body;
};
const back = (minutes: number) => api.sql`
  with polls as (update purchase_watch_internal.activity set minute = minute - ${minutes} * interval '1 minute')
  update purchase_watch_internal.delivery_activity set minute = minute - ${minutes} * interval '1 minute'`;
const IDLE = { polls: 0, failedPolls: 0, changes: 0, greatestLagMs: null, delivered: 0, failedAttempts: 0 };
// biome-ignore lint/suspicious/noExplicitAny: bodies as they came
const busy = (body: any) => body.minutes.filter((minute: any) => minute.polls > 0 || minute.delivered > 0);

test('of nothing is each minute with zeros, the oldest first', async () => {
  const { minutes, site, subscriber } = await activity();
  expect([minutes.length, site, subscriber]).toEqual([60, null, null]);
  expect(minutes[0]).toEqual({ at: expect.stringMatching(/:00\.000Z$/), ...IDLE });
  expect(Date.parse(minutes[59].at) - Date.parse(minutes[0].at)).toBe(59 * 60_000);
});

test('is added up over sites and subscribers, or of one of each', async () => {
  const { sql } = api;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x'), ('books', 'webhook', 'systems', 'y')`;
  const work = { polls: 10, failedPolls: 2, changes: 1, greatestLag: 1_500 };
  // In one transaction, and so in one minute.
  await sql.begin(async (tx) => {
    await addActivity(tx, [
      { site: 'default', ...work },
      { site: 'se', ...work, greatestLag: 700 },
    ]);
    await addDeliveryActivity(tx, [
      { subscriber: 'shop', delivered: 7, failedAttempts: 1 },
      { subscriber: 'books', delivered: 0, failedAttempts: 4 },
    ]);
  });
  await back(3);
  const all = { polls: 20, failedPolls: 4, changes: 2, greatestLagMs: 1_500, delivered: 7, failedAttempts: 5 };
  expect(busy(await activity('?minutes=5'))).toMatchObject([all]);
  expect(busy(await activity('?site=se&subscriber=shop'))).toMatchObject([
    { polls: 10, failedPolls: 2, changes: 1, greatestLagMs: 700, delivered: 7, failedAttempts: 1 },
  ]);
  expect(busy(await activity('?minutes=2'))).toEqual([]);
  const command = (...argv: string[]) => onDatabase({ url: api.databaseUrl }, ['activity', ...argv]);
  expect(busy(JSON.parse((await command('--minutes', '5', '--json')).stdout))).toMatchObject([all]);
  const { exitCode, stdout } = await command('--site', 'se', '--subscriber', 'shop');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^The last 60 minutes up to .* UTC, site se, subscriber shop$/m);
  expect(stdout).toMatch(/^\d\d:\d\d +10 +2 +1 +700 ms +7 +1$/m);
  expect(stdout).toContain('Nothing was polled or delivered in 59 other minutes.');
  expect((await command('--minutes', '1')).stdout).toContain('Nothing was polled or delivered.');
  expect(await command('--site', 'see')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('did you mean se?') });
  expect(await command('--subscriber', 'shopp')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('shopp') });
  expect(await command('--minutes', '1441')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('from 1 to 1440') });
  await back(-5);
  expect(busy(await activity('?minutes=1440')), 'minutes ahead of the clock').toEqual([]);
});

test('what is asked for in vain is refused with what there is', async () => {
  for (const [query, code, detail] of [
    ['?minutes=1441', 'invalid_request', 'minutes: must be a whole number from 1 to 1440'],
    ['?minutes=0', 'invalid_request', 'from 1 to 1440'],
    ['?site=sweden', 'unknown_site', 'se, default'],
    ['?subscriber=shop', 'invalid_request', 'there are none'],
  ] as const) {
    const { status, body } = await api.call('GET', `/v1/activity${query}`);
    expect([status, body.code, JSON.stringify(body).includes(detail)], JSON.stringify(body)).toEqual([400, code, true]);
  }
});

test('says what is usual at this time of day once three days before are kept', async () => {
  const none = { polls: null, failedPolls: null, greatestLagMs: null, delivered: null };
  await api.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('books', 'webhook', 'systems', 'y')`;
  // Each day's hour up to now had 120 polls of each of two sites in its busiest minutes; the hours beside it had far more.
  const days = (count: number) =>
    api.sql.begin(async (tx) => {
      await tx`delete from purchase_watch_internal.activity`;
      await tx`delete from purchase_watch_internal.delivery_activity`;
      await tx`
      insert into purchase_watch_internal.activity (site, minute, polls, failed_polls, greatest_lag_ms)
      select site, date_trunc('minute', now()) - day * interval '24 hours' - back * interval '1 minute',
        case when back between 1 and 60 then 60 else 9000 end, 6, case site when 'se' then 300 else 200 end
      from unnest(array['default', 'se']) site, generate_series(1, ${count}::integer) day, unnest(array[-5, 0, 10, 60, 61, 100]) back`;
      await tx`
      insert into purchase_watch_internal.delivery_activity (subscriber, minute, delivered)
      select 'shop', date_trunc('minute', now()) - day * interval '24 hours' - back * interval '1 minute', 30
      from generate_series(1, ${count}::integer) day, unnest(array[10, 20, 60, 61]) back`;
    });
  await days(2);
  expect((await activity()).usual).toEqual(none);
  await days(4);
  expect((await activity()).usual).toEqual({ polls: 4, failedPolls: 0.4, greatestLagMs: 300, delivered: 1.5 });
  expect((await activity('?site=default&subscriber=books')).usual).toEqual({
    polls: 2,
    failedPolls: 0.2,
    greatestLagMs: 200,
    delivered: 0,
  });
  expect((await activity('?site=default&minutes=1440')).usual.polls).toBe(2);
});

test('reads of weeks of minutes those of this hour alone', async () => {
  await api.sql`
    insert into purchase_watch_internal.activity (site, minute, polls)
    select site, date_trunc('minute', now()) - n * interval '1 minute', 1 from unnest(array['default', 'se']) site, generate_series(1, 15 * 1440) n`;
  await api.sql`
    insert into purchase_watch_internal.delivery_activity (subscriber, minute, delivered)
    select 'shop', date_trunc('minute', now()) - n * interval '1 minute', 1 from generate_series(1, 15 * 1440) n`;
  await api.sql`analyze purchase_watch_internal.activity, purchase_watch_internal.delivery_activity`;
  const last = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
  const range = { first: last - 59 * 60_000, last };
  const polled = await rowsRead(api.sql, 'activity', (tx) => usualPolled(tx, range, null));
  expect(polled.scanned).toBe(0);
  expect(polled.fetched).toBeLessThan(14 * 60 * 2 + 10);
  const delivered = await rowsRead(api.sql, 'delivery_activity', (tx) => usualDelivered(tx, range, null));
  expect(delivered.scanned).toBe(0);
  expect(delivered.fetched).toBeLessThan(14 * 60 + 10);
});
