/** Registers what a file or standard input lists, in batches, however long it is. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { AppError } from '../core/errors.ts';
import type { Sql } from '../store/database.ts';
import { type Registration, register } from '../store/purchases.ts';
import { linesOf } from './lines.ts';
import { type Defaults, registrationReader } from './registrations.ts';

export interface RegisterFileOptions {
  /** A path, or `-`. */
  readonly file: string;
  readonly stdin: NodeJS.ReadableStream;
  readonly defaults: Defaults;
  /** Told of each line that could not be registered, and of columns that mean nothing. */
  onProblem(text: string): void;
  /** Told of the lines done so far, after each batch. */
  onProgress(lines: number): void;
}

interface Numbered {
  readonly line: number;
  readonly registration: Registration;
}

const BATCH = 1_000;

/** Answers how many were new, known already and bad. */
export async function registerFile(
  sql: Sql,
  { file, stdin, defaults, onProblem, onProgress }: RegisterFileOptions,
): Promise<{ created: number; existing: number; rejected: number; lines: number }> {
  const tally = { created: 0, existing: 0, rejected: 0, lines: 0 };
  const reader = registrationReader(basename(file), defaults);
  const reject = (line: number, problem: string): void => {
    tally.rejected += 1;
    onProblem(`line ${line}: ${problem}`);
  };

  /** The database has the last word: a batch it refuses is halved until the line that it refuses is found. */
  async function write(batch: readonly Numbered[]): Promise<void> {
    try {
      for (const answer of await register(
        sql,
        batch.map(({ registration }) => registration),
      ))
        tally[answer] += 1;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (batch.length === 1) return reject(batch[0]!.line, error.message);
      const half = Math.ceil(batch.length / 2);
      await write(batch.slice(0, half));
      await write(batch.slice(half));
    }
  }

  let batch: Numbered[] = [];
  for await (const { number, text } of linesOf(await openInput(file, stdin))) {
    tally.lines = number;
    const read = text === null ? { problem: 'is far too long to be a purchase' } : reader.line(text);
    if (read !== 'nothing' && 'problem' in read) reject(number, read.problem);
    else if (read !== 'nothing') batch.push({ line: number, registration: read.registration });
    if (batch.length < BATCH) continue;
    await write(batch);
    batch = [];
    onProgress(number);
  }
  if (batch.length > 0) await write(batch);
  if (reader.unused().length > 0) onProblem(`not used: ${reader.unused().join(', ')}`);
  return tally;
}

/** Data exceptions and violated constraints: the row's fault, not the connection's. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'PostgresError' && /^2[23]/.test(String((error as { code?: unknown }).code));
}

async function openInput(file: string, stdin: NodeJS.ReadableStream): Promise<NodeJS.ReadableStream> {
  if (file === '-') return stdin;
  try {
    // Opened first: a stream would tell of a missing file when it is too late to say it well.
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      throw new AppError('invalid', `--file: ${file} is a folder`);
    }
    return createReadStream(file, { fd: handle });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const { code } = cause as { code?: string };
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'you may not read it' : String(code);
    throw new AppError('invalid', `--file: cannot read ${file}: ${why}`, { cause });
  }
}
