/** Times that were written ahead of a clock that was set back by five hours. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Detection } from '../../../src/domain/incidents/detection.ts';
import { newDetection } from '../../../src/domain/incidents/detection.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { moveTimesBack } from '../../../src/postgres/upkeep/move-times-back.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const now = 1_800_000_000_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'no']);
});
afterEach(() => database.drop());

const at = (minutes: number) => database.sql`to_timestamp(${(now + minutes * MINUTE) / 1_000}::float8)`;
/** Minutes from now, of every time in a table, row by row. */
const minutes = async (table: string, columns: string): Promise<unknown[]> => {
  const rows = await database.sql<Record<string, number | null>[]>`
    select ${database.sql.unsafe(columns)} from purchase_watch_internal.${database.sql.unsafe(table)} order by 1 nulls first`;
  return rows.map((row) => Object.values(row).map((time) => (time === null ? null : (time - now) / MINUTE)));
};
/** By a replica that renewed its lease five hours ahead of the present, and is gone. */
const renewed = () => database.sql`
  insert into purchase_watch_internal.renewals (replica, number, renewed_at) values ('rep_1', 1, ${at(300)}) on conflict (replica) do update set renewed_at = excluded.renewed_at`;
/** Calls it as often as there is something to do, as upkeep does. */
async function setBack(): Promise<number> {
  await renewed();
  let [calls, before] = [0, 0];
  for (let step = null; ; calls++, before = step.by) {
    step = await moveTimesBack(database.sql, { now, before });
    if (step === null) return calls;
  }
}

