/** Each delivery is in exactly one status, and the pure function, the list's filters and the view agree on which. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../src/domain/deliveries/delivery-status.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { findDelivery, listDeliveries } from '../../../src/postgres/deliveries/delivery-list.ts';
import { paceOf } from '../../../src/postgres/deliveries/pace.ts';
import { waitingDeliveries } from '../../../src/postgres/reports/overview.ts';
import { failingDeliveries } from '../../../src/postgres/subscribers/trouble.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

/** Of each subscriber: so many deliveries of each stored status. */
const OF_EACH = 1_000;
const IN_FLIGHT = 3;
/** How a subscriber stands, and what is shown of what waits for it. */
const SUBSCRIBERS = {
  well: ['pending', null],
  failing: ['pending', null],
  paused: ['parked', /^paused until 2100-01-01T00:00:00Z after 4 failures in a row: The receiver answered 503\.$/],
  tried: ['parked', /^paused until one delivery gets through, after one failure: No answer\.$/],
  off: ['parked', /^switched off: It answered 410\.$/],
  former: ['parked', /^not in the configuration any more$/],
} as const satisfies Record<string, readonly [DeliveryStatus, RegExp | null]>;
const NAMES = Object.keys(SUBSCRIBERS) as (keyof typeof SUBSCRIBERS)[];

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await sql`insert into purchase_watch_internal.sites (name) values ('default')`;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, configured, status, status_reason)
    select name, 'webhook', 'systems', 'x', name <> 'former', case name when 'off' then 'off' else 'active' end, case name when 'off' then 'It answered 410.' end
    from unnest(${NAMES}::text[]) name`;
  await sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
    select s.id, v.failures, 1, now(), v.until::timestamptz, v.error from purchase_watch_internal.subscribers s
    join (values ('failing', 2, null, 'The receiver answered 500.'), ('paused', 4, '2100-01-01T00:00:00Z', 'The receiver answered 503.'),
      ('tried', 1, '2020-01-01T00:00:00Z', 'No answer.')) as v (name, failures, until, error) using (name)`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'site.reachable', 'default', n % 64, now(), '{}' from generate_series(1, ${4 * OF_EACH}::integer) n order by n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, last_error, took_ms, http_status)
    select e.position, -e.position, s.id, e.shard, now(), w.status, case w.status when 'pending' then null else now() end, 1,
      case w.status when 'suppressed' then 'It was switched off then.' when 'delivered' then null else 'The receiver answered 503.' end,
      case w.status when 'delivered' then e.position % 100 end, case w.status when 'delivered' then 200 end
    from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s
    cross join lateral (select (array['pending', 'delivered', 'exhausted', 'suppressed'])[1 + e.position % 4] as status) w order by e.position, s.id`;
  // One replica is alive, another was killed; and a third lost the shard to it.
  await sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('alive', 'x', now() + interval '1 hour'), ('dead', 'y', now() - interval '1 hour')`;
  await sql`update purchase_watch_internal.shards set owner = case when id < 60 then 'alive' else 'dead' end, epoch = 7`;
  await sql`
    insert into purchase_watch_internal.under_way (delivery, shard, epoch, since, replica)
    select id, shard, 7, now() - interval '3 seconds', 'alive' from (
      select *, row_number() over (partition by subscriber order by id desc) as place from purchase_watch_internal.deliveries where status = 'pending' and shard < 60) d
    where place <= ${IN_FLIGHT}
    union all (select id, shard, 7, now(), 'dead' from purchase_watch_internal.deliveries where status = 'pending' and shard >= 60 order by id limit 5)
    union all (select id, shard, 6, now(), 'former' from purchase_watch_internal.deliveries where status = 'pending' and shard < 60 order by id limit 5)
    union all (select id, shard, 7, now(), 'alive' from purchase_watch_internal.deliveries where status = 'delivered' and shard < 60 order by id limit 5)`;
  await sql`analyze purchase_watch_internal.deliveries, purchase_watch_internal.events, purchase_watch_internal.subscribers, purchase_watch_internal.under_way`;
});
afterAll(() => database.drop());

async function all(filter: Parameters<typeof listDeliveries>[1]['filter']) {
  const rows = [];
  for (let before: number | null = null; ; before = rows.at(-1)!.id) {
    const page = await listDeliveries(sql, { filter, before, limit: 700 });
    rows.push(...page);
    if (page.length < 700) return rows;
  }
}

