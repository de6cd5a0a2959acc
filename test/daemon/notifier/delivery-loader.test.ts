import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDeliveryLoader } from '../../../src/daemon/notifier/delivery-loader.ts';
import { createSubscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { createOwnership, type OwnershipKeeper } from '../../../src/daemon/shards/ownership.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/subscriber-health.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { realClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
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
  const log = createLogger({ level: 'silent' });
  const lease = { replica: 'a', process: 'test 1 1', ttl: 60_000, renewEvery: 2_000 };
  ownership = createOwnership({ sql, clock: realClock(), log, ...lease });
  await ownership.tick();
});
afterAll(() => database.drop());

let ownership: OwnershipKeeper;
function loading(asked: Sql) {
  const channel = { send: () => Promise.reject(new Error('not sent here')), close: async () => {} };
  const means = { channel, concurrency: 4, spacing: 0, timeout: 1_000, schedule: [], patience: WITH_SYSTEMS };
  const subscriber = createSubscriber({ id: shop, name: 'shop', addressHash: 'x', ...means });
  return { subscriber, loader: createDeliveryLoader({ sql: asked, clock: realClock(), ownership }) };
}

test('a backlog of what is new does not keep what is not new from being read', async () => {
  const { subscriber, loader } = loading(sql);
  const { added } = await loader.load([subscriber], true);
  expect(added).toBeLessThan(NEW);
  const late = await sql<{ id: number }[]>`select id::float8 as id from purchase_watch_internal.deliveries where rank = 1`;
  expect(late.filter(({ id }) => subscriber.queue.has(id))).toHaveLength(LATE);
});

test('what is read a second time goes on from there, unless something happened while it was read', async () => {
  const { subscriber, loader } = loading(sql);
  await loader.load([subscriber], false);
  expect(subscriber.reading.readUntil).toBeGreaterThan(0);
  const interrupted = loading(((...given: Parameters<Sql>) => {
    // A settlement that fails, say, while the reading is under way.
    interrupted.subscriber.reading.restart();
    return sql(...given);
  }) as unknown as Sql);
  await interrupted.loader.load([interrupted.subscriber], false);
  const { readUntil, mayHoldMore } = interrupted.subscriber.reading;
  expect([readUntil, mayHoldMore]).toEqual([0, true]);
});

test('nothing is taken into memory of a shard that was lost and gained again during the read', async () => {
  const changing = loading(((...given: Parameters<Sql>) => {
    const query = sql(...given);
    // Parts of the statement are made in the same way.
    if (!given[0].join('').includes('cross join lateral')) return query;
    return query.then(async (rows: unknown) => {
      await sql`update purchase_watch_internal.shards set epoch = epoch + 1 where id = 7`;
      await ownership.tick();
      return rows;
    });
  }) as unknown as Sql);
  await changing.loader.load([changing.subscriber], true);
  const shards = await sql<
    { id: number; shard: number }[]
  >`select id::float8 as id, shard from purchase_watch_internal.deliveries`;
  const taken = new Set(shards.filter(({ id }) => changing.subscriber.queue.has(id)).map(({ shard }) => shard));
  expect([taken.has(7), taken.size]).toEqual([false, 63]);
  expect(changing.subscriber.reading.mayHoldMore).toBe(true);
});
