/**
 * Which locks each migration takes on tables that were there before it, as Postgres shows them while the file runs on an empty
 * schema: event triggers look into pg_locks before and after each statement that changes the schema. Run by itself it writes src/postgres/migrations/locks.ts.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sql } from '../src/postgres/connection/database.ts';
import { type LockTaken, type MigrationFile, readFolder } from '../src/postgres/migrations/files.ts';
import { migrate } from '../src/postgres/migrations/migrate.ts';

const ROOT = join(import.meta.dirname, '..');

/** What stands between two statements that change the schema. */
const OTHERS = 'insert, update or delete';

/** Looks at all tables and views that were there before the file. Between two statements that change the schema there can only be others. */
const OBSERVER = `
create schema observer;
create table observer.known as
select c.oid, relnamespace::regnamespace || '.' || relname as name from pg_class c
where relnamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace) and relkind in ('r', 'v')
  and c.oid <> 'purchase_watch_internal.migrations'::regclass;
create table observer.seen (at serial, statement text, name text, modes text[], scans bigint, node oid);
create function observer.look(statement text) returns void language sql as $$
  insert into observer.seen (statement, name, modes, scans, node)
  select statement, k.name, array(select mode from pg_locks l where l.relation = k.oid and l.pid = pg_backend_pid() order by mode),
    pg_stat_get_xact_numscans(k.oid), pg_relation_filenode(k.oid)
  from observer.known k order by k.name
$$;
select observer.look('');
create function observer.note() returns event_trigger language plpgsql as $$
begin
  perform observer.look(case tg_event when 'ddl_command_start' then '${OTHERS}' else lower(tg_tag) end);
end $$;
create event trigger observer_before on ddl_command_start execute function observer.note();
create event trigger observer_after on ddl_command_end execute function observer.note();`;

interface Look {
  readonly at: number;
  readonly statement: string;
  readonly name: string;
  readonly modes: readonly string[];
  readonly scans: number;
  readonly node: number | null;
}

/** Runs a file in a transaction that is rolled back, and answers the locks that it took. The schema is as the files before it made it. */
export async function observe(sql: Sql, { text, indexes }: Pick<MigrationFile, 'text' | 'indexes'>): Promise<LockTaken[]> {
  // Outside of a transaction there is nothing to look at: Postgres documents the lock.
  if (indexes !== null)
    return [...new Set(indexes.map(({ table }) => table))].map((table) => ({
      ...({ statement: 'create index concurrently', table, lock: 'ShareUpdateExclusiveLock', work: 'index' } as const),
    }));
  const rollback = new Error('rolled back');
  let taken: LockTaken[] = [];
  await sql
    .begin(async (tx) => {
      await tx.unsafe(OBSERVER);
      await tx.unsafe(text);
      await tx`select observer.look(${OTHERS})`;
      const looks = await tx<Look[]>`select * from observer.seen order by at`;
      taken = takenOf(looks);
      throw rollback;
    })
    .catch((error: unknown) => {
      if (error !== rollback) throw error;
    });
  return taken;
}

/** From the weakest to the strongest. */
const MODES = [
  'AccessShareLock',
  'RowExclusiveLock',
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];
/** Locks that count only where rows are read under them: comments and the bodies of functions take them, too. */
const HARMLESS = ['AccessShareLock', 'ShareUpdateExclusiveLock'];

function takenOf(looks: readonly Look[]): LockTaken[] {
  const before = new Map<string, Look>();
  return looks.flatMap((look) => {
    const { name: table, statement, modes, scans, node } = look;
    const last = before.get(table);
    before.set(table, look);
    if (last === undefined) return [];
    const lock = MODES.findLast((mode) => modes.includes(mode) && !last.modes.includes(mode) && !HARMLESS.includes(mode));
    const isRead = scans > last.scans;
    const work = node !== last.node ? 'rewrite' : isRead ? (statement === 'create index' ? 'index' : 'scan') : 'none';
    if (lock === undefined && work === 'none') return [];
    // The body of a function is only checked.
    if (lock === 'RowExclusiveLock' && statement === 'create function') return [];
    return [{ statement, table, lock: lock ?? MODES.findLast((mode) => modes.includes(mode)) ?? 'AccessShareLock', work }];
  });
}

/** The locks of all files of a folder, each on the schema of the files before it. `sql`: an empty database, as a superuser. */
export async function observeFolder(sql: Sql, folder: string): Promise<Map<string, LockTaken[]>> {
  const locks = new Map<string, LockTaken[]>();
  const growing = mkdtempSync(join(tmpdir(), 'purchase-watch-locks-'));
  try {
    await migrate(sql, growing);
    for (const file of readFolder(folder)) {
      locks.set(file.name, await observe(sql, file));
      cpSync(join(folder, file.name), join(growing, file.name));
      await migrate(sql, growing);
    }
  } finally {
    rmSync(growing, { recursive: true });
  }
  return locks;
}

/** Writes src/postgres/migrations/locks.ts. `sql`: an empty database, as a superuser. */
export async function writeLocks(sql: Sql): Promise<void> {
  const locks = await observeFolder(sql, join(ROOT, 'migrations'));
  const lines = [...locks].flatMap(([file, taken]) =>
    taken.length === 0
      ? [file]
      : taken.map(({ statement, table, lock, work }) => [file, statement, table, lock, work].join(' | ')),
  );
  writeFileSync(
    join(ROOT, 'src/postgres/migrations/locks.ts'),
    `/** \`npm run schema\` makes this file. Locks of each migration on tables that were there before it, as Postgres showed them. */
import { locksIn } from './files.ts';

export const LOCKS = locksIn(\`
${lines.join('\n')}
\`);
`,
  );
}
