/**
 * Nothing in the schema ties rows of two sites together, so that sites may move to databases of their own (docs/scaling.md#cells).
 * What does is listed here, with the reason why it may stay.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { OWNERS } from './site-tables.ts';

/** Keys of rows of a site that neither name the site nor the row that does, by table and columns. */
const KEYS: Readonly<Record<string, string>> = {
  'purchases (id)': 'a number of this database, which no other system stores; a cell numbers its own',
  'events (position)': 'a number of this database; cursors of the feed belong to a cell',
  'events (id)': 'a ULID, unique over all databases',
  'deliveries (id)': 'a number of this database',
  'incidents (id)': 'a ULID, unique over all databases',
  'incident_members (id)': 'a number of this database',
  'forgotten (id)': 'a number of this database',
  'marks (id)': 'a number of this database',
  'nudges (id)': 'a number of this database',
  'silences (id)': 'a number of this database',
  'stays (id)': 'a number of this database',
  'stuck_alerts (id)': 'a number of this database',
  'receiver_answers (subscriber, slot)': 'a ring of each subscriber, which each cell has of its own',
};
/** References between rows of sites that do not follow the row which names the site, by table, columns and target. */
const REFERENCES: Readonly<Record<string, string>> = {
  'incidents (parent) → incidents': 'one incident stands for several sites that break together; within a cell that stays so',
  'sites (renamed_to) → sites': 'the two names of one site, whose purchases move from row to row',
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('each table is of sites or of none, and the column by which a row has its site exists', async () => {
  const tables = await database.sql<{ name: string; columns: string[] }[]>`
    select relname as name, array_agg(attname::text) as columns from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0
    where relnamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace) and relkind in ('r', 'p') group by relname`;
  expect(tables.map(({ name }) => name).toSorted()).toEqual(Object.keys(OWNERS).toSorted());
  for (const { name, columns } of tables) {
    const owner = OWNERS[name]!;
    if (owner !== null) expect(columns, name).toContain(owner);
    // A new table with a site is a table of sites.
    else expect([name, columns.filter((column) => /^(site|purchase|delivery)$/.test(column))]).toEqual([name, []]);
  }
});

test('each unique key of a row of a site has its site, or the row that has it', async () => {
  const keys = await database.sql<{ table: string; columns: string[] }[]>`
    select t.relname as "table", array_agg(attname::text order by attnum) as columns
    from pg_index join pg_class t on t.oid = indrelid join pg_attribute on attrelid = indrelid and attnum = any(indkey)
    where indisunique and relnamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace) group by indexrelid, t.relname`;
  const ofSites = keys.filter(({ table }) => OWNERS[table] !== null);
  expect(ofSites.length).toBeGreaterThan(15);
  const without = ofSites.filter(
    ({ table, columns }) => ![OWNERS[table]!, 'site', 'purchase'].some((name) => columns.includes(name)),
  );
  expect(without.map(({ table, columns }) => `${table} (${columns.join(', ')})`).toSorted()).toEqual(
    Object.keys(KEYS).toSorted(),
  );
});

test('each reference between rows of sites stays within a site', async () => {
  const references = await database.sql<{ from: string; to: string; columns: string[]; targets: string[] }[]>`
    select f.relname as "from", t.relname as "to",
      (select array_agg(attname::text) from pg_attribute where attrelid = conrelid and attnum = any(conkey)) as columns,
      (select array_agg(attname::text) from pg_attribute where attrelid = confrelid and attnum = any(confkey)) as targets
    from pg_constraint join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
    where contype = 'f' and f.relnamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace)`;
  const between = references.filter(({ from, to }) => OWNERS[from] !== null && OWNERS[to] !== null);
  expect(between.length).toBeGreaterThan(7);
  const loose = between.filter(({ from, to, columns, targets }) => {
    // The row has its site from the row that it names, or both name the site, or both belong to the purchase that they name.
    const isOwner = columns.includes('purchase') || columns.includes(OWNERS[from]!);
    return (
      !isOwner &&
      !(columns.includes('site') && targets.includes('site')) &&
      !(columns.includes(OWNERS[from]!) && targets.includes(OWNERS[to]!))
    );
  });
  expect(loose.map(({ from, to, columns }) => `${from} (${columns.join(', ')}) → ${to}`).toSorted()).toEqual(
    Object.keys(REFERENCES).toSorted(),
  );
});
