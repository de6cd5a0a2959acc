import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSweep } from '../../../src/daemon/upkeep/sweep.ts';
import { findDelivery } from '../../../src/postgres/deliveries/delivery-list.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import {
  type EndedCursor,
  removeAnswers,
  removeAttempts,
  removeDays,
  removeEnded,
  removeIncidents,
  removeSilences,
  removeSiteEvents,
} from '../../../src/postgres/upkeep/retention.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const DAY = 86_400_000;
let database: TestDatabase;
let subscriber: number;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  subscriber = await addSubscriber('shop');
});
afterEach(() => database.drop());

async function addSubscriber(name: string): Promise<number> {
  const [row] = await database.sql<[{ id: number }]>`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values (${name}, 'webhook', 'systems', 'x') returning id`;
  return row.id;
}

/** A purchase that ended so many days ago, with two events of which the last delivery is in the given status. */
async function ended(
  name: string,
  days: number,
  { status = 'delivered', to = subscriber, next = null as string | null } = {},
): Promise<void> {
  const { sql } = database;
  const [{ id }] = await sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site) values (${name}, 'se') returning id`;
  await sql`
    update purchase_watch.purchases set status = 'settled', state = 2, state_since = now(), ended_at = now() - ${days}::integer * interval '1 day',
      next_poll_at = ${next}::text::timestamptz, due_slot = purchase_watch_internal.due_slot(${next}::text::timestamptz) where id = ${id}`;
  await sql`insert into purchase_watch_internal.purchase_details (purchase, fields) values (${id}, '{}')`;
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_after)
    values (${id}, 1, null, null, 0, now()), (${id}, 2, 1, 0, 2, now())`;
  const events = await sql<{ position: number }[]>`
    insert into purchase_watch_internal.events (purchase, created_at, sequence, previous, shard, id, type, site, body)
    select ${id}, now(), n, nullif(n - 1, 0), 0, ${name}::text || n, 'purchase.state_changed', 'se', '{}' from generate_series(1, 2) n
    order by n returning position`;
  for (const [index, { position }] of events.entries()) await deliver(position, id, index === 1 ? status : 'delivered', to);
}

async function deliver(event: number, lane: number, status: string, to = subscriber): Promise<void> {
  await database.sql`
    with delivery as (
      insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, shard, status)
      values (${event}, ${lane}, now(), case ${status}::text when 'pending' then null else now() end, ${to}, 0, ${status}) returning id)
    insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, outcome) select id, now(), 1, 5, 'delivered' from delivery`;
}

async function siteEvent(name: string, days: number, status: string): Promise<void> {
  const [{ position }] = await database.sql<[{ position: number }]>`
    insert into purchase_watch_internal.events (created_at, shard, id, type, site, body)
    values (now() - ${days}::integer * interval '1 day', 0, ${name}, 'site.reachable', 'se', '{}') returning position`;
  await deliver(position, 0, status);
}

const left = async (): Promise<string[]> =>
  (await database.sql<{ id: string }[]>`select purchase_id as id from purchase_watch.purchases p order by p.id`).map(
    ({ id }) => id,
  );
const counts = async (): Promise<Record<string, number>> => {
  const tables = ['purchase_details', 'purchase_transitions', 'events', 'deliveries', 'attempts'];
  const rows = await Promise.all(
    tables.map((table) => database.sql.unsafe(`select count(*)::int as count from purchase_watch_internal.${table}`)),
  );
  return Object.fromEntries(tables.map((table, index) => [table, rows[index]![0]!.count]));
};
const sweep = (limit = 500, after: EndedCursor | null = null) =>
  removeEnded(database.sql, { before: Date.now() - 90 * DAY, limit, after });

test('a purchase that ended long ago goes with all that hangs on it, and nothing else does', async () => {
  await ended('old', 91);
  await ended('young', 89);
  await database.sql`insert into purchase_watch.purchases (purchase_id, site, registered_at) values ('watched', 'se', now() - interval '1 year')`;
  expect(await sweep()).toEqual({ removed: 1, last: null });
  expect(await left()).toEqual(['young', 'watched']);
  expect(await counts()).toEqual({ purchase_details: 1, purchase_transitions: 2, events: 2, deliveries: 2, attempts: 2 });
  const [total] = await database.sql`select sum(count)::int as count from purchase_watch.purchase_totals`;
  expect(total).toEqual({ count: 2 });
});

