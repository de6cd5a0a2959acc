/**
 * Brings the schema up to date: numbered SQL files, applied in order, each once and each in a transaction of its own, so that no
 * file holds a lock for a later one. Each applied file is stored with its hash, which every start compares, so that a schema is
 * always exactly what the files say.
 */
import postgres from 'postgres';
import { AppError } from '../../domain/values/errors.ts';
import { delay } from '../../runtime/time.ts';
import type { Queries, Sql } from '../connection/database.ts';
import { limitLockWaits, migrateBehindReaders, type Trying, type Watch } from './behind-readers.ts';
import { refuseEncoding } from './encoding.ts';
import { type MigrationFile, readFolder } from './files.ts';
import { buildIndexes } from './index-beside-writers.ts';
import { createMigrationLock, TRY_AGAIN } from './migration-lock.ts';
import { refuseForDaemons } from './older-daemons.ts';
import { compareSchema, readApplied, type SchemaStatus } from './schema.ts';

/** The schema as it is afterwards. */
export interface Migrated extends SchemaStatus {
  readonly applied: string[];
  /** The steps left to an administrator, because this role may not take them. */
  readonly advice?: string | undefined;
}

/**
 * Applies the files that are pending. Several processes may do this at once: one works, the others wait and find nothing.
 * `onStep` is called with a sentence for people at each step. While a session holds a lock that a file needs, the file is rolled
 * back and tried again, for at most `patience`. After a signal it rejects with AppError `unavailable`; files that were applied before stay.
 * A file that a running daemon would not work with is not applied: AppError `conflict`.
 */
export async function migrate(
  sql: Sql,
  folder: string,
  onStep: (step: string) => void = () => {},
  { signal, patience }: Pick<Trying, 'signal' | 'patience'> = {},
): Promise<Migrated> {
  const files = readFolder(folder);
  await refuseEncoding(sql);
  const applied: string[] = [];
  let advice: string | undefined;
  const takeLock = createMigrationLock(onStep);
  /** Null while another start has the lock. */
  const applyNext = (): Promise<SchemaStatus | null> =>
    migrateBehindReaders(sql, { onStep, signal, patience }, async (tx, watch) => {
      signal?.throwIfAborted();
      if (!(await takeLock(tx))) return null;
      await limitLockWaits(tx);
      const before = await readApplied(tx);
      const status = compareSchema(files, before ?? []);
      const [file] = status.pending;
      if (before === null) await createTable(tx);
      if (file === undefined) return status;
      signal?.throwIfAborted();
      await refuseForDaemons(tx, file, status.version);
      onStep(`migrating: ${file.name} (${applied.length + 1} of ${applied.length + status.pending.length})`);
      await apply(file, { tx, sql, watch });
      // After each file: a new function belongs to everyone until its rights are revoked.
      advice = await setUpRoles(tx);
      return status;
    });
  for (;;) {
    const status = await applyNext();
    if (status === null) {
      await delay(TRY_AGAIN, null, { signal }).catch(() => null);
      continue;
    }
    const [file] = status.pending;
    if (file === undefined) return { ...status, applied, advice };
    applied.push(file.name);
  }
}

async function createTable(sql: Queries): Promise<void> {
  for (const schema of ['purchase_watch', 'purchase_watch_internal']) {
    // "If not exists" asks for the right to create schemas even where there is nothing to create.
    const [found] = await sql<[{ exists: boolean }]>`select to_regnamespace(${schema}) is not null as exists`;
    if (!found.exists) await sql`create schema ${sql(schema)}`;
  }
  await sql`create table purchase_watch_internal.migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    serves integer,
    applied_at timestamptz not null default now()
  )`;
}

async function apply(file: MigrationFile, { tx, sql, watch }: { tx: Queries; sql: Sql; watch: Watch }): Promise<void> {
  const { number, name, sha256, text, serves, indexes } = file;
  const fails = (cause: unknown): never => {
    throw new AppError('conflict', `migration ${name} failed and nothing of it was changed: ${describe(cause, text)}`, { cause });
  };
  const transaction = () => tx<[{ id: string }]>`select pg_current_xact_id()::text as id`;
  const [before] = await transaction();
  if (indexes === null) await tx.unsafe(text).catch(fails);
  else await buildIndexes({ tx, sql, watch }, indexes).catch(fails);
  const [after] = await transaction();
  if (before.id !== after.id)
    throw new AppError('configuration', `migration ${name} ends the transaction: remove its commit or rollback`);
  const remembered = { number, name, sha256, ...(serves !== null && { serves }) };
  await tx`insert into purchase_watch_internal.migrations ${tx(remembered)}`;
}

/** Gives the roles for other programs their rights, and revokes the rights that Postgres gives all roles on a new function. */
async function setUpRoles(tx: Queries): Promise<string | undefined> {
  const [found] = await tx<[{ exists: boolean }]>`select to_regprocedure('purchase_watch.set_up_roles()') is not null as exists`;
  if (!found.exists) return undefined;
  const [row] = await tx<[{ advice: string | null }]>`select purchase_watch.set_up_roles() as advice`;
  return row.advice ?? undefined;
}

function describe(error: unknown, text: string): string {
  if (!(error instanceof postgres.PostgresError)) return String(error);
  const position = Number(error.position);
  return position > 0 ? `${error.message} (line ${text.slice(0, position).split('\n').length})` : error.message;
}
