/**
 * The numbered SQL files of a folder. A file may begin with lines that say who works with the schema after it:
 * `-- serves: 25` (programs whose newest file is 25 or later go on) and `-- needed: no` (programs with this file also work
 * before it is applied). Without these lines the file serves no older program, and newer programs need it.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';

export interface MigrationFile {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly text: string;
  /** The oldest program, by the number of its newest file, that works with the schema after this file; null: none that lacks the file. */
  readonly serves: number | null;
  /** Whether a program that has the file works only where it is applied. */
  readonly isNeeded: boolean;
  /** The indexes that the file builds beside writers, outside of a transaction; null for any other file. */
  readonly indexes: readonly BuiltIndex[] | null;
}

export interface BuiltIndex {
  readonly name: string;
  readonly table: string;
  readonly text: string;
}

/** A lock on a table that was there before the file. */
export interface LockTaken {
  /** The statement that takes it first, such as `alter table`. */
  readonly statement: string;
  /** A table or a view, with its schema. */
  readonly table: string;
  /** The mode as pg_locks shows it. */
  readonly lock: string;
  /** Whether the statement reads every row, builds an index, writes the whole table again, or none of these. */
  readonly work: 'none' | 'scan' | 'index' | 'rewrite';
}

/** The locks of files from lines: `file | statement | table | lock | work` for each lock, the file alone where it takes none. */
export function locksIn(text: string): ReadonlyMap<string, readonly LockTaken[]> {
  const locks = new Map<string, LockTaken[]>();
  for (const line of text.trim().split('\n')) {
    const [file, statement, table, lock, work] = line.split(' | ');
    const before = locks.get(file!) ?? [];
    locks.set(file!, statement === undefined ? before : [...before, { statement, table, lock, work } as LockTaken]);
  }
  return locks;
}

/** The files of a folder in their order. Throws AppError `configuration` for names, numbers and first lines that are wrong. */
export function readFolder(folder: string): MigrationFile[] {
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
    return parseFile(number, name, readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n'));
  });
}

/** A file by its name and text. */
export function parseFile(number: number, name: string, text: string): MigrationFile {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { number, name, text, sha256, ...firstLines(number, name, text), indexes: indexesOf(name, text) };
}

function firstLines(number: number, name: string, text: string): Pick<MigrationFile, 'serves' | 'isNeeded'> {
  const said = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, key, value] = /^-- (serves|needed): *(.*?) *$/.exec(line) ?? [];
    if (key === undefined || value === undefined) break;
    said.set(key, value);
  }
  const [serves, needed] = [said.get('serves'), said.get('needed')];
  if (serves !== undefined && (!/^\d+$/.test(serves) || Number(serves) >= number)) {
    throw new AppError(
      'configuration',
      `${name} begins with "serves: ${serves}": give the number of an earlier file, the newest that the oldest program has which still works`,
    );
  }
  if (needed !== undefined && needed !== 'no' && needed !== 'yes')
    throw new AppError('configuration', `${name} begins with "needed: ${needed}": say yes or no`);
  return { serves: serves === undefined ? null : Number(serves), isNeeded: needed !== 'no' };
}

const INDEX = /^create\s+(?:unique\s+)?index\s+concurrently\s+(\w+)\s+on\s+(\w+\.\w+)\b/i;

function indexesOf(file: string, text: string): MigrationFile['indexes'] {
  const statements = text.replaceAll(/^\s*--.*$/gm, '').trim();
  if (!/\bindex\s+concurrently\b/i.test(statements)) return null;
  return statements.split(/;\s*$/m).flatMap((each) => {
    const statement = each.trim();
    if (statement === '') return [];
    const [, name, table] = statement.includes(';') ? [] : (INDEX.exec(statement) ?? []);
    if (name !== undefined && table !== undefined) return [{ name, table, text: statement }];
    throw new AppError(
      'configuration',
      `${file}: indexes that are built concurrently have a file of their own, with no statement but "create index concurrently its_name on schema.its_table …", each on lines of its own`,
    );
  });
}
