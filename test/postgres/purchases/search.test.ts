/** Finding purchases by how a name begins, by time, amount and outcome: right, by indexes, and a poll that finds nothing new writes none of them. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { listPurchases, type Sort } from '../../../src/postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../../src/postgres/purchases/list-filter.ts';
import type { Position } from '../../../src/postgres/purchases/list-sources.ts';
import { beginsAs } from '../../../src/postgres/purchases/search-key.ts';
import { MIGRATIONS, type TestDatabase, testDatabase } from '../../support/database.ts';
import { rowsRead } from '../../support/rows-read.ts';

const ROWS = 12_000;
const T = Date.UTC(2026, 10, 20);
const SECOND = 1_000;

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default', 'se']);
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, reference, registered_at, status, state, state_since, stuck_since)
    select md5(i::text), case when i % 10 = 0 then 'se' else 'default' end, case when i % 2 = 0 then 'REF-' || i end,
      ${T}::timestamptz + i * interval '1 second', case when i % 10 < 8 then 'settled' else 'watching' end,
      case when i % 10 < 6 then 2 when i % 10 < 8 then 5 else 6 end, ${T}::timestamptz + i * interval '1 second',
      case when i % 1000 = 9 then ${T}::timestamptz + i * interval '1 second' end
    from generate_series(1, ${ROWS}::integer) i`;
  await sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, json_build_object('Price', id % 5000, 'CurrencyCode', case when id % 2 = 0 then 'SEK' else 'EUR' end, 'OrderReference', 'ORD-' || 100000 + id)
    from purchase_watch.purchases`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, created_at, body)
    select 'evt_' || id, 'purchase.stuck', site, id, 1, shard, now(), '{}' from purchase_watch.purchases where id % 500 = 2`;
  await sql`vacuum analyze`;
});
afterAll(() => database.drop());

const FILTERS: PurchaseFilter[] = [
  { text: 'ord-10234' },
  { text: 'ORD-1' },
  { text: 'ref-29' },
  { text: 'a' },
  { text: 'nothing' },
  { from: T + 100 * SECOND, to: T + 4_000 * SECOND },
  { from: T + 8_000 * SECOND, site: 'se' },
  { from: T + 5_000 * SECOND, to: T + 9_000 * SECOND, outcome: 'not_paid' },
  { outcome: 'stuck' },
  { outcome: 'waiting', site: 'default' },
  { outcome: 'paid' },
  { outcome: 'paid_late' },
  { outcome: 'unreadable' },
  { currency: 'SEK', least: '100', most: '120' },
  { currency: 'SEK', least: '4000', outcome: 'not_paid', from: T + 6_000 * SECOND },
  { currency: 'EUR', text: 'ORD-11' },
  { currency: 'SEK', site: 'se', text: 'ref' },
  { reference: 'REF-200', outcome: 'paid' },
];
const CASES = FILTERS.flatMap((filter) =>
  (filter.currency === undefined
    ? (['newest', 'waiting'] as const)
    : (['newest', 'waiting', 'largest', 'smallest'] as const)
  ).map((sort) => [JSON.stringify(filter), sort, filter] as const),
);

/** What the list must hold, found the slow way. */
async function expected({ site, outcome, reference, text, from, to, least, most, currency }: PurchaseFilter): Promise<number[]> {
  const begins = (text ?? '').toLowerCase();
  const rows = await sql<{ id: number }[]>`
    select id::float8 as id from (
      select p.*, (d.fields ->> 'Price')::numeric as price, d.fields ->> 'CurrencyCode' as currency, d.fields ->> 'OrderReference' as ord,
        case when stuck_since is not null then 'stuck' when status = 'watching' then 'waiting' when state <> 2 then 'not_paid'
          when exists (select from purchase_watch_internal.events e where e.purchase = p.id and e.type = 'purchase.stuck') then 'paid_late' else 'paid' end as outcome
      from purchase_watch.purchases p join purchase_watch_internal.purchase_details d on d.purchase = p.id) p
    where (${site ?? null}::text is null or site = ${site ?? null}) and (${outcome ?? null}::text is null or outcome = ${outcome ?? null})
      and (${reference ?? null}::text is null or reference = ${reference ?? null})
      and (starts_with(lower(purchase_id), ${begins}) or starts_with(lower(reference), ${begins}) or starts_with(lower(ord), ${begins}))
      and (${from ?? null}::timestamptz is null or registered_at >= ${from ?? null}::timestamptz)
      and (${to ?? null}::timestamptz is null or registered_at < ${to ?? null}::timestamptz)
      and (${currency ?? null}::text is null or currency = ${currency ?? null})
      and (${least ?? null}::numeric is null or price >= ${least ?? null}::numeric) and (${most ?? null}::numeric is null or price <= ${most ?? null}::numeric)
    order by id`;
  return rows.map(({ id }) => id);
}

