/** One cluster of the embedded Postgres: making it, running its server, knowing whether one runs. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../core/errors.ts';
import { giveTo, type Home, ownerOf, replace } from './embedded-files.ts';

/** Values of postgresql.conf by name. */
export type ServerSettings = Readonly<Record<string, string>>;

export interface Cluster {
  readonly home: Home;
  /** The server's data directory, as the server itself names it. */
  readonly data: string;
  readonly password: string;
  /** Holds the port of the last run, so that an address that somebody wrote down keeps working. */
  readonly portFile: string;
  readonly log: string;
  readonly settings: ServerSettings;
}

/** The server's superuser, the only role there is at first. */
export const SUPERUSER = 'purchase_watch';

const SETTINGS: ServerSettings = {
  listen_addresses: '127.0.0.1',
  // The socket's path would have to fit 107 bytes, and a second way in is not needed.
  unix_socket_directories: '',
  shared_buffers: '128MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Parallel queries need /dev/shm, of which containers give 64 MB; ours are small and many.
  max_parallel_workers_per_gather: '0',
  log_checkpoints: 'off',
  // Rows and statements can hold personal data: neither goes to the log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

const LARGEST_LOG = 1_000_000;
const ABANDONED_DRAFT = 3_600_000;

/** Opens the cluster in a home, and makes it when there is none. */
export async function openCluster(home: Home, settings: ServerSettings): Promise<Cluster> {
  const folder = join(home.home, 'postgres');
  if (!existsSync(folder)) await initialize(home, folder, settings);
  const data = realpathSync(join(folder, 'data'));
  const written = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (written !== home.major) {
    throw new AppError(
      'conflict',
      `the data in ${data} was written by Postgres ${written}, and this version brings Postgres ${home.major}: ` +
        `dump it (pg_dump) with the version of purchase-watch that wrote it, move ${folder} away, start this version and restore the dump`,
    );
  }
  return {
    home,
    data,
    password: readFileSync(join(folder, 'password'), 'utf8'),
    portFile: join(folder, 'port'),
    log: join(home.dataDir, 'postgres.log'),
    settings: { ...SETTINGS, ...settings },
  };
}

/** Made beside its place and moved there when complete: a crash or a second process on the way leaves nothing half done. */
async function initialize(home: Home, folder: string, settings: ServerSettings): Promise<void> {
  removeAbandonedDrafts(home.home);
  const draft = `${folder}.new-${randomBytes(4).toString('hex')}`;
  const password = randomBytes(24).toString('base64url');
  const handover = join(draft, 'initdb-password');
  mkdirSync(join(draft, 'data'), { recursive: true });
  chmodSync(draft, home.user === null ? 0o700 : 0o711);
  chmodSync(join(draft, 'data'), 0o700);
  for (const file of [join(draft, 'password'), handover]) writeFileSync(file, password, { mode: 0o600 });
  for (const path of [draft, join(draft, 'password')]) giveTo(path, ownerOf(home.dataDir));
  for (const path of [join(draft, 'data'), handover]) giveTo(path, home.user);
  const args = [
    ...['--pgdata', join(draft, 'data'), '--username', SUPERUSER, '--pwfile', handover, '--auth', 'scram-sha-256'],
    ...['--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
    ...(settings.fsync === 'off' ? ['--no-sync'] : []),
  ];
  try {
    await promisify(execFile)(join(home.native, 'bin', 'initdb'), args, { ...asServerUser(home), cwd: join(draft, 'data') });
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw cannotRun('initdb', home, error);
  }
  rmSync(handover);
  replace(draft, folder);
}

function removeAbandonedDrafts(home: string): void {
  for (const name of readdirSync(home).filter((name) => name.startsWith('postgres.new-'))) {
    const draft = join(home, name);
    if (Date.now() - statSync(draft).mtimeMs > ABANDONED_DRAFT) rmSync(draft, { recursive: true, force: true });
  }
}

function asServerUser(home: Home) {
  // Nothing of our own environment: it holds secrets, and PG… variables would change what the server does.
  const search = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { ...home.user, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', [search]: `${home.libraries}:${join(home.native, 'lib')}` } };
}

/** The error for a program that could not be started or failed. */
export function cannotRun(program: string, home: Home, error: unknown): AppError {
  const { code, stderr } = error as { code?: unknown; stderr?: string };
  const file = join(home.native, 'bin', program);
  // The kernel's words for a missing loader: the file is there and still "not found".
  const hint =
    code === 'ENOENT' && existsSync(file)
      ? 'it needs glibc, which this system lacks (Alpine): use a Debian-based image, or set DATABASE_URL'
      : (stderr || (error instanceof Error ? error.message : String(error))).trim();
  return new AppError('unavailable', `the embedded Postgres cannot be started (${file}): ${hint}`, { cause: error });
}

/** Starts the server. It writes to the log, and outlives this process unless it is stopped. */
export function spawnServer(cluster: Cluster, port: number): ChildProcess {
  const { home, data, log } = cluster;
  if (existsSync(log) && statSync(log).size > LARGEST_LOG) renameSync(log, `${log}.1`);
  const output = openSync(log, 'a', 0o600);
  giveTo(log, ownerOf(home.dataDir));
  const settings = Object.entries({ ...cluster.settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const server = spawn(join(home.native, 'bin', 'postgres'), ['-D', data, ...settings], {
    ...asServerUser(home),
    cwd: data,
    // A session of its own: Ctrl-C on our terminal is ours, and the server must serve until our last transaction is done.
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  server.unref();
  return server;
}

/** The server that runs on this cluster, as its lock file tells; null when none does. */
export function runningServer(cluster: Cluster): { pid: number; port: number } | null {
  const lock = readLock(cluster);
  const pid = Number(lock[0]);
  // The file can be read while it is being written.
  if (!(pid > 1) || !isServer(cluster, pid)) return null;
  return { pid, port: Number(lock[3]) };
}

/** Whether this process is the server of this cluster, and not one that got its number later. */
export function isServer({ data }: Cluster, pid: number): boolean {
  const command = commandLine(pid);
  return command !== null && /^\S*postgres\b/.test(basename(command.split(/[\0 ]/)[0] ?? '')) && command.includes(data);
}

/** Null when there is no such process; empty for one that has ended and waits to be collected. */
function commandLine(pid: number): string | null {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null;
  }
}

/**
 * Clears the way for a server after a crash, when the number in its lock file has become another process' (in a
 * container that is common): Postgres would take that process for the server. It does not for its own parent, so our
 * number goes there. The rest stays, for Postgres checks by it that no process of the dead server is left.
 */
export function disownLock(cluster: Cluster): void {
  const [pid, ...rest] = readLock(cluster);
  if (pid === undefined || rest.length === 0 || Number(pid) === process.pid) return;
  if (commandLine(Number(pid)) === null || isServer(cluster, Number(pid))) return;
  writeFileSync(join(cluster.data, 'postmaster.pid'), [process.pid, ...rest].join('\n'));
}

function readLock({ data }: Cluster): string[] {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}
