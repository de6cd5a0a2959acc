/** Registers what a file or standard input lists, in batches, however long it is. */

import { fstatSync, type ReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Sql } from '../../actions/database.ts';
import { linesOf } from '../../actions/registrations/lines.ts';
import { recordsOf } from '../../actions/registrations/records.ts';
import { MOST_SINGLE, type Registration, register } from '../../actions/registrations/register.ts';
import { type Defaults, registrationReader } from '../../actions/registrations/registrations.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Reached } from '../terminal/progress.ts';

export interface RegisterFileOptions {
  /** A path, or `-`. */
  readonly file: string;
  readonly stdin: NodeJS.ReadableStream;
  readonly defaults: Defaults;
  /** Called for each line that could not be registered; for columns that mean nothing, without a line. */
  onProblem(problem: string, line: number | null): void;
  /** Called with what is done so far: after each batch, and when the work breaks off. */
  onProgress(reached: Reached, counts: RegistrationCounts): void;
}

export interface RegistrationCounts {
  readonly created: number;
  /** With those that are watched again. */
  readonly existing: number;
  readonly watchedAgain: number;
  readonly rejected: number;
}

interface Numbered {
  readonly line: number;
  readonly registration: Registration;
}

/** One is made ready, and sent over, while the database works on the other. */
const BATCH = 5_000;
const IN_FLIGHT = 2;

/** Answers how many were new, known already and bad. */
export async function registerFile(
  sql: Sql,
  { file, stdin, defaults, onProblem, onProgress }: RegisterFileOptions,
): Promise<RegistrationCounts> {
  /** From the first large batch on; the halves of a refused one, and the rest of the file, belong to it. */
  let isBulk = false;
  const counts = { created: 0, existing: 0, watchedAgain: 0, rejected: 0 };
  const reader = registrationReader(basename(file), defaults);
  const reject = (line: number, problem: string): void => {
    counts.rejected += 1;
    onProblem(problem, line);
  };

  /** The database has the last word: a batch it refuses is halved until the line that it refuses is found. */
  async function write(batch: readonly Numbered[]): Promise<void> {
    try {
      const registrations = batch.map(({ registration }) => registration);
      const options = { by: 'cli', isBulk, former: defaults.former ?? new Set() } as const;
      for (const answer of await register(sql, registrations, options)) {
        counts[answer === 'created' ? 'created' : 'existing'] += 1;
        if (answer === 'watched again') counts.watchedAgain += 1;
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (batch.length === 1) return reject(batch[0]!.line, error.message);
      const half = Math.ceil(batch.length / 2);
      await write(batch.slice(0, half));
      await write(batch.slice(half));
    }
  }

  const inFlight: { readonly ids: ReadonlySet<string>; readonly reached: Reached; readonly written: Promise<void> }[] = [];
  /** In the order of the file: what was reached has nothing unwritten before it. */
  async function settleOldest(): Promise<void> {
    const { written, reached } = inFlight[0]!;
    await written;
    inFlight.shift();
    onProgress(reached, counts);
  }
  async function send(batch: readonly Numbered[], reached: Reached): Promise<void> {
    const ids = new Set(batch.map(({ registration }) => registration.purchaseId));
    // Of an id that comes twice the first counts, so two batches with the same one go one after the other.
    while (inFlight.length >= IN_FLIGHT || inFlight.some((other) => !other.ids.isDisjointFrom(ids))) await settleOldest();
    isBulk ||= batch.length > MOST_SINGLE;
    const written = write(batch);
    written.catch(() => undefined); // The code that awaits it gets the error.
    inFlight.push({ ids, reached, written });
  }

  const { stream, size } = await openInput(file, stdin);
  let batch: Numbered[] = [];
  try {
    for await (const { first, last, read } of recordsOf(linesOf(stream), reader)) {
      if ('problem' in read) reject(first, first === last ? read.problem : `${read.problem} (the record ends in line ${last})`);
      else batch.push({ line: first, registration: read.registration });
      if (batch.length < BATCH) continue;
      await send(batch, { lines: last, bytes: stream.bytesRead ?? 0, size });
      batch = [];
    }
    if (batch.length > 0) await send(batch, { lines: batch.at(-1)!.line, bytes: size ?? 0, size });
    while (inFlight.length > 0) await settleOldest();
  } finally {
    await Promise.allSettled(inFlight.map(({ written }) => written));
  }
  if (reader.unused().length > 0) onProblem(`not used: ${reader.unused().join(', ')}`, null);
  return counts;
}

/** Data exceptions and violated constraints: the row's fault, not the connection's. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'PostgresError' && /^2[23]/.test(String((error as { code?: unknown }).code));
}

/** `size` in bytes; null for a pipe. */
async function openInput(file: string, stdin: NodeJS.ReadableStream & { readonly bytesRead?: number }) {
  if (file === '-') return { stream: stdin, size: sizeOf((stdin as Partial<ReadStream> & { fd?: number }).fd) };
  try {
    // Opened first: a stream would report a missing file when it is too late to say it well.
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      throw new AppError('invalid', `--file: ${file} is a folder`);
    }
    return { stream: handle.createReadStream(), size: sizeOf(handle.fd) };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const { code } = cause as { code?: string };
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'you may not read it' : String(code);
    throw new AppError('invalid', `--file: cannot read ${file}: ${why}`, { cause });
  }
}

/** Standard input may be a file, too. */
function sizeOf(descriptor: number | undefined): number | null {
  if (descriptor === undefined) return null;
  try {
    const found = fstatSync(descriptor);
    return found.isFile() ? found.size : null;
  } catch {
    return null;
  }
}
