/** Counts of transitions: what was recorded, no more and no less, whoever records and folds at the same time. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { dueSlot, loadPurchases } from '../../../src/postgres/polling/queue.ts';
import { type Decided, recordChanged } from '../../../src/postgres/polling/record.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { foldTransitionCounts } from '../../../src/postgres/polling/transition-counts.ts';
import { removeTransitionCounts } from '../../../src/postgres/upkeep/retention.ts';
import { answer } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const T = Date.UTC(2026, 10, 20, 9, 19, 59);
const SECOND = 1_000;
const holdings = Array.from({ length: 64 }, (_, shard) => ({ shard, epoch: 3 }));
const context = { replica: 'me', holdings };

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default', 'se']);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges, purchase_watch_internal.transition_counts,
    purchase_watch_internal.transition_count_changes cascade`;
  await sql`delete from purchase_watch_internal.events`;
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = 3`;
});

async function watched(count: number, site = 'default'): Promise<Purchase[]> {
  const rows = await sql<{ id: number }[]>`
    insert into purchase_watch.purchases (purchase_id, site) select ${site} || '-' || n, ${site} from generate_series(1, ${count}) n returning id`;
  const loaded = await loadPurchases(
    sql,
    rows.map(({ id }) => id),
  );
  return loaded.map(({ purchase }) => purchase).sort((a, b) => a.id - b.id);
}

function polled(purchase: Purchase, state: number, at: number): Decided {
  const outcome = decide(purchase, answer(state), {
    ...{ askedAt: at, now: at, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 },
  });
  return { outcome, askedAt: at, now: at, slot: outcome.nextPollAt === null ? null : dueSlot(outcome.nextPollAt) };
}

/** Records that all of them are seen in a state; answers the purchases as they are then. */
async function see(purchases: readonly Purchase[], state: number, at: number): Promise<Purchase[]> {
  const batch = purchases.map((purchase) => polled(purchase, state, at));
  await recordChanged(sql, batch, context);
  return batch.map(({ outcome }) => outcome.purchase);
}

