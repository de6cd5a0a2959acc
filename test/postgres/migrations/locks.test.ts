/** Locks of migrations as Postgres shows them, and what a new migration must not do to writers and to older daemons. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LockTaken, parseFile, readFolder } from '../../../src/postgres/migrations/files.ts';
import { LOCKS } from '../../../src/postgres/migrations/locks.ts';
import { blockedBy, planOf } from '../../../src/postgres/migrations/plan.ts';
import { observe, observeFolder } from '../../../tools/migration-locks.ts';
import { MIGRATIONS, type TestDatabase, testDatabase } from '../../support/database.ts';

/** The newest file of the last release: every later file must serve its programs. docs/releasing.md says when it changes. */
const LAST_RELEASE = 9;
/** Files up to this one make the tables. */
const FIRST_FILES = 9;
/** Counts, whose rows grow with the hours and not with the purchases, and for which only upkeep waits. */
const COUNTS = ['purchase_watch_internal.outcome_hours'];
/** Each may wait for its lock as long as a try waits. */
const MOST_BLOCKED = 2;

/** What is wrong with a new file, each with what to do. */
function objections({ name, text, serves }: ReturnType<typeof parseFile>, locks: readonly LockTaken[]): string[] {
  const statements = text.replaceAll(/^\s*--.*$/gm, '').replaceAll(/\$\$.*?\$\$/gs, '');
  const blocking = locks.filter(({ lock }) => blockedBy(lock) !== 'nothing');
  const blocked = new Set(blocking.map(({ table }) => table));
  const takesAway = /\b(drop|rename)\b/i.test(statements);
  const found: string[] = [];
  if (serves === null || serves > LAST_RELEASE)
    found.push(
      `daemons of the last release could not go on: let it begin with "-- serves: ${LAST_RELEASE}", and take away only what that release no longer uses`,
    );
  if (takesAway && serves !== null && serves < LAST_RELEASE)
    found.push(`releases before the last one may use what it drops or renames: let it begin with "-- serves: ${LAST_RELEASE}"`);
  for (const { statement, table, work } of blocking.filter((each) => each.work !== 'none' && !COUNTS.includes(each.table)))
    found.push(
      `${statement} keeps a lock on ${table} while it works on every row (${work}): create an index concurrently in a file of its own; add a constraint not valid, and validate it in the next file; add a column without a volatile default`,
    );
  for (const { table, statement } of locks.filter(
    (each) => each.lock === 'RowExclusiveLock' && each.statement.startsWith('insert'),
  ))
    found.push(`${statement} on ${table} locks rows until the file ends: let the daemon's upkeep change rows in small batches`);
  if (blocked.size > MOST_BLOCKED)
    found.push(`it makes others wait for ${[...blocked].join(', ')}: lock at most ${MOST_BLOCKED} in one file`);
  return found.map((each) => `${name}: ${each}`);
}

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.sql`alter table purchase_watch.purchases add constraint later check (unknowns >= 0) not valid`;
});
afterAll(() => database.drop());

test('the locks in src are those that Postgres shows', async () => {
  const empty = await testDatabase({ empty: true });
  try {
    expect(await observeFolder(empty.sql, MIGRATIONS), 'make it again: npm run schema').toEqual(LOCKS);
  } finally {
    await empty.drop();
  }
});

test('no new migration stops writers or older daemons', () => {
  const files = readFolder(MIGRATIONS).filter(({ number }) => number > FIRST_FILES);
  expect(files.flatMap((file) => objections(file, LOCKS.get(file.name) ?? []))).toEqual([]);
});

const next = readdirSync(MIGRATIONS).length + 1;
const asNext = (text: string) => parseFile(next, `${String(next).padStart(4, '0')}_next.sql`, text);
const SERVES = `-- serves: ${LAST_RELEASE}\n`;
const judged = async (text: string): Promise<string> => {
  const file = asNext(text);
  return objections(file, await observe(database.sql, file)).join('\n');
};

