import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import {
  countErasable,
  type Erasable,
  erase,
  eraseMentions,
  erasures,
  fingerprint,
} from '../../../src/postgres/purchases/erase.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let purchase: Erasable;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'fi']);
  purchase = await watched('a "quoted" one');
});
afterEach(() => database.drop());

async function watched(purchaseId: string): Promise<Erasable> {
  await register(database.sql, [{ purchaseId, site: 'se', reference: null, metadata: null }]);
  const [row] = await database.sql<[{ id: number }]>`select id from purchase_watch.purchases where purchase_id = ${purchaseId}`;
  return { id: row.id, site: 'se', purchaseId };
}

async function mention(id: string, type: string, site: string, purchases: readonly string[]): Promise<void> {
  const body = JSON.stringify({ id, data: { purchases } });
  await database.sql`
    insert into purchase_watch_internal.events (created_at, shard, id, type, site, body) values (now(), 0, ${id}, ${type}, ${site}, ${body})`;
}

const eraseIt = async (within: number) =>
  erase(database.sql, purchase, { by: 'a test', counts: await countErasable(database.sql, purchase), within });
/** The purchases that each event names. */
const named = async (): Promise<Record<string, string[]>> => {
  const rows = await database.sql<{ id: string; body: string }[]>`select id, body from purchase_watch_internal.events`;
  return Object.fromEntries(rows.map(({ id, body }) => [id, JSON.parse(body).data.purchases]));
};

test('two erasures of purchases that one event names leave neither of them in it', async () => {
  const other = await watched('another one');
  await mention('both', 'incident.opened', 'se', [purchase.purchaseId, other.purchaseId]);
  const counts = await countErasable(database.sql, purchase);
  await Promise.all([purchase, other].map((each) => erase(database.sql, each, { by: 'a test', counts, within: 20_000 })));
  expect(await named()).toEqual({ both: ['(erased)', '(erased)'] });
});

test('events that name the id lose it, those that name a longer one or one of another site are as they were', async () => {
  await mention('named', 'incident.opened', 'se', ['other', purchase.purchaseId]);
  await mention('several', 'incident.opened', '', ['other', purchase.purchaseId]);
  await mention('longer', 'incident.opened', 'se', [`${purchase.purchaseId}-2`]);
  await mention('elsewhere', 'incident.opened', 'fi', [purchase.purchaseId]);
  expect(await eraseIt(20_000)).not.toBeNull();
  const rewritten = { named: ['other', '(erased)'], several: ['other', '(erased)'] };
  const others = { longer: [`${purchase.purchaseId}-2`], elsewhere: [purchase.purchaseId] };
  expect(await named()).toEqual({ ...rewritten, ...others });
  await mention('late', 'incident.grew', 'se', [purchase.purchaseId]);
  expect(await eraseMentions(database.sql, purchase)).toBe(1);
  expect(await eraseMentions(database.sql, purchase)).toBe(0);
  expect(await named()).toEqual({ ...rewritten, ...others, late: ['(erased)'] });
});

test('a purchase that was given the row id of the one to be erased is not erased', async () => {
  const { sql } = database;
  for (const renamed of [sql`purchase_id = 'new'`, sql`site = 'fi', purchase_id = ${purchase.purchaseId}`]) {
    await sql`update purchase_watch.purchases set ${renamed}`;
    expect(await eraseIt(0)).toBeNull();
  }
  expect(await sql`select from purchase_watch.purchases`).toHaveLength(1);
  expect(await sql`select from purchase_watch_internal.forgotten`).toHaveLength(0);
});

test('it leaves a nudge of a bulk registration, which is of the rows behind it, too', async () => {
  await database.sql`delete from purchase_watch_internal.nudges`;
  await database.sql`
    insert into purchase_watch_internal.nudges (purchase, shard, site, slot) select id, shard, site, due_slot from purchase_watch.purchases where purchase_id = ${purchase.purchaseId}`;
  await eraseIt(20_000);
  expect(await database.sql`select from purchase_watch_internal.nudges`).toHaveLength(1);
});

test('it leaves a hash of site and id, and no nudge', async () => {
  await eraseIt(20_000);
  const [row] =
    await database.sql`select site, sha256, (select count(*)::int from purchase_watch_internal.nudges) as nudges from purchase_watch_internal.forgotten`;
  expect(row).toEqual({ site: 'se', sha256: fingerprint('se', purchase.purchaseId), nudges: 0 });
  expect(await erasures(database.sql, { purchaseId: purchase.purchaseId, site: null })).toMatchObject([{ site: 'se' }]);
  expect(await erasures(database.sql, { purchaseId: purchase.purchaseId, site: 'fi' })).toEqual([]);
});

test('it counts the attempts that delivered too, which have no row of their own', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x')`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, created_at, body)
    select 'evt_' || n, 'purchase.state_changed', 'se', ${purchase.id}, n, nullif(n - 1, 0), 0, now(), '{}' from generate_series(1, 2) n`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, took_ms)
    select e.position, ${purchase.id}, s.id, 0, now(), 'delivered', now(), e.sequence, 12 from purchase_watch_internal.events e, purchase_watch_internal.subscribers s`;
  await sql`
    insert into purchase_watch_internal.attempts (delivery, at, number, took_ms, outcome)
    select id, now(), 1, 12, 'timeout' from purchase_watch_internal.deliveries where attempts = 2`;
  expect(await countErasable(sql, purchase)).toMatchObject({ events: 2, deliveries: 2, attempts: 3, pending: 0 });
});

test('while somebody holds a row it waits and erases nothing, or all', async () => {
  await mention('named', 'incident.opened', 'se', [purchase.purchaseId]);
  const [holding, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = database.sql.begin(async (tx) => {
    await tx`select from purchase_watch_internal.events where id = 'named' for key share`;
    holding.resolve();
    await letGo.promise;
  });
  await holding.promise;
  expect(await eraseIt(100)).toBeNull();
  expect(await database.sql`select from purchase_watch.purchases`).toHaveLength(1);
  const erased = eraseIt(20_000);
  letGo.resolve();
  await holder;
  expect(await erased).not.toBeNull();
  expect(await named()).toEqual({ named: ['(erased)'] });
});

test('it waits for no stay that the judge deletes, for the judge may wait for the purchase then', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.stays (customer, purchase, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    values (1, ${purchase.id}, now(), now(), 0, 0, 6, 2, 'se', 'well', false, false)`;
  let erased: ReturnType<typeof eraseIt> | undefined;
  await sql.begin(async (tx) => {
    await tx`delete from purchase_watch_internal.stays`;
    expect(await eraseIt(100)).toBeNull();
    erased = eraseIt(20_000);
    await delay(300);
    await tx`select from purchase_watch.purchases for key share`;
  });
  expect(await erased).not.toBeNull();
});

test('one that is gone already is not waited for', async () => {
  await database.sql`delete from purchase_watch.purchases`;
  expect(await eraseIt(3_600_000)).toBeNull();
});
