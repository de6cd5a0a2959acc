import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Queries, Sql } from '../../../src/postgres/connection/database.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import {
  incidentsSince,
  lostSince,
  MOST_COUNTED,
  paceSince,
  staysSince,
  stuckNow,
  troubleSince,
} from '../../../src/postgres/incidents/digest.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';

import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-20T07:00:00Z');
const SITES = [
  { site: 'no', since: NOW - DAY },
  { site: 'se', since: NOW - DAY },
];

let database: TestDatabase;
/** As the judge has it: with plans that never depend on the moment. */
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = connect(database.url, { steadyPlans: true });
  await syncSites(sql, ['no', 'se', 'dk']);
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});
beforeEach(async () => {
  await sql`truncate purchase_watch_internal.events, purchase_watch_internal.subscribers, purchase_watch_internal.incidents, purchase_watch.purchases,
    purchase_watch_internal.stay_days, purchase_watch_internal.dwell_days restart identity cascade`;
});

const at = (moment: number | null, by: Queries = sql) => by`to_timestamp(${moment}::float8 / 1000)`;

describe('incidents', () => {
  interface Given {
    readonly site?: string | null;
    readonly state?: number | null;
    readonly kind?: string;
    readonly opened?: number;
    readonly ended?: number | null;
    readonly said?: boolean;
    readonly parent?: string;
  }

  async function incident(id: string, given: Given = {}): Promise<void> {
    const { site = 'se', state = 6, kind = 'stuck', opened = NOW - 2 * HOUR, ended = null, said = true, parent = null } = given;
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, alerted_at, parent)
      values (${id}, ${kind}, ${site}, ${state}, ${at(opened)}, ${at(opened)}, ${at(ended)}, 3, 9, ${at(said ? opened : null)}, ${parent})`;
  }
  const found = async () => (await incidentsSince(sql, SITES, NOW)).map(({ id }) => id);

  test('are those that were open since, and that people heard of', async () => {
    await incident('open', { opened: NOW - 9 * DAY });
    await incident('began', { state: 4 });
    await incident('ended', { ended: NOW - HOUR });
    await incident('ended_before', { ended: NOW - DAY });
    await incident('unheard', { state: 1, said: false });
    await incident('elsewhere', { site: 'dk' });
    await incident('down', { kind: 'unreachable', state: null, opened: NOW - HOUR });
    expect(await found()).toEqual(['open', 'began', 'ended', 'down']);
  });

  test('hold how it went, and who looked after it', async () => {
    await incident('inc_1', { ended: NOW - HOUR });
    await sql`update purchase_watch_internal.incidents set acknowledged_at = now(), acknowledged_by = 'Kim', answer_cause = 'deploy', answered_by = 'Kim', answered_at = now()`;
    expect(await incidentsSince(sql, SITES, NOW)).toEqual([
      {
        ...{
          site: 'se',
          id: 'inc_1',
          kind: 'stuck',
          states: [6],
          partOf: null,
          count: 3,
          peak: 9,
          owner: 'Kim',
          cause: 'deploy',
        },
        ...{ openedAt: NOW - 2 * HOUR, endedAt: NOW - HOUR },
      },
    ]);
  });

  test('of several states are one with all its states, those of several sites one at each, told by the one above', async () => {
    await incident('all', { site: null, state: null });
    await incident('se', { state: null, said: false, parent: 'all' });
    await incident('se_4', { state: 4, said: false, parent: 'se' });
    await incident('se_6', { said: false, parent: 'se' });
    await incident('no_6', { site: 'no', said: false, parent: 'all' });
    expect((await incidentsSince(sql, SITES, NOW)).map(({ id, site, states, partOf }) => [id, site, states, partOf])).toEqual([
      ['no_6', 'no', [6], 'all'],
      ['se', 'se', [4, 6], 'all'],
    ]);
  });

  test('of long ago are not gone through', async () => {
    await sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, ended_at, count, peak, alerted_at)
      select 'inc_' || n, 'stuck', 'se', 6, ${at(NOW - 9 * DAY)}, ${at(NOW - 9 * DAY)}, ${at(NOW - 8 * DAY)}, 1, 1, now() from generate_series(1, 2000) n`;
    await incident('inc_0');
    const read = await rowsRead(sql, 'incidents', (tx) => incidentsSince(tx, SITES, NOW));
    expect(read.scanned).toBe(0);
    expect(read.fetched).toBeLessThan(10);
  });
});

