/** The server process of a cluster: starting one, and knowing whether one runs. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, fchownSync, fstatSync, lstatSync, readFileSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';
import { asServerUser, type Cluster, cannotRun } from './cluster.ts';
import { BARE_ENVIRONMENT, ownerOf } from './files.ts';
import { openPlain, readOwned, writeOwned } from './owned-file.ts';

const LARGEST_LOG = 1_000_000;
/** Exit code of flock when another process holds the lock. */
const HELD = 75;
const FLOCK = '/usr/bin/flock';

/** A server that this process started and that has not accepted a session yet. */
export type StartedServer = ReturnType<typeof attemptStart>;

/** Starts a server. Whether the server comes up shows in its lock file and in the logins that it accepts. */
export function attemptStart(cluster: Cluster, socketFolder: string) {
  let failure: unknown;
  const { server, logStart } = spawnServer(cluster, socketFolder);
  server.on('error', (error) => {
    failure = error;
  });
  const hasEnded = () => failure !== undefined || server.exitCode !== null || server.signalCode !== null;
  const lastWords = () => readLog(cluster, logStart).trim().split('\n').slice(-10).join(' | ');
  return {
    pid: server.pid,
    hasEnded,
    /** The end of what the server wrote to the log. */
    lastWords,
    /** Throws why the server ended, unless another attempt may succeed. */
    throwIfFatal: (): void => {
      if (failure !== undefined) throw cannotRun('postgres', cluster.home, failure);
      if (server.exitCode === HELD) return;
      const log = lastWords();
      // Another process was quicker, or processes of a server that was killed are still ending.
      if (log.includes('postmaster.pid') || log.includes('shared memory block')) return;
      throw new AppError('unavailable', `the embedded Postgres ended at once: ${log || `no word in ${cluster.log}`}`);
    },
    /** Ends the server at once; it has served no client. */
    abandon: async (): Promise<void> => {
      if (hasEnded()) return;
      // The server's process is unreferenced while it serves, but this process must wait for its end.
      server.ref();
      const ended = once(server, 'exit');
      server.kill('SIGQUIT');
      await ended;
    },
  };
}

/** Starts the server process, which appends to the log from `logStart` on, and outlives this process unless it is stopped. */
function spawnServer(cluster: Cluster, socketFolder: string): { server: ChildProcess; logStart: number } {
  const { home, data, log } = cluster;
  if ((lstatSync(log, { throwIfNoEntry: false })?.size ?? 0) > LARGEST_LOG) renameSync(log, `${log}.1`);
  const output = openPlain(log, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)!;
  const logStart = fstatSync(output).size;
  const owner = ownerOf(home.dataDir);
  if (owner !== null) fchownSync(output, owner.uid, owner.gid);
  const where = { unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`, port: String(cluster.port) };
  const settings = Object.entries({ ...cluster.settings, ...where }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program, ...args] = [...lockPrefix(cluster), join(home.native, 'bin', 'postgres'), '-D', data, ...settings];
  const server = spawn(program!, args, {
    ...asServerUser(home, data),
    // A session of its own: Ctrl-C on the terminal is for this process, and the server must serve until its last transaction is done.
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  server.unref();
  return { server, logStart };
}

/** The text of the log from a position on. */
function readLog({ log }: Cluster, from: number): string {
  const file = openPlain(log, constants.O_RDONLY);
  if (file === null) return '';
  try {
    // One character per byte, as the position is counted.
    return readFileSync(file, 'latin1').slice(from);
  } finally {
    closeSync(file);
  }
}

/**
 * The words before a command that make it hold the lock of the data folder. The kernel keeps that lock for as long as any process
 * of the server lives, and releases it however they end. Other containers see the lock; the process number in Postgres' own lock
 * file means another process there. Empty where there is no flock (macOS has no such containers).
 */
function lockPrefix({ lockFile }: Cluster): string[] {
  return existsSync(FLOCK) ? [FLOCK, '--no-fork', '--nonblock', '--conflict-exit-code', String(HELD), lockFile] : [];
}

/** Whether a server holds the data folder, wherever the server runs. False when this system's flock does not know the options. */
export function isHeld(cluster: Cluster): boolean {
  const [program, ...args] = lockPrefix(cluster);
  if (program === undefined) return false;
  return spawnSync(program, [...args, '/bin/true'], { ...asServerUser(cluster.home, '/'), stdio: 'ignore' }).status === HELD;
}

/** A server that runs on a cluster, according to its lock file. */
export type RunningServer = NonNullable<ReturnType<typeof runningServer>>;

/** The server that runs on this cluster; null when none does. */
export function runningServer(cluster: Cluster) {
  // The file can be read while it is being written.
  const [first = '', , , , socketFolder = ''] = readLock(cluster);
  const pid = Number(first);
  if (!(pid > 1) || !isServer(cluster, pid)) return null;
  return {
    pid,
    /** The folder of the server's socket; null while the server is starting. */
    socketFolder: socketFolder || null,
  };
}

/** Whether the process of this number is the server of this cluster, and not a process that got the number later. */
export function isServer({ data }: Cluster, pid: number): boolean {
  const command = commandLine(pid);
  return command !== null && /^postgres\b/.test(basename(command.split(/[\0 ]-D[\0 ]/)[0] ?? '')) && command.includes(data);
}

/** The command line of a process: null when there is no such process; empty for a process that has ended and waits to be collected. */
function commandLine(pid: number): string | null {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      env: BARE_ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null;
  }
}

/**
 * Lets a server start after a crash when the process number in its lock file has become another process' (common in a
 * container): Postgres would take that process for the server. Postgres never takes its own parent for the server, so this
 * writes this process' number into the file. The other lines stay: by these Postgres checks that no process of the dead server
 * is left.
 */
export function disownLock(cluster: Cluster): void {
  const [pid, ...rest] = readLock(cluster);
  if (pid === undefined || rest.length === 0 || Number(pid) === process.pid) return;
  if (commandLine(Number(pid)) === null || isServer(cluster, Number(pid))) return;
  writeOwned(join(cluster.data, 'postmaster.pid'), cluster.owner, [process.pid, ...rest].join('\n'));
}

function readLock({ data, owner }: Cluster): string[] {
  return readOwned(join(data, 'postmaster.pid'), owner)?.split('\n') ?? [];
}