test.each([
  ['a column', 'alter table purchase_watch.purchases add column next integer;'],
  ['a column with a constant default', "alter table purchase_watch.purchases add column next text not null default 'x';"],
  [
    'a table that refers to purchases',
    'create table purchase_watch_internal.next (purchase bigint references purchase_watch.purchases);',
  ],
  [
    'a constraint that is validated later',
    'alter table purchase_watch.purchases add constraint next check (polls >= 0) not valid;',
  ],
  ['the validation', 'alter table purchase_watch.purchases validate constraint later;'],
  ['an index beside writers', 'create index concurrently next on purchase_watch.purchases (polls);'],
  [
    'a function',
    'create function purchase_watch_internal.next() returns void language sql as $$ update purchase_watch.purchases set polls = 0 where false $$;',
  ],
  ['what the last release no longer uses', 'alter table purchase_watch.purchases drop column bulk cascade;'],
])('%s may be added', async (_, statement) => {
  expect(await judged(SERVES + statement)).toBe('');
});

test.each([
  ['no word about older programs', 'select 1;', /daemons of the last release could not go on/],
  ['only the newest programs', `-- serves: ${LAST_RELEASE + 1}\nselect 1;`, /give the number of an earlier file|could not go on/],
  [
    'a drop that serves too old programs',
    `-- serves: ${LAST_RELEASE - 1}\nalter table purchase_watch.purchases drop column bulk cascade;`,
    /releases before the last one may use/,
  ],
  [
    'an index that stops writers',
    `${SERVES}create index on purchase_watch.purchases (polls);`,
    /create index keeps a lock on purchase_watch\.purchases .*\(index\)/,
  ],
  [
    'a constraint with its validation',
    `${SERVES}alter table purchase_watch.purchases add check (polls >= 0);`,
    /alter table keeps a lock on purchase_watch\.purchases .*\(scan\)/,
  ],
  [
    'a constraint that is validated under the lock that added it',
    `${SERVES}alter table purchase_watch.purchases add constraint next check (polls >= 0) not valid; alter table purchase_watch.purchases validate constraint next;`,
    /alter table keeps a lock on purchase_watch\.purchases .*\(scan\)/,
  ],
  [
    'a column that must not be null',
    `${SERVES}alter table purchase_watch.purchases alter column due_slot set not null;`,
    /\(scan\)/,
  ],
  [
    'a column with a volatile default',
    `${SERVES}alter table purchase_watch.purchases add column next float8 default random();`,
    /\(rewrite\)/,
  ],
  ['another type', `${SERVES}alter table purchase_watch.purchases alter column unknowns type bigint;`, /\(rewrite\)/],
  [
    'a foreign key on a large table',
    `${SERVES}alter table purchase_watch.purchases add constraint next foreign key (site) references purchase_watch_internal.sites;`,
    /\(scan\)/,
  ],
  [
    'rows of a large table',
    `${SERVES}update purchase_watch.purchases set polls = polls;`,
    /insert, update or delete on purchase_watch\.purchases locks rows/,
  ],
  [
    'locks on three tables',
    `${SERVES}${['sites', 'replicas', 'events'].map((name) => `alter table purchase_watch_internal.${name} add column next integer;`).join('\n')}`,
    /it makes others wait for .*sites, .*replicas, .*events: lock at most 2/,
  ],
])('%s is refused', async (_, text, message) => {
  const found = await judged(text).catch((error: unknown) => String(error));
  expect(found).toMatch(message);
});

test('a plan names what waits, for how long, and how large the table is', async () => {
  const { sql } = database;
  await sql`insert into purchase_watch_internal.sites (name) values ('default')`;
  await sql`insert into purchase_watch.purchases (purchase_id) select 'p-' || g from generate_series(1, 2000) g`;
  await sql`analyze purchase_watch.purchases`;
  const file = readFolder(MIGRATIONS).find(({ name }) => name === '0006_incidents.sql')!;
  const [plan] = await planOf(sql, [file]);
  expect(plan).toMatchObject({ name: '0006_incidents.sql', serves: null, isNeeded: true });
  expect(plan?.locks?.map(({ table, lock, blocks, work }) => [table, lock, blocks, work])).toEqual([
    ['purchase_watch_internal.sites', 'ShareRowExclusiveLock', 'writes', 'none'],
    ['purchase_watch.purchases', 'ShareRowExclusiveLock', 'writes', 'none'],
  ]);
  expect(blockedBy('AccessExclusiveLock')).toBe('reads and writes');
  const [, purchases] = plan!.locks!;
  expect(purchases).toMatchObject({ rows: 2000 });
  expect(purchases!.bytes).toBeGreaterThan(200_000);
  expect(plan!.blocksFor).toBeLessThan(100);
});
