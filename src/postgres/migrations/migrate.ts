/**
 * Brings the schema up to date: numbered SQL files, applied in order, each once, all that are pending in one transaction.
 * Each applied file is stored with its hash, which every start compares, so that a schema is always exactly what the files of
 * this version say.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { AppError } from '../../domain/values/errors.ts';
import type { Queries, Sql } from '../connection/database.ts';
import { limitLockWaits, migrateBehindReaders, type Trying } from './behind-readers.ts';
import { refuseEncoding } from './encoding.ts';
import { lockMigrations } from './migration-lock.ts';

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
}
interface MigrationFile extends Migration {
  readonly text: string;
}

export interface Migrated {
  readonly applied: string[];
  readonly version: number;
  /** What an administrator has to do, because this role may not. */
  readonly advice?: string | undefined;
}

/**
 * Applies the files that are pending. Several processes may do this at once: one works, the others wait and find nothing.
 * `onStep` is called with a sentence for people at each step. While a session holds a lock that a file needs, all is rolled back
 * and tried again, for at most `patience`. After a signal nothing was changed, and it rejects with AppError `unavailable`.
 */
export async function migrate(
  sql: Sql,
  folder: string,
  onStep: (step: string) => void = () => {},
  { signal, patience }: Pick<Trying, 'signal' | 'patience'> = {},
): Promise<Migrated> {
  const files = readFolder(folder);
  await refuseEncoding(sql);
  return migrateBehindReaders(sql, { onStep, signal, patience }, async (tx) => {
    await lockMigrations(tx, onStep, { signal });
    await limitLockWaits(tx);
    const applied = await readApplied(tx);
    if (applied === null) await createTable(tx);
    const pending = compare(files, applied ?? []);
    for (const [index, file] of pending.entries()) {
      signal?.throwIfAborted();
      onStep(`migrating: ${file.name} (${index + 1} of ${pending.length})`);
      await apply(tx, file);
    }
    const advice = pending.length > 0 ? await setUpRoles(tx) : undefined;
    return { applied: pending.map((file) => file.name), version: files.length, advice };
  });
}

/** The names of the files that `migrate` would apply. Changes nothing; refuses what `migrate` refuses. */
export async function pendingMigrations(sql: Sql, folder: string): Promise<string[]> {
  await refuseEncoding(sql);
  return compare(readFolder(folder), (await readApplied(sql)) ?? []).map((file) => file.name);
}

function readFolder(folder: string): MigrationFile[] {
  const names = readdirSync(folder)
    .filter((name) => !name.startsWith('.') && !name.endsWith('.md'))
    .sort();
  const wrong = names.filter((name) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(name));
  if (wrong.length > 0) {
    throw new AppError(
      'configuration',
      `migrations are named like 0001_what_it_does.sql; rename or remove in ${folder}: ${wrong.join(', ')}`,
    );
  }
  return names.map((name, index) => {
    const number = Number(name.slice(0, 4));
    if (number !== index + 1) {
      const trouble =
        names.filter((other) => other.startsWith(name.slice(0, 5))).length > 1
          ? 'a number is used twice'
          : 'a number is left out';
      throw new AppError('configuration', `migrations are numbered 1, 2, 3 …, and at ${name} in ${folder} ${trouble}`);
    }
    // A checkout on Windows may carry other line ends; the statements are the same.
    const text = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n');
    return { number, name, text, sha256: createHash('sha256').update(text).digest('hex') };
  });
}

/** The applied migrations; null when this database was never migrated. Reads before it creates: "create if not exists" needs rights that a plain start lacks. */
async function readApplied(sql: Queries): Promise<Migration[] | null> {
  const [found] = await sql<[{ exists: boolean; isFromBefore: boolean }]>`
    select to_regclass('purchase_watch_internal.migrations') is not null as exists,
      to_regclass('purchase_watch.migrations') is not null as "isFromBefore"`;
  if (found.isFromBefore) throw new AppError('conflict', MADE_BEFORE_FIRST_RELEASE);
  if (!found.exists) return null;
  return sql<Migration[]>`select number, name, sha256 from purchase_watch_internal.migrations order by number`;
}

/** Development versions kept all tables, this list of migrations too, in the schema `purchase_watch`. */
const MADE_BEFORE_FIRST_RELEASE =
  'a version before the first release made the schema purchase_watch of this database, and no migration leads from there to the present one: ' +
  'use another database; or save what you need ("select purchase_id, site, reference, metadata from purchase_watch.purchases"), ' +
  'remove the schema with everything in it ("drop schema purchase_watch cascade"), and start again';

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
    applied_at timestamptz not null default now()
  )`;
}

/** The files still to apply, after a check that the applied ones are exactly the files before these. */
function compare(files: readonly MigrationFile[], applied: readonly Migration[]): MigrationFile[] {
  const highest = applied.at(-1)?.number ?? 0;
  const problems: string[] = [];
  for (const { number, name, sha256 } of applied) {
    const file = files[number - 1];
    if (file === undefined) {
      problems.push(
        `${name} was applied by a newer version: upgrade purchase-watch to that version, or restore a backup from before it`,
      );
    } else if (file.name !== name) {
      problems.push(
        `${name} was applied, but number ${number} is now ${file.name}: put ${name} back and give the other file the next free number`,
      );
    } else if (file.sha256 !== sha256) {
      problems.push(`${name} was edited after it was applied: put it back as it was and make the change in a new file`);
    }
  }
  const known = new Set(applied.map(({ number }) => number));
  for (const file of files.filter(({ number }) => number < highest && !known.has(number))) {
    problems.push(`${file.name} was never applied, but later files were: give it the next free number`);
  }
  if (problems.length > 0)
    throw new AppError('conflict', `the database schema and the migrations differ: ${problems.join('; ')}`);
  return files.slice(highest);
}

async function apply(tx: Queries, { number, name, sha256, text }: MigrationFile): Promise<void> {
  const transaction = () => tx<[{ id: string }]>`select pg_current_xact_id()::text as id`;
  const [before] = await transaction();
  await tx.unsafe(text).catch((cause: unknown) => {
    throw new AppError('conflict', `migration ${name} failed and nothing was changed: ${describe(cause, text)}`, { cause });
  });
  const [after] = await transaction();
  if (before.id !== after.id)
    throw new AppError('configuration', `migration ${name} ends the transaction: remove its commit or rollback`);
  await tx`insert into purchase_watch_internal.migrations (number, name, sha256) values (${number}, ${name}, ${sha256})`;
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

/** The number of the last file that was applied. */
export async function schemaVersion(sql: Queries): Promise<number> {
  return (await readApplied(sql))?.at(-1)?.number ?? 0;
}
