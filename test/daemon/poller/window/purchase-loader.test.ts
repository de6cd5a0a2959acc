/** What the patrol reads while shards change hands: the real queue in a real Postgres. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPurchaseLoader, type PurchaseLoader } from '../../../../src/daemon/poller/window/purchase-loader.ts';
import { createWindow, type Window } from '../../../../src/daemon/poller/window/window.ts';
import { createOwnership, type OwnershipKeeper } from '../../../../src/daemon/shards/ownership.ts';
import type { Sql } from '../../../../src/postgres/connection/database.ts';
import { LAST_SLOT } from '../../../../src/postgres/polling/queue.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { requestPoll } from '../../../../src/postgres/purchases/purchases.ts';
import { markLeaving, renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';

let database: TestDatabase;
let ownership: OwnershipKeeper;
let window: Window;
let loader: PurchaseLoader;
let elapsed: number;
let log: string[];
let woken: number;
/** What happens once a statement that reads the queue, or another one, has been carried out, before its answer is known. */
let meanwhile: (() => Promise<void>) | null;
const READS_QUEUE = '(q.due_slot, q.id) >';
let statement = READS_QUEUE;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
  elapsed = 0;
  log = [];
  woken = 0;
  meanwhile = null;
  statement = READS_QUEUE;
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const logger = createLogger({ level: 'warn', destination });
  const clock = { now: Date.now, monotonic: () => elapsed, sleep: async () => undefined };
  const whole = { clock, log: logger, replica: 'a', process: 'm 1 1', ttl: 30_000, renewEvery: 2_000 };
  ownership = createOwnership({ ...whole, sql: database.sql });
  window = createWindow({ capacity: 1_000, epochOf: ownership.epochOf, now: clock.now });
  loader = createPurchaseLoader({
    sql: withMeanwhile(database.sql),
    clock,
    log: logger,
    ownership,
    windows: new Map([['se', window]]),
    wake: () => {
      woken += 1;
    },
  });
  await ownership.tick();
});
afterEach(() => database.drop());

function withMeanwhile(sql: Sql): Sql {
  return new Proxy(sql, {
    apply: (target, self, given: [TemplateStringsArray, ...unknown[]]) => {
      const query = Reflect.apply(target, self, given);
      if (meanwhile === null || !given[0].join('').includes(statement)) return query;
      const happens = meanwhile;
      return query.then(async (rows: unknown) => {
        await happens();
        return rows;
      });
    },
  });
}

/** Purchases that have been due for two hours; answers their ids and shards. */
async function addDue(count: number): Promise<{ id: number; shard: number }[]> {
  return database.sql`
    insert into purchase_watch.purchases (purchase_id, site, next_poll_at)
    select 'p-' || gen_random_uuid(), 'se', now() - interval '2 hours' from generate_series(1, ${count})
    returning id::float8 as id, shard`;
}
const found = (): unknown[] => log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'queue.found_overdue');

test('the patrol takes what is in no memory, and nothing of a shard that was lost, or lost and gained again, while it read', async () => {
  const purchases = await addDue(128);
  while (await loader.load());
  expect(purchases.every(({ id }) => window.knows(id))).toBe(true);
  const [lost, back, kept] = [...new Set(purchases.map(({ shard }) => shard))] as [number, number, number];
  const of = (shard: number): number[] => purchases.filter((each) => each.shard === shard).map(({ id }) => id);

  const [missed] = of(kept);
  window.remove(missed!);
  // Before the missed one in the queue lie those that some memory keeps for a later poll.
  await addDue(12);
  await database.sql`
    update purchase_watch.purchases set shard = ${kept}, due_slot = 0, next_poll_at = now() + interval '1 minute'
    where id > all (${`{${purchases.map(({ id }) => id).join()}}`}::bigint[])`;
  // Another replica, which takes one shard and no share.
  await renewReplica(database.sql, { id: 'b', process: 'n 1 1', ttl: 30_000 });
  await markLeaving(database.sql, 'b');
  meanwhile = async () => {
    meanwhile = null;
    await database.sql`update purchase_watch_internal.shards set owner = 'b', epoch = epoch + 1 where id = ${lost}`;
    await database.sql`update purchase_watch_internal.shards set epoch = epoch + 2 where id = ${back}`;
    await ownership.tick();
  };
  elapsed += 60_000;
  await ownership.tick();
  await loader.load();
  expect(meanwhile).toBeNull();
  expect([lost, back].flatMap(of).filter(window.knows)).toEqual([]);
  expect(found()).toMatchObject([{ site: 'se', purchases: 1 }]);
  expect(window.knows(missed!)).toBe(true);

  // The shard that came back is read from the beginning.
  while (await loader.load());
  expect([of(lost).some(window.knows), of(back).every(window.knows)]).toEqual([false, true]);
  expect(found()).toHaveLength(1);
});