interface Row {
  readonly site: string;
  readonly bucket: number;
  readonly from: number | null;
  readonly to: number;
  readonly count: number;
}
const counted = () => sql<Row[]>`
  select site, bucket, from_state as from, to_state as to, sum(count)::float8 as count
  from (select * from purchase_watch_internal.transition_counts union all select * from purchase_watch_internal.transition_count_changes) c
  group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
const recorded = () => sql<Row[]>`
  select p.site, to_timestamp(floor(extract(epoch from t.not_after) / 600) * 600) as bucket, t.from_state as from, t.to_state as to,
    count(*)::float8 as count
  from purchase_watch_internal.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase
  group by 1, 2, 3, 4 order by 1, 2, 3, 4`;
const waiting = async () =>
  (await sql<{ count: number }[]>`select count::float8 as count from purchase_watch_internal.transition_count_changes`).map(
    ({ count }) => count,
  );
const foldAll = async (): Promise<void> => {
  while ((await foldTransitionCounts(sql)) > 0);
};

test('each change is counted once, by site, states and the ten minutes in which it was first seen', async () => {
  const [a, b] = await watched(2);
  const [se] = await watched(1, 'se');
  const first = await see([a!, se!], 0, T);
  // The next ten minutes have begun.
  await see([...first, b!], 6, T + SECOND);
  const expected = [
    { site: 'default', bucket: Date.UTC(2026, 10, 20, 9, 10), from: null, to: 0, count: 1 },
    { site: 'default', bucket: Date.UTC(2026, 10, 20, 9, 20), from: 0, to: 6, count: 1 },
    { site: 'default', bucket: Date.UTC(2026, 10, 20, 9, 20), from: null, to: 6, count: 1 },
    { site: 'se', bucket: Date.UTC(2026, 10, 20, 9, 10), from: null, to: 0, count: 1 },
    { site: 'se', bucket: Date.UTC(2026, 10, 20, 9, 20), from: 0, to: 6, count: 1 },
  ];
  expect([...(await counted())]).toEqual(expected);
  expect([...(await recorded())]).toEqual(expected);
});

test('a bulk of first sights is one row of each statement, and exact', async () => {
  const purchases = await watched(500);
  await see(purchases, 1, T);
  expect(await waiting()).toEqual([500]);
  expect([...(await counted())]).toEqual([...(await recorded())]);
});

test('what is refused is not counted, and what changes no state is not', async () => {
  const [kept, changed, same] = await watched(3);
  const [seen] = await see([same!], 6, T);
  await sql`update purchase_watch.purchases set revision = revision + 1 where id = ${changed!.id}`;
  const stuck = polled(seen!, 6, T + 3_600_000);
  expect(stuck.outcome.events.map(({ type }) => type)).not.toContain('purchase.state_changed');
  const { ids } = await recordChanged(sql, [polled(kept!, 0, T), polled(changed!, 0, T), stuck], context);
  expect(ids.has(changed!.id)).toBe(false);
  expect((await counted()).map(({ from, to, count }) => [from, to, count])).toEqual([
    [null, 0, 1],
    [null, 6, 1],
  ]);
  await sql`update purchase_watch_internal.shards set owner = 'another', epoch = 4`;
  await recordChanged(sql, [polled(kept!, 0, T)], context);
  expect([...(await counted())]).toEqual([...(await recorded())]);
});

test('two who record and two who fold at once leave exact counts', async () => {
  const groups = [await watched(60), await watched(60, 'se')];
  let working = true;
  let folded = 0;
  const folders = [1, 2].map(async () => {
    while (working) folded += await foldTransitionCounts(sql);
  });
  await Promise.all(
    groups.map(async (group, index) => {
      let purchases = group;
      for (let turn = 0; turn < 10; turn++) {
        const half = purchases.slice(0, 30);
        const at = T + turn * 240 * SECOND;
        purchases = [...purchases.slice(30), ...(await see(half, [0, 1, 6, 4][(turn + index) % 4]!, at))];
      }
    }),
  );
  working = false;
  await Promise.all(folders);
  await foldAll();
  expect(folded).toBeGreaterThan(0);
  expect([...(await counted())]).toEqual([...(await recorded())]);
  expect(await waiting()).toEqual([]);
});

test('what somebody has not committed yet is neither waited for nor lost when others are folded', async () => {
  const [a, b] = await watched(2);
  await see([a!], 0, T);
  await sql.begin(async (held) => {
    await recordChanged(held, [polled(b!, 0, T)], context);
    expect(await foldTransitionCounts(sql)).toBe(1);
    expect((await counted()).map(({ count }) => count)).toEqual([1]);
  });
  await foldAll();
  expect((await counted()).map(({ count }) => count)).toEqual([2]);
});

test('an erased purchase stays counted: the counts say nothing of it', async () => {
  const [purchase] = await watched(1);
  await see([purchase!], 0, T);
  await sql`delete from purchase_watch.purchases`;
  expect((await counted()).map(({ count }) => count)).toEqual([1]);
});

test('old buckets are deleted in batches, of former sites too, without reading the others', async () => {
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select s, to_timestamp(${T / 1_000} - n * 600), null, 0, 1 from unnest(array['default', 'se']) s, generate_series(0, 999) n`;
  await sql`update purchase_watch_internal.sites set configured = false where name = 'se'`;
  const before = T - 990 * 600 * SECOND;
  const remove = (limit: number) => removeTransitionCounts(sql, { before, limit });
  const read = await rowsRead(sql, 'transition_counts', async (tx) => {
    expect(await removeTransitionCounts(tx, { before, limit: 5 })).toBe(5);
  });
  expect(read.scanned).toBe(0);
  expect(read.fetched).toBeLessThan(50);
  expect([await remove(100), await remove(100)]).toEqual([13, 0]);
  expect((await counted()).length).toBe(1_982);
  await sql`update purchase_watch_internal.sites set configured = true where name = 'se'`;
});