test('incidents and sites keep how long each thing has lasted, and what came first', async () => {
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, alerted_at, alerted_count, alerted_severity, announced_at, reopened_at, count, peak)
    values ('inc_new', 'unreachable', 'se', ${at(290)}, ${at(280)}, ${at(295)}, 1, 0, ${at(294)}, ${at(293)}, 1, 1),
      ('inc_old', 'unreachable', 'no', ${at(-60)}, ${at(-70)}, ${at(-50)}, 1, 0, ${at(-51)}, null, 1, 1)`;
  await database.sql`
    update purchase_watch_internal.sites set failing_since = ${at(280)}, first_look_since = ${at(299)}, digest_at = ${at(200)} where name = 'se'`;
  await database.sql`update purchase_watch_internal.leases set done_at = ${at(250)} where name = 'upkeep'`;
  await setBack();
  expect(await minutes('incidents', 'opened_at, since, alerted_at, announced_at, reopened_at')).toEqual([
    [-60, -70, -50, -51, null],
    [-10, -20, -5, -6, -7],
  ]);
  expect(await minutes('sites', 'failing_since, first_look_since, digest_at')).toEqual([
    [null, null, null],
    [-20, -1, -100],
  ]);
  expect(await minutes('leases', 'done_at')).toContainEqual([-50]);
});

test('what ends later keeps its length when it was made ahead of the clock, and its end when it was not', async () => {
  await database.sql`
    insert into purchase_watch_internal.silences (created_at, starts_at, ends_at, reason, created_by)
    values (${at(295)}, ${at(295)}, ${at(415)}, 'deploy', 'me'), (${at(-5)}, ${at(600)}, ${at(700)}, 'planned', 'me')`;
  await database.sql`
    insert into purchase_watch_internal.idempotency_keys (scope, key_hash, request_hash, created_at, busy_until)
    values ('a', '\\x01', '\\x01', ${at(299)}, ${at(314)}), ('a', '\\x02', '\\x02', ${at(-1)}, ${at(14)})`;
  await setBack();
  expect(await minutes('silences', 'starts_at, ends_at')).toEqual([
    [-5, 115],
    [600, 700],
  ]);
  expect(await minutes('idempotency_keys', 'created_at, busy_until')).toEqual([
    [-1, 14],
    [-1, 14],
  ]);
});

test('what speaks for a broken page moves with the stays that it was learned from', async () => {
  const is = (offset: number): Detection => {
    const time = (before: number): number => now + (offset - before) * MINUTE;
    const alarm = { rule: 'share', entrants: 4, overdue: 4, usualShare: 0.05, perDay: 100, falseAlarmEvery: 5_700 } as const;
    return {
      ...newDetection('se', 6),
      ...{ countedFrom: time(600), lastWellAt: time(50), wellSince: [time(3), time(2)], noneOverdueSince: time(1) },
      run: { since: time(40), entrants: 4, overdue: 4, customers: ['1'], overdueAfter: 900_000 },
      row: { since: time(40), customers: ['1'] },
      alarm: { ...alarm, at: time(5), since: time(40) },
    };
  };
  await database.sql`
    insert into purchase_watch_internal.detections (site, state, memory)
    values ('se', 6, ${JSON.stringify({ ...is(300), countedFrom: now - 600 * MINUTE })}), ('no', 6, ${JSON.stringify(is(-1))})`;
  await database.sql`
    insert into purchase_watch_internal.stays (customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    values (1, ${at(270)}, ${at(285)}, 900000, 900000, 6, null, 'se', 'overdue', false, false)`;
  await setBack();
  const [no, se] = await database.sql<{ memory: string }[]>`select memory from purchase_watch_internal.detections order by site`;
  expect(JSON.parse(no!.memory)).toEqual(is(-1));
  expect(JSON.parse(se!.memory)).toEqual(is(0));
  expect(await minutes('stays', 'entered_at, at')).toEqual([[-30, -15]]);
});

describe('a purchase', () => {
  interface Times {
    readonly registered?: number;
    readonly polled?: number;
    readonly seen?: number;
    readonly since?: number;
    readonly excused?: number;
    readonly next: number;
    readonly isBulk?: boolean;
  }
  /** Times in minutes from now. */
  async function add({ registered = -600, polled, seen, since, excused = 0, next, isBulk = false }: Times): Promise<void> {
    const orNull = (time: number | undefined) => (time === undefined ? database.sql`null` : at(time));
    await database.sql`
      with added as (insert into purchase_watch.purchases (purchase_id, site, registered_at, watched_since, bulk)
        values (gen_random_uuid()::text, 'se', ${at(registered)}, ${at(registered)}, ${isBulk || null}) returning id)
      select from added`;
    await database.sql`
      update purchase_watch.purchases set next_poll_at = ${at(next)}, last_polled_at = ${orNull(polled)}, seen_at = ${orNull(seen)}, state = ${seen === undefined ? null : 6}::integer,
        state_since = ${orNull(since)}, excused_ms = ${excused * MINUTE},
        due_slot = case when ${isBulk} then purchase_watch_internal.bulk_slot(${at(next)}) else purchase_watch_internal.due_slot(${at(next)}) end
      where id = (select max(id) from purchase_watch.purchases)`;
  }
  const times = async (): Promise<(number | null)[][]> => {
    const rows = await database.sql<Record<string, number | null>[]>`
      select next_poll_at, last_polled_at, seen_at, state_since, watched_since from purchase_watch.purchases order by id`;
    return rows.map((row) => Object.values(row).map((time) => (time === null ? null : (time - now) / MINUTE)));
  };

  test('that was polled ahead of the clock, well or not, is due as planned after that poll; others stay as they are', async () => {
    await add({ polled: 298, seen: 298, since: 290, next: 303 });
    await add({ polled: 299, seen: -20, since: -30, next: 301 });
    await add({ polled: -2, seen: -2, since: -30, next: 8 });
    await setBack();
    expect(await times()).toEqual([
      [5, 0, 0, -8, -600],
      [2, 0, -20, -30, -600],
      [8, -2, -2, -30, -600],
    ]);
    expect(await database.sql`select revision from purchase_watch.purchases order by id`).toEqual([
      { revision: 1 },
      { revision: 1 },
      { revision: 0 },
    ]);
  });

  test('that was registered ahead of the clock gets its first poll now, one of a file after all others', async () => {
    await database.sql`truncate purchase_watch_internal.nudges`;
    await add({ registered: 290, next: 290 });
    await add({ registered: 290, next: 290, isBulk: true });
    await setBack();
    expect((await times()).map(([next]) => next)).toEqual([0, 0]);
    expect(
      await database.sql`select due_slot >= 1000000000 as bulk, (due_slot % 1000000000) * 10 <= ${now / 1_000} as due from purchase_watch.purchases order by id`,
    ).toEqual([
      { bulk: false, due: true },
      { bulk: true, due: true },
    ]);
    // Those that own the shards read them again: twice registered, twice moved.
    expect(await database.sql`select from purchase_watch_internal.nudges`).toHaveLength(4);
  });

  test('is excused no more for the step forward that was taken back, and looks no older than it is', async () => {
    await add({ polled: 150, seen: 150, since: 149, excused: 160, next: 151 });
    await add({ polled: 150, seen: 150, since: -5, excused: 160, next: 151 });
    await setBack();
    expect((await times()).map(([next, , seen, since]) => [next, seen, since])).toEqual([
      [1, 0, -1],
      [1, 0, -5],
    ]);
    const excused = await database.sql<{ minutes: number }[]>`
      select (excused_ms / 60000)::float8 as minutes from purchase_watch.purchases order by id`;
    expect(excused.map(({ minutes: each }) => each)).toEqual([160, 10]);
  });

  test('that another session has locked moves once it is free, and keeps nothing else from being moved', async () => {
    await add({ polled: 298, seen: 298, since: 290, next: 303 });
    await add({ polled: 298, seen: 298, since: 290, next: 303 });
    await database.sql`
      insert into purchase_watch_internal.silences (created_at, starts_at, ends_at, reason, created_by)
      values (${at(295)}, ${at(295)}, ${at(415)}, 'deploy', 'me')`;
    await renewed();
    const hasty = connect(database.url, { max: 1, sessionLimits: { lock_timeout: 500 } });
    const left = await database.sql.begin(async (tx) => {
      await tx`select from purchase_watch.purchases order by id limit 1 for update`;
      await tx`select from purchase_watch_internal.silences for update`;
      return moveTimesBack(hasty, { now, before: 0 });
    });
    await hasty.end();
    expect(left).toMatchObject({ purchases: { moved: 1, locked: 1 }, others: { moved: 0, locked: 1 } });
    expect((await times()).map(([next]) => next)).toEqual([303, 5]);
    await setBack();
    expect((await times()).map(([next]) => next)).toEqual([5, 5]);
    expect(await minutes('silences', 'starts_at, ends_at')).toEqual([[-5, 115]]);
  });
});

describe('a delivery', () => {
  const due = async () => (await minutes('deliveries', 'due_at')).flat();
  async function add({ made = -600, next, attempted }: { made?: number; next: number; attempted?: number }): Promise<void> {
    const { sql } = database;
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'a') on conflict do nothing`;
    const [event] = await sql<[{ position: number }]>`
      insert into purchase_watch_internal.events (id, type, site, shard, body, created_at) values (gen_random_uuid()::text, 'site.reachable', 'se', 0, '{}', ${at(made)}) returning position::float8`;
    const [delivery] = await sql<[{ id: number }]>`
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, attempts)
      select ${event.position}, 0, max(id), 0, ${at(next)}, ${attempted === undefined ? 0 : 1} from purchase_watch_internal.subscribers returning id::float8`;
    if (attempted !== undefined)
      await sql`insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, outcome) values (${delivery.id}, ${at(attempted)}, 1, 5, 'http_500')`;
  }

  test('is due, once; one that fails again keeps its pause, however long rows stay locked', async () => {
    await add({ next: 310, attempted: 290 });
    await add({ made: 290, next: 290 });
    await add({ next: 20, attempted: -10 });
    await renewed();
    const first = await moveTimesBack(database.sql, { now, before: 0 });
    expect(first).toMatchObject({ by: 300 * MINUTE, deliveries: { moved: 3, locked: 0 } });
    expect(await due()).toEqual([0, 0, 0]);
    // The third fails again.
    await database.sql`update purchase_watch_internal.deliveries set due_at = ${at(30)}, attempts = 2 where id = (select max(id) from purchase_watch_internal.deliveries)`;
    await database.sql`insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, outcome) select max(id), ${at(0)}, 2, 5, 'http_500' from purchase_watch_internal.deliveries`;
    expect(await moveTimesBack(database.sql, { now, before: first!.by })).toMatchObject({ deliveries: { moved: 0, locked: 0 } });
    expect(await due()).toEqual([0, 0, 30]);
    expect(await moveTimesBack(database.sql, { now, before: 0 })).toBeNull();
  });

  test('waits for no pause of before, and for those of after', async () => {
    await add({ next: 0 });
    await database.sql`insert into purchase_watch_internal.subscriber_health (subscriber, paused_until) select id, ${at(320)} from purchase_watch_internal.subscribers`;
    await renewed();
    const first = await moveTimesBack(database.sql, { now, before: 0 });
    expect(await minutes('subscriber_health', 'paused_until')).toEqual([[0]]);
    await database.sql`update purchase_watch_internal.subscriber_health set paused_until = ${at(30)}`;
    await moveTimesBack(database.sql, { now, before: first!.by });
    expect(await minutes('subscriber_health', 'paused_until')).toEqual([[30]]);
  });
});

