import { afterEach, beforeEach, expect, test } from 'vitest';
import { bringPollsForward } from '../../../src/postgres/polling/bring-polls-forward.ts';
import {
  endFailuresWithoutPurchases,
  listSites,
  reportSite,
  type SiteReport,
  syncSites,
} from '../../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 20, 9, 15);

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  await database.sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at) select unnest(array['a', 'b']), 'test', now() + interval '1 hour'`;
});
afterEach(() => database.drop());

const nothing = { lastReadAt: null, lastReadWellAt: null, lastSuccessAt: null, firstSeenAt: null };
const report = (replica: string, at: number, rest: Pick<SiteReport, 'verdict'> & Partial<SiteReport>) =>
  reportSite(database.sql, { site: 'se', replica, at, failing: null, ...nothing, ...rest });
const reads = (replica: string, at: number) =>
  report(replica, at, { verdict: 'reads', lastReadAt: at, lastReadWellAt: at, firstSeenAt: at });
const fails = (replica: string, at: number, reason: 'unreachable' | 'unknown' = 'unreachable') =>
  report(replica, at, { verdict: 'fails', failing: { since: START, reason, error: 'It is down.' } });
const se = async () => (await listSites(database.sql))[0]!;

test('a site fails for all only when no other replica has read a purchase lately', async () => {
  await reads('b', START + MINUTE);
  expect(await fails('a', START + 2 * MINUTE)).toEqual({ isKnown: true, failing: null });
  expect(await fails('a', START + 3 * MINUTE)).toEqual({ isKnown: true, failing: { since: START, reason: 'unreachable' } });
  expect(await reads('b', START + 4 * MINUTE)).toEqual({ isKnown: true, failing: null });
  expect(await se()).toMatchObject({ failingSince: null, failingReason: 'unreachable', lastReadAt: START + 4 * MINUTE });
  const rows =
    await database.sql`select replica, failing_since is not null as failing, reason from purchase_watch_internal.site_reach order by replica`;
  expect(rows).toEqual([
    { replica: 'a', failing: true, reason: 'unreachable' },
    { replica: 'b', failing: false, reason: null },
  ]);
});

test('an unknown id ends an outage, and not a time in which all ids are unknown; an unclear answer ends nothing', async () => {
  await fails('a', START);
  expect((await report('b', START + 1, { verdict: 'unclear' }))?.failing).not.toBeNull();
  expect((await report('b', START + 2, { verdict: 'answers' }))?.failing).toBeNull();
  await fails('a', START + 3, 'unknown');
  expect((await report('b', START + 4, { verdict: 'answers' }))?.failing).toMatchObject({ reason: 'unknown' });
  expect((await reads('b', START + 5))?.failing).toBeNull();
});

test('a replica without a row reports nothing, and the reach of one that is gone goes with it', async () => {
  await fails('a', START);
  await database.sql`delete from purchase_watch_internal.replicas where id = 'a'`;
  expect(await database.sql`select from purchase_watch_internal.site_reach`).toHaveLength(0);
  expect(await reads('a', START + 1)).toBeNull();
  expect((await se()).failingSince).toBe(START);
});

test('a failure ends for all replicas when no purchase is left to ask about, and not before', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch.purchases (purchase_id) values ('p1'), ('p2')`;
  await fails('a', START + MINUTE);
  const failingRows = () => sql`select from purchase_watch_internal.site_reach where failing_since is not null`;
  await sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null where purchase_id = 'p1'`;
  await endFailuresWithoutPurchases(sql);
  expect([(await se()).failingSince, (await failingRows()).length]).toEqual([START, 1]);
  // The replica that found it is gone, so that nobody else would end it.
  await sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null`;
  await endFailuresWithoutPurchases(sql);
  expect(await se()).toMatchObject({ failingSince: null, failingReason: 'unreachable' });
  expect(await failingRows()).toHaveLength(0);
});

test('of purchases that failed, those since the site was blind are polled at once, and no others', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch.purchases (purchase_id, registered_at)
    select 'p' || n, to_timestamp(${START}::float8 / 1000) from generate_series(1, 5000) n`;
  // 4 000 failed while the site was blind, 500 before; 500 are well. All are due in ten hours.
  await sql`
    update purchase_watch.purchases set failures = case when id <= 4500 then 9 else 0 end,
      last_polled_at = to_timestamp(${START}::float8 / 1000) + case when id <= 4000 then interval '2 hours' else interval '-2 hours' end,
      next_poll_at = to_timestamp(${START}::float8 / 1000) + interval '10 hours',
      due_slot = purchase_watch_internal.due_slot(to_timestamp(${START}::float8 / 1000) + interval '10 hours')`;
  await sql`delete from purchase_watch_internal.nudges`;
  const now = START + 180 * MINUTE;
  expect(await bringPollsForward(sql, { site: 'se', since: START, now })).toBe(4000);
  const [due] = await sql`
    select count(*)::integer as n, max(id)::float8 as last, (select count(distinct purchase)::integer from purchase_watch_internal.nudges) as nudged
    from purchase_watch.purchases where next_poll_reason = 'site_readable' and next_poll_at <= to_timestamp(${now}::float8 / 1000) and due_slot = purchase_watch_internal.due_slot(next_poll_at)`;
  expect(due).toEqual({ n: 4000, last: 4000, nudged: 4000 });
  expect(await bringPollsForward(sql, { site: 'se', since: START, now })).toBe(0);
});
