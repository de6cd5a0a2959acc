/**
 * Files in folders of another user, opened as root: the embedded Postgres and DATA_DIR may belong to an unprivileged user,
 * who may put a link, a pipe or a second name of another user's file in a file's place.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { AppError } from '../../domain/values/errors.ts';

/** Flags of `open` that follow no link and do not wait for the other end of a pipe. */
const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Most bytes that are read: the files of Postgres that are read here have a few lines. */
const LARGEST = 65_536;

/** The content of a plain file of this user; null when there is none. Throws AppError `conflict` for anything else in its place. */
export function readOwned(path: string, uid: number): string | null {
  return withOwned(path, uid, constants.O_RDONLY, (file) => readFileSync(file, 'utf8'));
}

/** Replaces the content of a plain file of this user; does nothing when there is none. Throws AppError `conflict` for anything else in its place. */
export function writeOwned(path: string, uid: number, content: string): void {
  withOwned(path, uid, constants.O_WRONLY, (file) => {
    ftruncateSync(file);
    writeSync(file, content);
  });
}

/** Opens a plain file with these flags of `open`; null when there is none. Throws AppError `conflict` for a link, a pipe and the like. */
export function openPlain(path: string, flags: number, mode?: number): number | null {
  let file: number;
  try {
    file = openSync(path, flags | CAREFULLY, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw misplaced(path, 'it is a link', error);
    if (code === 'ENXIO') throw misplaced(path, 'it is a pipe or a socket', error);
    throw error;
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw misplaced(path, 'it is no plain file');
    if (found.nlink > 1) throw misplaced(path, 'it has another name elsewhere (a hard link)');
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function withOwned<T>(path: string, uid: number, flags: number, work: (file: number) => T): T | null {
  const file = openPlain(path, flags);
  if (file === null) return null;
  try {
    const { uid: owner, size } = fstatSync(file);
    if (owner !== uid) throw misplaced(path, `it belongs to user ${owner} and not to ${uid}, as whom the server runs`);
    if (size > LARGEST) throw misplaced(path, `it has ${size} bytes`);
    return work(file);
  } finally {
    closeSync(file);
  }
}

function misplaced(path: string, why: string, cause?: unknown): AppError {
  return new AppError(
    'conflict',
    `${path} must be a plain file of the embedded Postgres, and ${why}: find out who put it there, and remove it`,
    { cause },
  );
}