test('the patrol takes nothing once the lease has ended: another replica may have written the rows', async () => {
  const purchases = await addDue(64);
  while (await loader.load());
  // Not in this replica's memory: the replica that took the shard over has put them off, and the database's clock has stepped since.
  for (const { id } of purchases) window.remove(id);
  elapsed += 60_000;
  await loader.load();
  expect(found()).toEqual([]);

  await ownership.tick();
  meanwhile = async () => {
    elapsed += 31_000;
  };
  await loader.load();
  expect(found()).toEqual([]);
  expect(purchases.some(({ id }) => window.knows(id))).toBe(false);

  // With a lease that lasts, what is in no memory is found.
  meanwhile = null;
  elapsed += 60_000;
  await ownership.tick();
  await loader.load();
  expect(found()).toHaveLength(1);
});

test('the patrol reads nothing of a shard that was lost after the load began', async () => {
  await addDue(64);
  while (await loader.load());
  await renewReplica(database.sql, { id: 'b', process: 'n 1 1', ttl: 30_000 });
  await markLeaving(database.sql, 'b');
  elapsed += 60_000;
  await ownership.tick();
  statement = 'purchase_watch_internal.nudges';
  meanwhile = async () => {
    meanwhile = null;
    await database.sql`update purchase_watch_internal.shards set owner = 'b', epoch = epoch + 1`;
    await ownership.tick();
  };
  await loader.load();
  expect(meanwhile).toBeNull();
  expect(ownership.owned()).toEqual([]);
  expect(found()).toEqual([]);
});

test('gaining shards and losing one wakes the loop that loads', async () => {
  expect(woken).toBe(1);
  await database.sql`update purchase_watch_internal.shards set owner = 'b', epoch = epoch + 1 where id = 7`;
  await renewReplica(database.sql, { id: 'b', process: 'n 1 1', ttl: 30_000 });
  await markLeaving(database.sql, 'b');
  await ownership.tick();
  expect(woken).toBe(2);
});

/** Purchases of one statement, registered two hours ago; more than fifty are a bulk registration. */
async function registerTogether(count: number): Promise<number[]> {
  const rows = await database.sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id, site, registered_at)
    select 'p-' || gen_random_uuid(), 'se', now() - interval '2 hours' from generate_series(1, ${count}) returning id::float8 as id`;
  return rows.map(({ id }) => id);
}
const known = (ids: readonly number[]): number => ids.filter(window.knows).length;

test('of a bulk registration as many are read as have room, and a purchase that is registered afterwards with the next load', async () => {
  while (await loader.load());
  expect(window.bulk.behind(LAST_SLOT)).toEqual([]);
  const bulk = await registerTogether(2_000);
  const nudges = await database.sql`select from purchase_watch_internal.nudges`;
  expect(nudges.length).toBeLessThanOrEqual(64);
  while (await loader.load());
  // An eighth of the other room, of which more than half is filled.
  expect(known(bulk)).toBeGreaterThan(62);
  expect(known(bulk)).toBeLessThanOrEqual(125);
  const [single] = await registerTogether(1);
  await loader.load();
  expect(window.knows(single!)).toBe(true);
  expect(window.take(Date.now())!.purchase.id).toBe(single);
});

test('the rest of a bulk registration is read when its first purchases are gone, or were asked for, before the nudge is', async () => {
  while (await loader.load());
  const bulk = await registerTogether(80);
  await database.sql`
    delete from purchase_watch.purchases where id in (select purchase from purchase_watch_internal.nudges where shard % 2 = 0)`;
  const asked = await database.sql<{ site: string; purchaseId: string }[]>`
    select p.site, p.purchase_id as "purchaseId"
    from purchase_watch_internal.nudges n join purchase_watch.purchases p on p.id = n.purchase where n.shard % 2 = 1`;
  for (const purchase of asked) await requestPoll(database.sql, purchase);
  const left = await database.sql<{ id: number }[]>`select id::float8 as id from purchase_watch.purchases`;
  while (await loader.load());
  expect(left.length).toBeLessThan(bulk.length);
  expect(known(left.map(({ id }) => id))).toBe(left.length);
  expect(await database.sql`select from purchase_watch_internal.nudges`).toHaveLength(0);
});

test('the patrol finds a first poll of a bulk registration that is in no memory', async () => {
  const bulk = await registerTogether(60);
  while (await loader.load());
  expect(known(bulk)).toBe(60);
  window.remove(bulk[0]!);
  elapsed += 60_000;
  await ownership.tick();
  await loader.load();
  expect(found()).toMatchObject([{ site: 'se', purchases: 1 }]);
  expect(window.knows(bulk[0]!)).toBe(true);
});
