/** One cluster of the embedded Postgres: making it, opening it, running its programs. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../domain/values/errors.ts';
import { randomBytes } from '../../runtime/random.ts';
import { wall } from '../../runtime/time.ts';
import { BARE_ENVIRONMENT, giveTo, type Home, ownerOf, replace } from './files.ts';
import { openPlain, readOwned } from './owned-file.ts';
import { SUPERUSER } from './roles.ts';
import { DEFAULT_PORT } from './socket.ts';

/** Values of postgresql.conf by name. */
export type ServerSettings = Readonly<Record<string, string>>;

export type Cluster = Awaited<ReturnType<typeof openCluster>>;

const SETTINGS: ServerSettings = {
  listen_addresses: '',
  // Closes the socket itself, should another user get into the folder.
  unix_socket_permissions: '0700',
  shared_buffers: '128MB',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Parallel queries need /dev/shm, of which containers give 64 MB; the daemon's queries are small and many.
  max_parallel_workers_per_gather: '0',
  log_checkpoints: 'off',
  // Rows and statements can hold personal data: neither goes to the log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

const ABANDONED_DRAFT = 3_600_000;

/** Opens the cluster in a home, and makes one when there is none. */
export async function openCluster(home: Home, settings: ServerSettings) {
  const folder = join(home.home, 'postgres');
  if (!existsSync(folder)) await initialize(home, folder, settings);
  const data = realpathSync(join(folder, 'data'));
  const owner = home.user?.uid ?? process.getuid!();
  const written = (readOwned(join(data, 'PG_VERSION'), owner) ?? '(PG_VERSION is missing)').trim();
  if (written !== home.major) {
    throw new AppError(
      'conflict',
      `the data in ${data} was written by Postgres ${written}, and this version brings Postgres ${home.major}: ` +
        `dump it (pg_dump) with the version of purchase-watch that wrote it, move ${folder} away, start this version and restore the dump`,
    );
  }
  const lockFile = join(folder, 'lock');
  closeLockFile(lockFile, owner);
  return {
    home,
    /** The server's data directory, as the server itself names it. */
    data,
    /** The user whom the data belongs to, and as whom the server runs. */
    owner,
    /** Locked by the server for as long as it lives. */
    lockFile,
    /** The superuser's password. */
    password: readFileSync(join(folder, 'password'), 'utf8'),
    /** Where the socket goes if it can; see socket.ts. */
    socketFolder: join(folder, 'socket'),
    /** Part of the socket's name. */
    port: Number(settings.port ?? DEFAULT_PORT),
    log: join(home.dataDir, 'postgres.log'),
    settings: { ...SETTINGS, ...settings } as ServerSettings,
  };
}

/**
 * Makes the lock file where it is missing, and closes the file to all users but the server's: every user who can open the file can
 * lock it, and so keep the server from starting.
 */
function closeLockFile(path: string, owner: number): void {
  const file = openPlain(path, constants.O_RDONLY | constants.O_CREAT, 0o600)!;
  try {
    const { uid, gid, mode } = fstatSync(file);
    if (uid !== owner && process.getuid!() === 0) fchownSync(file, owner, gid);
    if ((mode & 0o777) !== 0o600) fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}

/** Makes a cluster beside its place and moves it there when complete, so that a crash or a second process leaves no half-made cluster. */
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
    await promisify(execFile)(join(home.native, 'bin', 'initdb'), args, asServerUser(home, join(draft, 'data')));
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
    if (wall() - statSync(draft).mtimeMs > ABANDONED_DRAFT) rmSync(draft, { recursive: true, force: true });
  }
}

/** How the server's programs are run: as whom, in which folder, and with what environment. */
export function asServerUser(home: Home, cwd: string) {
  // Passes nothing of this process' environment: it holds secrets, and PG… variables would change what the server does.
  const search = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  // The loader splits the list of folders at these characters, and has no way to quote them.
  const named = (folder: string): string => (/[:;]/.test(folder) ? relative(cwd, folder) : folder);
  const folders = [home.libraries, join(home.native, 'lib')].map(named).join(':');
  return { ...home.user, cwd, env: { ...BARE_ENVIRONMENT, [search]: folders } };
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