test('who is stuck now is counted without reading them, but for the oldest', async () => {
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, state, state_since, stuck_since)
    select 'p-' || n, case when n <= 2 then 'no' else 'se' end, case when n % 2 = 0 then 4 else 6 end,
      ${at(NOW)} - n * interval '1 minute', ${at(NOW)} from generate_series(1, 400) n`;
  await sql`insert into purchase_watch.purchases (purchase_id, site, state, state_since) values ('well', 'se', 1, now())`;
  const read = await rowsRead(sql, 'purchases', async (tx) => {
    expect(await stuckNow(tx, ['no', 'se'])).toEqual([
      { site: 'no', state: 4, count: 1, since: NOW - 2 * 60_000 },
      { site: 'no', state: 6, count: 1, since: NOW - 60_000 },
      { site: 'se', state: 4, count: 199, since: NOW - 400 * 60_000 },
      { site: 'se', state: 6, count: 199, since: NOW - 399 * 60_000 },
    ]);
  });
  expect(read).toEqual({ scanned: 0, fetched: 4 });
});

describe('stays', () => {
  const stays = (daysAgo: number, well: number, overdue: number, { calm = true, other = 0 } = {}) =>
    sql`
      insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue, other)
      values ('se', 6, (${at(NOW)} at time zone 'UTC')::date - ${daysAgo}::integer, ${calm}, ${well}, ${overdue}, ${other})`;

  test('are those of the days that ended, beside what was usual on calm days of two weeks before', async () => {
    await stays(0, 7, 7);
    await stays(1, 40, 5, { other: 2 });
    await stays(1, 0, 9, { calm: false });
    await stays(2, 97, 3);
    await stays(2, 0, 50, { calm: false });
    await stays(15, 96, 4);
    await stays(16, 0, 1_000);
    expect(await staysSince(sql, SITES, NOW)).toEqual([
      { site: 'se', state: 6, well: 40, overdue: 14, other: 2, usualShare: 0.035 },
    ]);
    // Since the last one no day has ended.
    expect(await staysSince(sql, [{ site: 'se', since: NOW - HOUR }], NOW)).toEqual([]);
  });

  test('have nothing usual beside them where too few were calm', async () => {
    await stays(1, 40, 5);
    await stays(2, 96, 3);
    expect(await staysSince(sql, SITES, NOW)).toMatchObject([{ well: 40, usualShare: null }]);
  });

  test('took so long, on those days and before', async () => {
    await sql`
      insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
      select 'se', 6, (${at(NOW)} at time zone 'UTC')::date - n, 20 - least(n, 2), 10, 10 * n from unnest(array[0, 1, 2, 3, 16]) n`;
    expect(await paceSince(sql, SITES, NOW)).toEqual([
      { site: 'se', state: 6, usual: true, bucket: 18, shortest: 20, longest: 50 },
      { site: 'se', state: 6, usual: false, bucket: 19, shortest: 10, longest: 10 },
    ]);
  });
});

test('purchases that became unreadable or expired are counted among the newest events of their type', async () => {
  const events = (count: number, type: string, moment: number, site = 'se') => sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select gen_random_uuid()::text, ${type}, ${site}, 0, ${at(moment)}, '{}' from generate_series(1, ${count})`;
  await events(3, 'purchase.expired', NOW - 2 * DAY);
  await events(5_000, 'purchase.state_changed', NOW - HOUR);
  await events(2, 'purchase.expired', NOW - HOUR);
  await events(1, 'purchase.unreadable', NOW - HOUR);
  await events(4, 'purchase.unreadable', NOW - HOUR, 'no');
  expect(await lostSince(sql, SITES, NOW)).toEqual([
    { site: 'no', unreadable: 4, expired: 0 },
    { site: 'se', unreadable: 1, expired: 2 },
  ]);
  await events(3_000, 'purchase.expired', NOW - HOUR);
  const read = await rowsRead(sql, 'events', async (tx) => {
    expect(await lostSince(tx, SITES, NOW)).toMatchObject([{ site: 'no' }, { site: 'se', expired: MOST_COUNTED }]);
  });
  expect(read.scanned).toBe(0);
  expect(read.fetched).toBeLessThanOrEqual(2 * MOST_COUNTED);
});

describe('subscribers', () => {
  async function subscriber(name: string, { off = null as 'failed' | 'by hand' | null, paused = false } = {}): Promise<number> {
    const [row] = await sql<[{ id: number }]>`
      insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash, status, failed_at)
      values (${name}, 'webhook', 'api', '\\x00', '\\x00', 'a', ${off === null ? 'active' : 'off'}, case when ${off}::text = 'failed' then now() end)
      returning id`;
    if (paused)
      await sql`insert into purchase_watch_internal.subscriber_health (subscriber, failures, paused_until) values (${row.id}, 5, now())`;
    return row.id;
  }
  const deliveries = (id: number, count: number, status: string, settled: number | null = null) =>
    sql`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
        select gen_random_uuid()::text, 'site.reachable', 'se', 0, now(), '{}' from generate_series(1, ${count}) returning position)
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
      select position, 0, ${id}, 0, now(), ${status}, ${at(settled)} from event`;
  const found = () => troubleSince(sql, { since: NOW - DAY, except: [9_999] });

  test('are told that lost something since, or for which something waits until they take it', async () => {
    await deliveries(await subscriber('well'), 3, 'pending');
    await deliveries(await subscriber('long ago'), 3, 'exhausted', NOW - 2 * DAY);
    const lost = await subscriber('lost');
    await deliveries(lost, 2, 'exhausted', NOW - HOUR);
    await deliveries(await subscriber('paused', { paused: true }), 4, 'pending');
    const off = await subscriber('off', { off: 'failed' });
    await deliveries(off, 5, 'pending');
    await deliveries(await subscriber('by hand', { off: 'by hand' }), 6, 'pending');
    expect((await found()).map(({ name, givenUp, parked, off: isOff }) => [name, givenUp, parked, isOff])).toEqual([
      ['lost', 2, 0, false],
      ['paused', 0, 4, false],
      ['off', 0, 5, true],
    ]);
    expect((await troubleSince(sql, { since: NOW - DAY, except: [lost, off] })).map(({ name }) => name)).toEqual(['paused']);
  });

  test('are counted up to a bound', async () => {
    await deliveries(await subscriber('shop'), MOST_COUNTED + 5, 'exhausted', NOW - HOUR);
    expect(await found()).toMatchObject([{ name: 'shop', givenUp: MOST_COUNTED }]);
  });
});
