/**
 * The schema of the database as a page, read from the catalogue: run by itself it migrates a Postgres that it starts for the
 * purpose and writes docs/schema.md, and the locks that each migration took. Words come from the comments of the migrations; of a comment about a table, a view or a function
 * the page has the first sentence, and columns of the table of purchases alone: docs/sql.md has those of the views.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Queries } from '../src/postgres/connection/database.ts';
import { startEmbedded } from '../src/postgres/embedded/embedded.ts';
import { writeLocks } from './migration-locks.ts';

const ROOT = join(import.meta.dirname, '..');
/** The table into which programs insert. */
const OPEN_TABLE = 'purchase_watch.purchases';

interface Table {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly about: string | null }[];
}
/** A foreign key: `columns` of `from` name a row of `to`, perhaps one row of `from` for each. */
interface Reference {
  readonly from: string;
  readonly to: string;
  readonly columns: string;
  readonly isOptional: boolean;
  readonly isUnique: boolean;
}

interface Named {
  readonly name: string;
  readonly about: string;
}

/** All tables in the order in which the migrations make them. */
function readTables(sql: Queries): Promise<Table[]> {
  return sql<Table[]>`
    select relnamespace::regnamespace || '.' || relname as name, obj_description(c.oid, 'pg_class') as about, json_agg(json_build_object(
      'name', attname, 'type', replace(format_type(atttypid, atttypmod), 'timestamp with time zone', 'timestamptz') || case when attnotnull then '' else ' or null' end,
      'about', col_description(c.oid, attnum)) order by attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and attnum > 0 and not attisdropped
    where relnamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace) and relkind = 'r' group by c.oid order by c.oid`;
}

function readReferences(sql: Queries): Promise<Reference[]> {
  return sql<Reference[]>`
    select f.relname as "from", t.relname as "to", string_agg(attname, ', ' order by k.place) as columns,
      not bool_and(attnotnull) as is_optional,
      exists (select from pg_index where indrelid = conrelid and indisunique and indpred is null and indkey::smallint[] <@ conkey) as is_unique
    from pg_constraint c join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
    cross join unnest(conkey) with ordinality as k (number, place) join pg_attribute on attrelid = conrelid and attnum = k.number
    where contype = 'f' and connamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace)
    group by c.oid, conrelid, confrelid, conkey, f.relname, t.relname order by conrelid, confrelid, columns`;
}

/** The views for people and programs, by name. */
function readViews(sql: Queries): Promise<Named[]> {
  return sql<Named[]>`
    select relname as name, obj_description(oid, 'pg_class') as about from pg_class
    where relnamespace = 'purchase_watch'::regnamespace and relkind = 'v' order by relname`;
}

function readFunctions(sql: Queries): Promise<Named[]> {
  return sql<Named[]>`
    select pronamespace::regnamespace || '.' || proname as name, obj_description(oid, 'pg_proc') as about from pg_proc
    where pronamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace) order by oid`;
}

const cell = (text: string | null): string => (text ?? '').replaceAll('|', '\\|');
const firstSentence = (text: string): string => /^.*?\.(?= |$)/s.exec(text)?.[0] ?? text;
const withoutSchema = (name: string): string => name.split('.')[1]!;
const isOpen = ({ name }: Named): boolean => name.startsWith('purchase_watch.');

function drawReference({ from, to, columns, isOptional, isUnique }: Reference): string {
  return `  ${to} ${isOptional ? '|o' : '||'}--${isUnique ? 'o|' : 'o{'} ${from} : "${columns}"`;
}

/** Rows of a table of Markdown: name and first sentence. */
const rowsOf = (named: readonly Named[]): string =>
  named.map(({ name, about }) => `| \`${name}\` | ${cell(firstSentence(about))} |`).join('\n');
const inside = (named: readonly Named[]): Named[] =>
  named.filter((each) => !isOpen(each)).map(({ name, about }) => ({ name: withoutSchema(name), about }));

/** The page for a database that is migrated. */
export async function schemaPage(sql: Queries): Promise<string> {
  const [tables, views] = [await readTables(sql), await readViews(sql)];
  const [references, functions] = [await readReferences(sql), await readFunctions(sql)];
  const { about, columns } = tables.find(({ name }) => name === OPEN_TABLE)!;
  return `# The schema

\`npm run schema\` makes this page from the catalogue of a migrated database; its words are the comments in \`migrations/\`. In psql \`\\d+ <name>\` shows
the columns and the whole comment of each table. [SQL](sql.md) says what programs may rely on; [decision 26](decisions/0026-schemas-and-migrations.md) why there are two schemas.

## For people and programs

The schema \`purchase_watch\` has one table, these views and two functions. [SQL](sql.md#views) lists the columns of the views.

| view or function | holds or does |
|---|---|
${[
  ...views.map(({ name, about: says }) => `| [\`${name}\`](sql.md#${name}) | ${cell(firstSentence(says))} |`),
  ...functions.filter(isOpen).map((each) => rowsOf([{ ...each, name: withoutSchema(each.name) }])),
].join('\n')}

### ${OPEN_TABLE}

${about} The other columns are no interface.

| column | type | meaning |
|---|---|---|
${columns.map((column) => `| \`${column.name}\` | ${column.type} | ${cell(column.about)} |`).join('\n')}

## Inside

What follows may change with any version.

\`\`\`mermaid
erDiagram
${references.map(drawReference).join('\n')}
\`\`\`

| table of \`purchase_watch_internal\` | holds |
|---|---|
${rowsOf(inside(tables))}

| function of \`purchase_watch_internal\` | does |
|---|---|
${rowsOf(inside(functions))}
`;
}

async function writePage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-schema-'));
  // The server may run as another user.
  chmodSync(folder, 0o755);
  const server = await startEmbedded({ dataDir: join(folder, 'data'), settings: { fsync: 'off' } });
  const sql = connect(server.superuserUrl, { max: 3 });
  try {
    await writeLocks(sql);
    writeFileSync(join(ROOT, 'docs/schema.md'), await schemaPage(sql));
  } finally {
    await sql.end();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) await writePage();
