/** What a recording statement answers of the deliveries that it wrote: no less and nothing else than a read of the outbox finds. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { loadDueDeliveries } from '../../../src/postgres/deliveries/deliveries.ts';
import type { NewDeliveries } from '../../../src/postgres/deliveries/new-deliveries.ts';
import { dueSlot, loadPurchases } from '../../../src/postgres/polling/queue.ts';
import { recordChanged } from '../../../src/postgres/polling/record.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { answer } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const T = Date.UTC(2026, 10, 20, 9, 15);
const SECOND = 1_000;
const SHARDS = Array.from({ length: 64 }, (_, shard) => shard);
const context = { replica: 'me', holdings: SHARDS.map((shard) => ({ shard, epoch: 3 })) };

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  // As the recorder's sessions plan.
  sql = connect(database.url, { max: 2, steadyPlans: true, orderedPlans: true });
  await syncSites(sql, ['default']);
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});
let shop: number;
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.unknown_states, purchase_watch_internal.subscribers cascade`;
  await sql`delete from purchase_watch_internal.events`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = 3`;
  const common = { kind: 'webhook', format: 'standard', sites: null, states: null, addressHash: 'x' } as const;
  const [row] = await syncSubscribers(sql, [{ ...common, name: 'shop', audience: 'systems', types: null }]);
  shop = row!.id;
});

async function watched(count: number): Promise<Purchase[]> {
  const rows = await sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id, reference, metadata)
    select 'p-' || n, 'order ' || n, '{"basket": 250.10}' from generate_series(1, ${count}) n returning id::float8 as id`;
  const loaded = await loadPurchases(
    sql,
    rows.map(({ id }) => id),
  );
  return loaded.map(({ purchase }) => purchase);
}

/** Records that purchases are seen in a state; answers what the statement says of its deliveries, and the purchases as they are then. */
async function see(purchases: readonly Purchase[], state: number, at: number, on: Parameters<typeof recordChanged>[0] = sql) {
  const batch = purchases.map((purchase) => {
    const when = { askedAt: at, now: at };
    const outcome = decide(purchase, answer(state), { ...when, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
    return { ...when, outcome, slot: outcome.nextPollAt === null ? null : dueSlot(outcome.nextPollAt) };
  });
  const { deliveries } = await recordChanged(on, batch, context);
  return { deliveries, purchases: batch.map(({ outcome }) => outcome.purchase) };
}

async function readOutbox(now: number): Promise<NewDeliveries> {
  const wanted = [{ subscriber: shop, room: 1_000, from: 0, upTo: 2, dueSince: 0 } as const];
  const { rows } = await loadDueDeliveries(sql, { wanted, except: [] }, { shards: SHARDS, now });
  return { rows, isComplete: true };
}

test('the statement answers what a read of the outbox would find, word for word', async () => {
  const first = await see(await watched(3), 6, T);
  expect(first.deliveries.rows).toHaveLength(3);
  expect(first.deliveries).toEqual(await readOutbox(T));
  const second = await see(first.purchases, 4, T + SECOND);
  const outbox = await readOutbox(T + SECOND);
  // The second deliveries name the first ones, behind which they wait.
  expect(second.deliveries.rows).toEqual(outbox.rows.slice(3));
  expect(second.deliveries.rows.map(({ behind }) => behind?.id)).toEqual(first.deliveries.rows.map(({ id }) => id));
});

test('a subscriber that is off, and one that does not want the event, have none', async () => {
  const common = {
    kind: 'webhook',
    format: 'standard',
    sites: null,
    addressHash: 'x',
    audience: 'systems',
    types: null,
  } as const;
  await syncSubscribers(sql, [
    { ...common, name: 'shop', states: null },
    { ...common, name: 'paid only', states: [2] },
  ]);
  await sql`update purchase_watch_internal.subscribers set status = 'off', status_reason = 'test' where id = ${shop}`;
  const { deliveries } = await see(await watched(1), 6, T);
  expect(deliveries).toEqual({ rows: [], isComplete: true });
});

test('the deliveries of a bulk load are left to a read of the outbox', async () => {
  const { deliveries } = await see(await watched(60), 6, T);
  expect(deliveries).toEqual({ rows: [], isComplete: false });
  expect((await readOutbox(T)).rows).toHaveLength(60);
});

test('the event about an unknown state belongs to no purchase, and is left to a read of the outbox', async () => {
  const { deliveries } = await see(await watched(1), 77, T);
  const outbox = await readOutbox(T);
  expect(outbox.rows.map(({ event }) => event.type).sort()).toEqual(['purchase.state_changed', 'site.unknown_state']);
  expect(deliveries.isComplete).toBe(false);
  expect(deliveries.rows.map(({ event }) => event.type)).toEqual(['purchase.state_changed']);
});

test('so many that the statement would become long are left to a read of the outbox, from the last ones on', async () => {
  const first = await see(await watched(600), 6, T);
  expect(first.deliveries.isComplete).toBe(false);
  const { deliveries } = await see(first.purchases, 4, T + SECOND);
  expect([deliveries.rows.length, deliveries.isComplete]).toEqual([500, false]);
  const [{ first: lowest }] = await sql<[{ first: number }]>`
    select min(d.id)::float8 as first from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event
    where e.sequence = 2`;
  expect(deliveries.rows[0]!.id).toBe(lowest);
});

test('to know what stands before a delivery, the statement reads no delivery of another purchase', async () => {
  const { purchases } = await see(await watched(2_000), 6, T);
  await sql`analyze`;
  const some = purchases.slice(0, 10);
  const cost = await rowsRead(sql, 'deliveries', async (tx) => see(some, 4, T + SECOND, tx));
  expect(cost).toEqual({ scanned: 0, fetched: 10 });
});
