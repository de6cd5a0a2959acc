/** Lists over a large table: what is read does not grow with it, and pages neither skip nor repeat. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Queries } from '../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { listPurchases as page } from '../../../src/postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../../src/postgres/purchases/list-filter.ts';
import { type PurchaseRow, register } from '../../../src/postgres/purchases/purchases.ts';
import { foldCounts } from '../../../src/postgres/reports/counts.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const ROWS = 10_000;
const LIMIT = 20;
/** Status and state, stuck or not: as the statement below makes them. */
const GROUPS = 5;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default', 'se', 'empty']);
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, status, state, state_since)
    select 'p-' || i, case when i % 10 = 0 then 'se' else 'default' end, 'ORD-' || i % 2000,
      case when i % 3 = 0 then 'settled' else 'watching' end,
      case when i % 3 = 0 then 2 when i % 3 = 1 then 6 end, case when i % 3 < 2 then now() - i * interval '1 second' end
    from generate_series(1, ${ROWS}) i`;
  await sql`analyze purchase_watch.purchases`;
  // After the planner has looked: of these it knows nothing, and they are the oldest rows.
  await sql`update purchase_watch.purchases set stuck_since = now() where id in (select id from purchase_watch.purchases where state = 6 order by id limit 7)`;
  await sql`update purchase_watch.purchases set state = 99 where id in (select id from purchase_watch.purchases where state = 2 order by id limit 3)`;
});
afterAll(() => database.drop());

const FILTERS: PurchaseFilter[] = [undefined, 'se'].flatMap((site) =>
  [undefined, 'watching', 'settled', 'expired'].flatMap((status) =>
    [undefined, 2, 6, 99, 7].flatMap((state) => [undefined, true, false].map((stuck) => ({ site, status, state, stuck }))),
  ),
);
/** The newest purchases before a row. */
async function listPurchases(
  sql: Queries,
  { filter, before, limit }: { filter: PurchaseFilter; before: number | null; limit: number },
): Promise<readonly PurchaseRow[]> {
  const after = before === null ? null : ({ order: 'id', key: String(before), id: before } as const);
  return (await page(sql, { filter, sort: 'newest', after, limit })).rows;
}

const named = (filter: PurchaseFilter): string => JSON.stringify(filter);

/** What the list must hold, found the slow way. */
async function expected({ site, status, state, stuck, reference }: PurchaseFilter): Promise<number[]> {
  const rows = await database.sql<{ id: number }[]>`
    select id::float8 as id from purchase_watch.purchases
    where (${site ?? null}::text is null or site = ${site ?? null}) and (${status ?? null}::text is null or status = ${status ?? null})
      and (${state ?? null}::integer is null or state = ${state ?? null})
      and (${stuck ?? null}::boolean is null or (stuck_since is not null) = ${stuck ?? null})
      and (${reference ?? null}::text is null or reference = ${reference ?? null})
    order by id desc`;
  return rows.map(({ id }) => id);
}

test.each(FILTERS.map((filter) => [named(filter), filter] as const))('%s: right, and few rows are read', async (_, filter) => {
  const all = await expected(filter);
  const middle = all[Math.floor(all.length / 2)] ?? null;
  for (const before of [null, middle]) {
    const wanted = all.filter((id) => before === null || id < before).slice(0, LIMIT);
    const found: number[] = [];
    const read = await rowsRead(database.sql, 'purchases', async (tx) => {
      found.push(...(await listPurchases(tx, { filter, before, limit: LIMIT })).map(({ id }) => id));
    });
    expect(found).toEqual(wanted);
    expect(read.scanned).toBe(0);
    // The newest of each group, and the page itself.
    expect(read.fetched).toBeLessThanOrEqual((GROUPS + 1) * LIMIT);
  }
});

test.each([{ reference: 'ORD-77' }, { reference: 'ORD-77', status: 'settled' }, { reference: 'ORD-77', site: 'se' }])(
  '%j reads what has the reference',
  async (filter) => {
    const all = await expected(filter);
    const found: number[] = [];
    const read = await rowsRead(database.sql, 'purchases', async (tx) => {
      found.push(...(await listPurchases(tx, { filter, before: null, limit: LIMIT })).map(({ id }) => id));
    });
    expect(found).toEqual(all);
    expect([read.scanned, read.fetched <= 20]).toEqual([0, true]);
  },
);

test('a plan that is kept reads as little as the first', async () => {
  const reads: number[] = [];
  for (let time = 0; time < 12; time++) {
    const { scanned, fetched } = await rowsRead(database.sql, 'purchases', (tx) =>
      listPurchases(tx, { filter: { stuck: true, site: 'se' }, before: null, limit: LIMIT }),
    );
    reads.push(scanned + fetched);
  }
  expect(Math.max(...reads)).toBeLessThanOrEqual((GROUPS + 1) * LIMIT);
});

describe('pages', () => {
  test.each([{}, { status: 'watching' }, { site: 'se' }, { state: 6, stuck: false }, { stuck: true }])(
    'of %j hold every purchase once, newest first',
    async (filter) => {
      const pages: number[] = [];
      for (let before: number | null = null; ; ) {
        const page: number[] = (await listPurchases(database.sql, { filter, before, limit: 997 })).map(({ id }) => id);
        if (page.length === 0) break;
        pages.push(...page);
        before = page.at(-1)!;
      }
      expect(pages).toEqual(await expected(filter));
    },
  );

  test('skip nothing that stays, whatever moves and is folded meanwhile', async () => {
    const { sql } = database;
    const still = await expected({ site: 'se' });
    let moving = true;
    const mover = (async () => {
      for (let turn = 0; moving; turn++) {
        // Into a group that was not there before, and out of it again.
        await sql`update purchase_watch.purchases set state = ${1_000 + turn}, state_since = now() where site = 'se' and id % 7 = ${turn % 7} and state = 6`;
        await foldCounts(sql);
        await sql`update purchase_watch.purchases set state = 6 where site = 'se' and state >= 1000`;
      }
    })();
    for (let round = 0; round < 3; round++) {
      const pages: number[] = [];
      for (let before: number | null = null; ; ) {
        const page: number[] = (await listPurchases(sql, { filter: { site: 'se' }, before, limit: 400 })).map(({ id }) => id);
        if (page.length === 0) break;
        pages.push(...page);
        before = page.at(-1)!;
      }
      expect(pages).toEqual(still);
    }
    moving = false;
    await mover;
  });
});

test('what was registered a moment ago is in every list it belongs to', async () => {
  const { sql } = database;
  for (const filter of [{}, { status: 'watching' }, { site: 'empty' }, { stuck: false }, { reference: 'R-1' }]) {
    const purchaseId = `new-${JSON.stringify(filter).length}`;
    await register(sql, [{ purchaseId, site: 'empty', reference: 'R-1', metadata: null }]);
    const [newest] = await listPurchases(sql, { filter, before: null, limit: 1 });
    expect(newest!.purchaseId).toBe(purchaseId);
  }
});