test('the tables are looked at again until every replica has renewed its lease by the present clock', async () => {
  expect(await moveTimesBack(database.sql, { now, before: 0 })).toBeNull();
  // The first call finds nothing to move, and the second one no replica that is ahead.
  expect(await setBack()).toBe(1);
  await renewed();
  await database.sql`insert into purchase_watch_internal.replicas (id, process, expires_at, lease_ms) values ('rep_1', 'p', ${at(301)}, 60000)`;
  for (let call = 0; call < 3; call++) expect(await moveTimesBack(database.sql, { now, before: 0 })).not.toBeNull();
  await database.sql`update purchase_watch_internal.replicas set expires_at = ${at(1)}`;
  expect(await moveTimesBack(database.sql, { now, before: 0 })).not.toBeNull();
  expect(await moveTimesBack(database.sql, { now, before: 0 })).toBeNull();
});

test('time that the clock skipped and was set back over is skipped no more', async () => {
  await database.sql`update purchase_watch_internal.database_clock set skipped = tstzmultirange(tstzrange(${at(-90)}, ${at(-60)}), tstzrange(${at(-5)}, ${at(295)}))`;
  await setBack();
  expect(await minutes('database_clock, unnest(skipped) r', 'lower(r), upper(r)')).toEqual([
    [-90, -60],
    [-5, 0],
  ]);
});
