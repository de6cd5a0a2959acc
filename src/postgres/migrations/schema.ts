/** The schema of a database beside the files of this program: which are missing, which are newer, and who can go on. */
import { AppError } from '../../domain/values/errors.ts';
import type { Queries } from '../connection/database.ts';
import { refuseEncoding } from './encoding.ts';
import { type MigrationFile, readFolder } from './files.ts';

/** A file that a database remembers. */
export type AppliedFile = Pick<MigrationFile, 'number' | 'name' | 'sha256' | 'serves'>;

export interface SchemaStatus {
  /** The number of the newest file of this program. */
  readonly own: number;
  /** The number of the last file that was applied. */
  readonly version: number;
  /** Files of this program that are to be applied, in order. */
  readonly pending: readonly MigrationFile[];
  /** Files of a newer program that were applied; this program works with them. */
  readonly newer: readonly AppliedFile[];
}

/** Reads the status. Changes nothing; throws AppError for what `migrate` refuses, a schema that is too new among it. */
export async function schemaStatus(sql: Queries, folder: string): Promise<SchemaStatus> {
  await refuseEncoding(sql);
  return compareSchema(readFolder(folder), (await readApplied(sql)) ?? []);
}

/** Whether this program works with the schema. */
export const isUsable = ({ pending }: Pick<SchemaStatus, 'pending'>): boolean => pending.every(({ isNeeded }) => !isNeeded);

/** How the schema differs from the files of this program, as a clause, and what to do; null when it does not. For a schema that this program works with. */
export function schemaDifference({ own, version, pending, newer }: SchemaStatus): { found: string; todo: string } | null {
  if (pending.length > 0)
    return {
      found: `the schema lacks ${namesOf(pending)}, without which this version works`,
      todo: 'run "purchase-watch migrate" with a login that may change the schema',
    };
  if (newer.length === 0) return null;
  return {
    found: `the schema is ${version}, newer than the ${own} of this version, which works with it (${namesOf(newer)})`,
    todo: 'upgrade to the newer version when it suits you',
  };
}

const namesOf = (files: readonly Pick<MigrationFile, 'name'>[]): string => files.map(({ name }) => name).join(', ');

/** The applied files; null when this database was never migrated. Reads before it creates: "create if not exists" needs rights that a plain start lacks. */
export async function readApplied(sql: Queries): Promise<AppliedFile[] | null> {
  const [found] = await sql<[{ exists: boolean; isFromBefore: boolean }]>`
    select to_regclass('purchase_watch_internal.migrations') is not null as exists,
      to_regclass('purchase_watch.migrations') is not null as is_from_before`;
  if (found.isFromBefore) throw new AppError('conflict', MADE_BEFORE_FIRST_RELEASE);
  if (!found.exists) return null;
  const applied = await sql<AppliedFile[]>`
    select number, name, sha256, serves from purchase_watch_internal.migrations order by number`;
  if (applied[0]?.sha256 === DEVELOPMENT) throw new AppError('conflict', MADE_BEFORE_FIRST_RELEASE);
  return applied;
}

/** The first file of development versions, whose thirty files became the nine of the first release. Earlier ones kept all tables, this list of migrations too, in the schema `purchase_watch`. */
const DEVELOPMENT = 'ef7e7f6395b3a19da8521bc04811e408ec0c5d7b392a88da2a4a6fd3b79817c0';
const MADE_BEFORE_FIRST_RELEASE =
  'a version before the first release made the schema of this database, and no migration leads from there to the present one: ' +
  'use another database; or save what you need ("select purchase_id, site, reference, metadata from purchase_watch.purchases"), ' +
  'remove the schema with everything in it ("drop schema if exists purchase_watch, purchase_watch_internal cascade"), and start again';

/** The files still to apply and those that are newer, after a check that the applied ones are exactly the files before these. */
export function compareSchema(files: readonly MigrationFile[], applied: readonly AppliedFile[]): SchemaStatus {
  const version = applied.at(-1)?.number ?? 0;
  const own = files.length;
  const problems: string[] = [];
  for (const { number, name, sha256 } of applied.filter((each) => each.number <= own)) {
    const file = files[number - 1]!;
    if (file.name !== name) {
      problems.push(
        `${name} was applied, but number ${number} is now ${file.name}: put ${name} back and give the other file the next free number`,
      );
    } else if (file.sha256 !== sha256) {
      problems.push(`${name} was edited after it was applied: put it back as it was and make the change in a new file`);
    }
  }
  const newer = applied.filter(({ number }) => number > own);
  problems.push(...newer.filter(({ serves }) => serves === null || serves > own).map((file) => tooNewText(file, own)));
  const known = new Set(applied.map(({ number }) => number));
  for (const file of files.filter(({ number }) => number < version && !known.has(number))) {
    problems.push(`${file.name} was never applied, but later files were: give it the next free number`);
  }
  if (problems.length > 0)
    throw new AppError('conflict', `the database schema and the migrations differ: ${problems.join('; ')}`);
  return { own, version, pending: files.slice(version), newer };
}

function tooNewText({ name, serves }: Pick<AppliedFile, 'name' | 'serves'>, own: number): string {
  const oldest = serves === null ? 'no older version works with it' : `it needs a version with schema ${serves} or later`;
  return `${name} was applied by a newer version, and ${oldest} (this one has ${own}): upgrade purchase-watch, or restore a backup from before it`;
}

/** Files that were applied after the newest of a program; throws AppError `conflict` once that program does not work with one. */
export async function newerFiles(sql: Queries, own: number): Promise<AppliedFile[]> {
  const newer = ((await readApplied(sql)) ?? []).filter(({ number }) => number > own);
  const unserved = newer.filter(({ serves }) => serves === null || serves > own);
  if (unserved.length > 0) throw new AppError('conflict', unserved.map((file) => tooNewText(file, own)).join('; '));
  return newer;
}

/** The number of the last file that was applied. */
export async function schemaVersion(sql: Queries): Promise<number> {
  return (await readApplied(sql))?.at(-1)?.number ?? 0;
}