test('what somebody is still to be told, or what is to be polled once more, waits', async () => {
  await ended('waiting', 91, { status: 'pending' });
  await ended('rechecked', 91, { next: '2100-01-01' });
  const gone = await addSubscriber('gone');
  await ended('for nobody', 91, { status: 'pending', to: gone });
  await database.sql`update purchase_watch_internal.subscribers set configured = false where id = ${gone}`;
  expect(await sweep()).toEqual({ removed: 1, last: null });
  expect(await left()).toEqual(['waiting', 'rechecked']);
});

test('batches go on where the last one ended, oldest first, also where many ended at the same moment', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await ended(name, 100);
  await database.sql`update purchase_watch.purchases set ended_at = '2020-01-01T00:00:00.123456Z'`;
  await database.sql`update purchase_watch.purchases set ended_at = '2019-01-01' where purchase_id = 'e'`;
  const first = await sweep(2);
  expect(await left()).toEqual(['b', 'c', 'd']);
  const second = await sweep(2, first.last);
  expect(await left()).toEqual(['d']);
  expect(await sweep(2, second.last)).toEqual({ removed: 1, last: null });
});

test.each([
  ['the purchase', (sql: TestDatabase['sql']) => sql`select from purchase_watch.purchases where purchase_id = 'held' for update`],
  [
    'an event of it, to which a delivery is being added',
    (sql: TestDatabase['sql']) => sql`select from purchase_watch_internal.events where id = 'held2' for key share`,
  ],
  [
    'a delivery of it',
    (sql: TestDatabase['sql']) => sql`
      select from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event where e.id = 'held1' for update of d`,
  ],
])('it waits for nobody: while somebody holds %s it is left for the next run', async (_, hold) => {
  await ended('held', 91);
  await ended('free', 91);
  const [holding, let_go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = database.sql.begin(async (tx) => {
    await hold(tx as unknown as TestDatabase['sql']);
    holding.resolve();
    await let_go.promise;
  });
  await holding.promise;
  expect((await sweep()).removed).toBe(1);
  expect(await left()).toEqual(['held']);
  let_go.resolve();
  await holder;
  expect((await sweep()).removed).toBe(1);
});

test('attempts go by their own age, and their deliveries stay', async () => {
  await ended('young', 1);
  await database.sql`update purchase_watch_internal.attempts set at = now() - interval '31 days' where delivery = (select min(delivery) from purchase_watch_internal.attempts)`;
  expect(await removeAttempts(database.sql, { before: Date.now() - 30 * DAY, limit: 10 })).toBe(1);
  expect(await counts()).toMatchObject({ deliveries: 2, attempts: 1 });
});

test('the attempt that delivered lives as long as its delivery', async () => {
  await siteEvent('told', 40, 'delivered');
  await database.sql`update purchase_watch_internal.deliveries set attempts = 1, took_ms = 12, settled_at = now() - interval '40 days'`;
  await removeAttempts(database.sql, { before: Date.now() - 30 * DAY, limit: 10 });
  const [{ id }] = await database.sql<[{ id: number }]>`select id::float8 as id from purchase_watch_internal.deliveries`;
  expect((await findDelivery(database.sql, id))!.tries.map(({ outcome, tookMs }) => [outcome, tookMs])).toContainEqual([
    'delivered',
    12,
  ]);
});

test('old events of a site go once everybody was told', async () => {
  await siteEvent('told', 91, 'delivered');
  await siteEvent('waiting', 91, 'pending');
  await siteEvent('young', 89, 'delivered');
  expect(await removeSiteEvents(database.sql, { before: Date.now() - 90 * DAY, limit: 10 })).toBe(1);
  const rows = await database.sql<{ id: string }[]>`select id from purchase_watch_internal.events order by position`;
  expect(rows.map(({ id }) => id)).toEqual(['waiting', 'young']);
  expect(await counts()).toMatchObject({ deliveries: 2, attempts: 2 });
});

test('days of stays go when they are old enough', async () => {
  const now = Date.UTC(2026, 10, 20, 6);
  const day = (ago: number) => new Date(now - ago * DAY).toISOString().slice(0, 10);
  for (const ago of [0, 89, 90, 91]) {
    await database.sql`
      insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest) values ('se', 6, ${day(ago)}::date, 20, 1, 1)`;
    await database.sql`insert into purchase_watch_internal.stay_days (site, state, day, calm, well) values ('se', 6, ${day(ago)}::date, true, 1)`;
  }
  const batch = { before: now - 90 * DAY, limit: 10 };
  const removed = [await removeDays(database.sql, batch), await removeDays(database.sql, batch)];
  expect([...removed, await removeDays(database.sql, batch)]).toEqual([1, 1, 0]);
  const left = await database.sql<
    { day: string }[]
  >`select day::text as day from purchase_watch_internal.dwell_days order by day`;
  expect(left.map((row) => row.day)).toEqual([day(90), day(89), day(0)]);
});

test('ended incidents and silences, and old answers go; what is open stays', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, ended_at, count, peak) values
      ('open', 'unreachable', 'se', '2020-01-01', '2020-01-01', null, 1, 1),
      ('ended', 'stuck', 'se', '2020-01-01', '2020-01-01', '2020-01-02', 1, 1)`;
  await sql`
    insert into purchase_watch_internal.idempotency_keys (created_at, status, key_hash, request_hash, answer, scope) values
      (now() - interval '25 hours', 200, 'old', 'x', 'x', 's'), (now(), 200, 'young', 'x', 'x', 's')`;
  await sql`
    insert into purchase_watch_internal.silences (starts_at, ends_at, reason, created_by) values
      ('2020-01-01', '2020-01-02', 'over', 'me'), ('2020-01-01', '2100-01-01', 'holds', 'me')`;
  expect(await removeIncidents(sql, { before: Date.now(), limit: 10 })).toBe(1);
  expect(await removeSilences(sql, { before: Date.now(), limit: 10 })).toBe(1);
  expect(await removeAnswers(sql, { before: Date.now() - DAY, limit: 10 })).toBe(1);
  const [row] = await sql`select (select string_agg(id, ',') from purchase_watch_internal.incidents) as open,
    (select string_agg(encode(key_hash, 'escape'), ',') from purchase_watch_internal.idempotency_keys) as young`;
  expect(row).toEqual({ open: 'open', young: 'young' });
});

test('counts of ends and attempts by hour are kept by a number of their own', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, was_stuck, outcome, site)
    select date_trunc('hour', now()) - n * interval '1 day', 1, 0, false, 'paid', 'se' from generate_series(398, 402) n`;
  await sql`
    insert into purchase_watch_internal.waited_hours (hour, customers, way, bucket, site)
    select date_trunc('hour', now()) - n * interval '1 day', 1, 6, 0, 'se' from generate_series(398, 402) n`;
  await sql`
    insert into purchase_watch_internal.marks (at, text) select now() - n * interval '1 day' - interval '1 minute', 'deploy ' || n from generate_series(399, 401) n`;
  const { step, removed } = createSweep(
    sql,
    { ...FOR_EVER, events: Number.NEGATIVE_INFINITY, trends: Date.now() - 400 * DAY },
    Date.now(),
  );
  while (await step());
  expect(removed.trends).toBe(8);
  expect(await sql`select text from purchase_watch_internal.marks`).toEqual([{ text: 'deploy 399' }]);
});

test('recorded changes by operators are kept as long as events, and for ever where these are', async () => {
  const { sql } = database;
  const now = Date.now();
  await sql`
    insert into purchase_watch_internal.actions (at, key_name, address, via, call, outcome)
    select now() - n * interval '1 day', 'API_KEY', '127.0.0.1', 'api', 'call of ' || n, 'done' from generate_series(88, 92) n`;
  const sweep = async (events: number) => {
    const { step, removed } = createSweep(sql, { ...FOR_EVER, events }, now);
    while (await step());
    return removed.actions;
  };
  expect(await sweep(Number.NEGATIVE_INFINITY)).toBe(0);
  // Those of 91 and 92 days ago.
  expect(await sweep(now - 90.5 * DAY)).toBe(2);
  const kept = await sql<{ call: string }[]>`select call from purchase_watch_internal.actions order by at`;
  expect(kept.map(({ call }) => call)).toEqual(['call of 90', 'call of 89', 'call of 88']);
});

const FOR_EVER = { settled: Number.NEGATIVE_INFINITY, attempts: Number.NEGATIVE_INFINITY, trends: Number.NEGATIVE_INFINITY };