describe('each delivery', () => {
  test('is listed under exactly one status, with its reason', async () => {
    const seen = new Map<number, string>();
    for (const status of DELIVERY_STATUSES) {
      for (const row of await all({ status })) {
        expect(seen.has(row.id)).toBe(false);
        seen.set(row.id, status);
        expect(row.status).toBe(status);
        const [, parked] = SUBSCRIBERS[row.subscriber as keyof typeof SUBSCRIBERS];
        if (status === 'parked') expect(row.reason).toMatch(parked!);
        else expect(row.reason).toBe(status === 'suppressed' ? 'It was switched off then.' : null);
        expect(row.lastError).toBe(status === 'delivered' || status === 'suppressed' ? null : 'The receiver answered 503.');
      }
    }
    expect(seen.size).toBe(4 * OF_EACH * NAMES.length);
    const unfiltered = await all({});
    expect(unfiltered.map(({ id, status }) => [id, status])).toEqual([...seen].sort(([a], [b]) => b - a));
  });

  test.each(NAMES)('of one that is %s waits as it should', async (subscriber) => {
    const [waiting] = SUBSCRIBERS[subscriber];
    const other = waiting === 'pending' ? 'parked' : 'pending';
    expect(await all({ subscriber, status: waiting })).toHaveLength(OF_EACH - IN_FLIGHT);
    expect(await all({ subscriber, status: other })).toEqual([]);
    expect(await all({ subscriber, status: 'in_flight' })).toHaveLength(IN_FLIGHT);
  });

  test('says the same in the view, and by the filters of one event', async () => {
    const viewed = await sql<{ key: string; status: string; reason: string | null; lastError: string | null }[]>`
      select event_id || subscriber as key, status, reason, last_error as "lastError" from purchase_watch.delivery_log order by 1`;
    const listed = (await all({})).map(({ eventId, subscriber, status, reason, lastError }) => ({
      key: eventId + subscriber,
      status,
      reason,
      lastError,
    }));
    const sorted = listed.sort((a, b) => (a.key < b.key ? -1 : 1));
    expect([...viewed].sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(sorted);
    const event = (await listDeliveries(sql, { filter: { status: 'in_flight' }, before: null, limit: 1 }))[0]!.eventId;
    const byStatus = await Promise.all(DELIVERY_STATUSES.map((status) => all({ event, status })));
    expect(byStatus.flat()).toHaveLength(NAMES.length);
    byStatus.forEach((rows, place) => void rows.map(({ status }) => expect(status).toBe(DELIVERY_STATUSES[place])));
  });

  test.each(DELIVERY_STATUSES.flatMap((status) => [{ status }, ...NAMES.map((subscriber) => ({ status, subscriber }))]))(
    'filtered by %j reads about a page, however much waits',
    async (filter) => {
      const { scanned, fetched } = await rowsRead(sql, 'deliveries', (tx) =>
        listDeliveries(tx, { filter, before: null, limit: 10 }),
      );
      expect(scanned).toBe(0);
      // A page of each subscriber, those in flight, and the page itself.
      expect(fetched).toBeLessThanOrEqual((NAMES.length + 1) * 10 + 3 * (IN_FLIGHT * NAMES.length + 15));
    },
  );
});

test('what waits is counted by status, and each is in one of them', async () => {
  const counts = Object.fromEntries((await waitingDeliveries(sql)).map((row) => [row.subscriber, row]));
  const rows = await sql<
    { id: number; name: keyof typeof SUBSCRIBERS }[]
  >`select id, name from purchase_watch_internal.subscribers where configured`;
  for (const { id, name } of rows) {
    const rest = OF_EACH - IN_FLIGHT;
    const [shown] = SUBSCRIBERS[name];
    expect(counts[id]).toMatchObject({
      inFlight: IN_FLIGHT,
      pending: shown === 'pending' ? rest : 0,
      parked: shown === 'parked' ? rest : 0,
      atLeast: false,
      dueSince: expect.any(Number),
    });
  }
  const { scanned } = await rowsRead(sql, 'deliveries', waitingDeliveries);
  expect(scanned).toBe(0);
});

test('whose deliveries fail or were given up is told, of configured subscribers', async () => {
  const failures = await failingDeliveries(sql);
  expect(failures.map(({ name, failing, givenUpAt }) => [name, failing, givenUpAt !== null])).toEqual(
    NAMES.filter((name) => name !== 'former').map((name) => [name, OF_EACH, true]),
  );
});

test('the view about subscribers says how each is', async () => {
  const rows = await sql`select subscriber, health, reason, failures from purchase_watch.subscriber_status order by subscriber`;
  expect(rows.map(({ subscriber, health }) => [subscriber, health])).toEqual([
    ['failing', 'failing'],
    ['off', 'off'],
    ['paused', 'paused'],
    ['tried', 'paused'],
    ['well', 'ok'],
  ]);
  for (const { subscriber, reason } of rows) {
    const [, parked] = SUBSCRIBERS[subscriber as keyof typeof SUBSCRIBERS];
    if (parked === null) expect(reason).toBeNull();
    else expect(reason).toMatch(parked);
  }
});

describe('attempts', () => {
  test('that delivered are the last, with those that failed before them', async () => {
    const [delivered] = await all({ subscriber: 'well', status: 'delivered' });
    await sql`update purchase_watch_internal.deliveries set attempts = 2, excerpt = 'thanks' where id = ${delivered!.id}`;
    await sql`
      insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, http_status, outcome, fault, excerpt)
      values (${delivered!.id}, now() - interval '1 minute', 1, 9, null, 'timeout', 'receiver', null)`;
    const { tries } = (await findDelivery(sql, delivered!.id))!;
    expect(tries).toMatchObject([
      { number: 1, outcome: 'timeout', fault: 'receiver', httpStatus: null, tookMs: 9 },
      { number: 2, outcome: 'delivered', fault: null, httpStatus: 200, excerpt: 'thanks', at: delivered!.settledAt },
    ]);
  });

  test('of before, kept as rows, are shown and measured the same', async () => {
    const [subscriber] = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = 'off'`;
    await sql`update purchase_watch_internal.deliveries set took_ms = null, http_status = null where subscriber = ${subscriber!.id}`;
    await sql`
      insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, http_status, outcome)
      select id, settled_at, 1, 42, 204, 'delivered' from purchase_watch_internal.deliveries where subscriber = ${subscriber!.id} and status = 'delivered'`;
    const [old] = await all({ subscriber: 'off', status: 'delivered' });
    expect((await findDelivery(sql, old!.id))!.tries).toMatchObject([
      { number: 1, outcome: 'delivered', tookMs: 42, httpStatus: 204 },
    ]);
    expect(await paceOf(sql, subscriber!.id)).toEqual({
      median: 42,
      measured: 200,
      replicas: 1,
      waiting: OF_EACH,
      waitingAtLeast: false,
    });
    const { fetched, scanned } = await rowsRead(sql, 'deliveries', (tx) => paceOf(tx, subscriber!.id));
    expect([scanned, fetched <= 200 + OF_EACH]).toEqual([0, true]);
  });
});
