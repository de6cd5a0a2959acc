import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLoader } from '../../../src/daemon/notifier/loader.ts';
import type { SubscriberPauses } from '../../../src/daemon/notifier/subscriber-pauses.ts';
import { createSubscriberQueue } from '../../../src/daemon/notifier/subscriber-queue.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/subscriber-health.ts';
import type { Ownership } from '../../../src/domain/replicas/ownership.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { realClock } from '../../../src/runtime/clock.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const NEW = 1_000;
const LATE = 10;

let database: TestDatabase;
let sql: Sql;
let shop: number;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default']);
  const common = {
    kind: 'webhook',
    audience: 'systems',
    format: 'standard',
    types: null,
    sites: null,
    states: null,
    addressHash: 'x',
  } as const;
  const [row] = await syncSubscribers(sql, [{ ...common, name: 'shop' }]);
  shop = row!.id;
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || i, 'site.reachable', 'default', i % 64, now() - interval '1 minute', '{}' from generate_series(1, ${NEW + LATE}::integer) i
      returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, rank)
    select position, position, ${shop}, shard, now() - interval '1 minute', case when position > ${NEW} then 1 else 0 end from event`;
});
afterAll(() => database.drop());

function loading(asked: Sql) {
  const channel = { send: () => Promise.reject(new Error('not sent here')), close: async () => {} };
  const means = { channel, concurrency: 4, spacing: 0, timeout: 1_000, schedule: [], patience: WITH_SYSTEMS };
  const queue = createSubscriberQueue({ id: shop, name: 'shop', addressHash: 'x', ...means });
  const ownership = { owned: () => Array.from({ length: 64 }, (_, shard) => shard), epochOf: () => 1 } as unknown as Ownership;
  const subscriberPauses = { pausedUntil: () => null } as unknown as SubscriberPauses;
  return { queue, loader: createLoader({ sql: asked, clock: realClock(), ownership, subscriberPauses }) };
}

test('a backlog of what is new does not keep what is not new from being read', async () => {
  const { queue, loader } = loading(sql);
  const { added } = await loader.load([queue], true);
  expect(added).toBeLessThan(NEW);
  const late = await sql<{ id: number }[]>`select id::float8 as id from purchase_watch_internal.deliveries where rank = 1`;
  expect(late.filter(({ id }) => queue.has(id))).toHaveLength(LATE);
});

test('what is read a second time goes on from there, unless something happened while it was read', async () => {
  const { queue, loader } = loading(sql);
  await loader.load([queue], false);
  expect(queue.readUntil).toBeGreaterThan(0);
  const interrupted = loading(((...given: Parameters<Sql>) => {
    // A settlement that fails, say, while the reading is under way.
    interrupted.queue.lookFromStart();
    return sql(...given);
  }) as unknown as Sql);
  await interrupted.loader.load([interrupted.queue], false);
  expect([interrupted.queue.readUntil, interrupted.queue.mayHoldMore]).toEqual([0, true]);
});