test.each(CASES)(
  '%s by %s: each once and in order, and no table is read through',
  { timeout: 60_000 },
  async (_, sort, filter) => {
    const found: { id: number; key: number }[] = [];
    for (let after: Position | null = null; ; ) {
      const place: Position | null = after;
      let page: Awaited<ReturnType<typeof listPurchases>> | undefined;
      const work = async (tx: Parameters<Parameters<typeof rowsRead>[2]>[0]): Promise<void> => {
        page = await listPurchases(tx, { filter, sort, after: place, limit: 1_000 });
      };
      const details = await rowsRead(sql, 'purchase_details', work);
      expect(details.scanned).toBe(0);
      expect(details.fetched).toBeLessThan(25_000);
      const { rows, next } = page!;
      found.push(...rows.map((row) => ({ id: row.id, key: keyOf(row, sort) })));
      if (next === null) break;
      after = next;
    }
    expect(found.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(await expected(filter));
    // Where thousands begin so, they come in the order of their names.
    const isNamed = filter.text !== undefined && (sort === 'newest' || sort === 'waiting');
    if (!isNamed) expect(found.map(({ key }) => key)).toEqual(found.map(({ key }) => key).toSorted((a, b) => a - b));
  },
);

function keyOf(row: Awaited<ReturnType<typeof listPurchases>>['rows'][number], sort: Sort): number {
  if (sort === 'largest' || sort === 'smallest')
    return (sort === 'largest' ? -1 : 1) * Number(/"Price" : (\d+)/.exec(row.details ?? '')?.[1]);
  if (sort === 'waiting' && row.status === 'watching') return row.stateSince! - 1e15;
  return -row.id;
}

const INDEXES = [
  'purchases_registered',
  'purchases_id_key',
  'purchases_reference_key',
  'purchase_details_order_key',
  'purchase_details_amount',
];

test('each new index is used, and the purchases are not read from end to end', async () => {
  const uses = async (): Promise<Record<string, number>> => {
    await sql`select pg_stat_force_next_flush()`.catch(() => undefined);
    const rows = await sql<{ name: string; uses: number }[]>`
      select indexrelname as name, idx_scan::float8 as uses from pg_stat_user_indexes where indexrelname = any (${INDEXES}::text[])
      union all select 'read through', seq_tup_read::float8 from pg_stat_user_tables where relname = 'purchases'`;
    return Object.fromEntries(rows.map(({ name, uses: count }) => [name, count]));
  };
  const before = await uses();
  for (const filter of FILTERS)
    for (const sort of ['newest', 'largest'] as const)
      if (sort === 'newest' || filter.currency !== undefined) await listPurchases(sql, { filter, sort, after: null, limit: 50 });
  await expect
    .poll(async () => {
      const after = await uses();
      return INDEXES.filter((name) => after[name] === before[name]);
    })
    .toEqual([]);
  const read = await rowsRead(sql, 'purchases', async (tx) => {
    for (const filter of FILTERS) await listPurchases(tx, { filter, sort: 'newest', after: null, limit: 50 });
  });
  expect(read.scanned).toBe(0);
});

test('a poll that finds nothing new is a heap-only update beside these indexes', async () => {
  const own = await testDatabase();
  try {
    await syncSites(own.sql, ['default']);
    await own.sql`
      insert into purchase_watch.purchases (purchase_id, reference, state, state_since) select 'p-' || i, 'R-' || i, 6, now() from generate_series(1, 30) i`;
    const [row] = await own.sql.begin(async (tx) => {
      await tx`update purchase_watch.purchases set polls = polls + 1, last_polled_at = now(), next_poll_at = now() + interval '1 s', seen_at = now(), failures = 0 where purchase_id = 'p-1'`;
      return tx<{ updates: number; hot: number }[]>`
        select n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot from pg_stat_xact_user_tables where relname = 'purchases'`;
    });
    expect(row).toEqual({ updates: 1, hot: 1 });
    const keys = await own.sql`
      select attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attname in ('polls', 'last_polled_at', 'next_poll_at', 'seen_at', 'excused_ms', 'failures')
      where i.indexrelid::regclass::text = any (${INDEXES.map((name) => `purchase_watch.${name}`)}::text[])
        and pg_get_indexdef(i.indexrelid) ~ ('\\m' || a.attname || '\\M')`;
    expect(keys).toEqual([]);
  } finally {
    await own.drop();
  }
});

const NAMES = ['100%_A\\B', '100xxA', 'ÅSA-Öl', 'Straße', 'ІВАН', 'Id-I', 'abc%', 'abcd'];
const SEARCHES: [string, string[]][] = [
  ['100%_', ['100%_A\\B']],
  ['100%_a\\b', ['100%_A\\B']],
  ['100', ['100%_A\\B', '100xxA']],
  ['%', []],
  ['_', []],
  ['åsa-ö', ['ÅSA-Öl']],
  ['ÅsA-Ö', ['ÅSA-Öl']],
  ['іван', ['ІВАН']],
  ['ID-i', ['Id-I']],
  ['id-I', ['Id-I']],
  ['abc', ['abc%', 'abcd']],
  ['abc%', ['abc%']],
];

test.each([
  ['C', "locale 'C'"],
  ['Turkish', "locale_provider icu icu_locale 'tr' locale 'C'"],
] as const)(
  'wildcards mean themselves, and case means nothing, in a database of the collation %s',
  { timeout: 60_000 },
  async (_, options) => {
    const admin = connect(inject('serverUrl'), { max: 1 });
    const name = `${inject('runPrefix')}collation_${Math.random().toString(36).slice(2)}`;
    await admin.unsafe(`create database ${name} template template0 encoding 'UTF8' ${options}`);
    const url = new URL(inject('serverUrl'));
    url.pathname = `/${name}`;
    const own = connect(url.href);
    try {
      await migrate(own, MIGRATIONS);
      await syncSites(own, ['default']);
      for (const [at, text] of NAMES.entries()) {
        await own`insert into purchase_watch.purchases (purchase_id, reference) values (${`p${at}`}, ${text})`;
        // The id of one purchase looks like the reference of another.
        if (text === 'abcd') await own`insert into purchase_watch.purchases (purchase_id) values ('ABCD-id')`;
      }
      const found = async (text: string) =>
        (await listPurchases(own, { filter: { text }, sort: 'newest', after: null, limit: 50 })).rows
          .map((row) => row.reference ?? row.purchaseId)
          .sort();
      for (const [text, wanted] of SEARCHES)
        expect([text, ...(await found(text))]).toEqual([text, ...(text === 'abc' ? ['ABCD-id', ...wanted] : wanted)]);
      const [plan] = await own.begin(async (tx) => {
        await tx`set local enable_seqscan = off`;
        return tx`explain select from purchase_watch.purchases p where ${beginsAs(tx, 'p.purchase_id', 'abc')}`;
      });
      expect(JSON.stringify(plan)).toContain('purchases_id_key');
    } finally {
      await own.end();
      await admin`drop database ${admin(name)} with (force)`;
      await admin.end();
    }
  },
);
