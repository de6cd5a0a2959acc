/** Where the embedded Postgres listens: a Unix socket in a folder that only its own user, and root, can enter. */
import { once } from 'node:events';
import { lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';
import { giveTo, type Owner } from './files.ts';
import { readOwned } from './owned-file.ts';

/** The longest path of a socket that every system takes; Linux takes three more. */
const LONGEST = 103;
/** A part of the name of the socket's file; the server listens on no port. */
export const DEFAULT_PORT = 5_432;

export function socketIn(folder: string, port: number): string {
  return join(folder, `.s.PGSQL.${port}`);
}

/**
 * A folder for the socket of a server: `wanted`, or one in the system's folder for temporary files where a socket cannot be
 * in `wanted` (its path is too long, its name has what connection strings separate, or its file system takes no sockets).
 */
export async function makeSocketFolder(wanted: string, { user, port }: { user: Owner | null; port: number }): Promise<string> {
  if (isSpeakable(wanted) && Buffer.byteLength(socketIn(wanted, port)) <= LONGEST) {
    closedFolder(wanted, user);
    if (await takesSockets(wanted)) return wanted;
  }
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-'));
  giveTo(folder, user);
  return folder;
}

/** Whether connection strings can name a folder: commas and colons separate hosts and ports there. */
function isSpeakable(folder: string): boolean {
  return !/[,:%[\]\p{Cc}]/u.test(folder);
}

/** Makes a folder that is closed to all other users, or checks that an existing one is. */
export function closedFolder(folder: string, user: Owner | null): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
    giveTo(folder, user);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const found = lstatSync(folder);
  const owner = user?.uid ?? process.getuid!();
  if (found.isDirectory() && found.uid === owner && (found.mode & 0o077) === 0) return;
  throw new AppError(
    'conflict',
    `${folder} must be a folder of user ${owner} that no other user can enter (mode 700): find out who put it there, and remove it`,
  );
}

/** Whether a folder's file system keeps sockets: some file systems of containers and networks keep only files. */
async function takesSockets(folder: string): Promise<boolean> {
  const trial = join(folder, `.trial-${process.pid}`);
  const server = createServer();
  try {
    server.listen(trial);
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
    rmSync(trial, { force: true });
  }
}

/** Deletes the socket's folder of a server that has ended, if it lies in the system's folder for temporary files. */
export function removeSocketFolder(folder: string): void {
  if (dirname(folder) === tmpdir()) rmSync(folder, { recursive: true, force: true });
}

/**
 * Deletes the lock file of a socket whose server is gone: when the process number in the file has become another process',
 * Postgres would take that process for a server. `isServer` answers whether a process is the server.
 */
export function freeSocket(socket: string, { owner, isServer }: { owner: number; isServer: (pid: number) => boolean }): void {
  const pid = Number(readOwned(`${socket}.lock`, owner)?.split('\n')[0] ?? Number.NaN);
  if (!Number.isNaN(pid) && !isServer(pid)) rmSync(`${socket}.lock`, { force: true });
}
