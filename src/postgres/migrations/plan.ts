/**
 * Says before a migration which locks it takes, what they keep others from, and about for how long. The locks were observed while
 * the file ran on an empty schema (`locks.ts`); the sizes of tables are those of the database.
 */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import type { LockTaken, MigrationFile } from './files.ts';
import { LOCKS } from './locks.ts';

export interface PlannedLock extends LockTaken {
  readonly blocks: 'reads and writes' | 'writes' | 'nothing';
  /** About how many rows the table has, as Postgres last counted them; null: it never did, or the table is not there yet. */
  readonly rows: number | null;
  /** Without its indexes; null when the table is not there yet. */
  readonly bytes: number | null;
  /** About how long the statement works. The lock is held until the file ends. */
  readonly takes: Milliseconds;
}

export interface PlannedFile extends Pick<MigrationFile, 'name' | 'serves' | 'isNeeded'> {
  /** Null: never observed, because the file is not of this version. */
  readonly locks: readonly PlannedLock[] | null;
  /** About how long others wait for a table once the file has its locks: the sum of the statements from the first that blocks on. */
  readonly blocksFor: Milliseconds;
}

/** Bytes a millisecond: less than two busy cores did with a million purchases, whose indexes a rewrite builds again. */
const SPEED = { scan: 300_000, index: 60_000, rewrite: 4_000 } as const;
const NO_WORK: Milliseconds = 10;

export async function planOf(sql: Queries, files: readonly MigrationFile[]): Promise<PlannedFile[]> {
  const tables = [...new Set(files.flatMap(({ name }) => (LOCKS.get(name) ?? []).map(({ table }) => table)))];
  const sizes = await sql<{ table: string; rows: number | null; bytes: number | null }[]>`
    select t as table, nullif(c.reltuples, -1)::float8 as rows, pg_table_size(c.oid)::float8 as bytes
    from unnest(${tables}::text[]) t left join pg_class c on c.oid = to_regclass(t)`;
  const sizeOf = new Map(sizes.map((size) => [size.table, size]));
  return files.map(({ name, serves, isNeeded }) => {
    const locks = LOCKS.get(name)?.map((taken) => plannedLock(taken, sizeOf.get(taken.table))) ?? null;
    const blocking = locks?.findIndex(({ blocks }) => blocks !== 'nothing') ?? -1;
    const held = blocking < 0 ? [] : locks!.slice(blocking);
    return { name, serves, isNeeded, locks, blocksFor: held.reduce((sum, { takes }) => sum + takes, 0) };
  });
}

function plannedLock(
  { statement, table, lock, work }: LockTaken,
  size: { readonly rows: number | null; readonly bytes: number | null } | undefined,
): PlannedLock {
  const bytes = size?.bytes ?? null;
  const takes = NO_WORK + (work === 'none' ? 0 : Math.ceil((bytes ?? 0) / SPEED[work]));
  return { statement, table, lock, work, blocks: blockedBy(lock), rows: size?.rows ?? null, bytes, takes };
}

/** The statements that a lock blocks. Of writers only those of the same rows wait for a writer. */
export function blockedBy(lock: string): PlannedLock['blocks'] {
  if (lock === 'AccessExclusiveLock') return 'reads and writes';
  return ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock'].includes(lock) ? 'writes' : 'nothing';
}
