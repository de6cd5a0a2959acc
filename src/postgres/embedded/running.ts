/**
 * The server of a cluster while processes use it: each process waits until the server runs, or starts the server, and the last
 * process to leave stops it.
 */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic } from '../../runtime/time.ts';
import { openSession, type Session } from '../connection/database.ts';
import type { Cluster } from './cluster.ts';
import { lockHolder } from './lock-holder.ts';
import { daemonUrl, setUpDaemonRole, WRONG_PASSWORD } from './roles.ts';
import { attemptStart, disownLock, isHeld, isServer, type RunningServer, runningServer, type StartedServer } from './server.ts';
import { closedFolder, freeSocket, makeSocketFolder, removeSocketFolder, socketIn } from './socket.ts';

/** How long the server may take to answer; each answer that the server is recovering begins this time again. */
const PATIENCE = 30_000;
const LOOK_AGAIN = 20;
/** The rest between two looks while another server holds the data folder. */
const HELD_LOOK = 200;
/** The rest before the next start after a server that ended at once. */
const TRY_AGAIN = 500;
export const STOP_WITHIN: Milliseconds = 60_000;
/** How long processes of a killed server may hold the data folder; when the folder is held longer, another server runs on it. */
const HELD_AT_MOST: Milliseconds = 8_000;

/**
 * The advisory lock that processes which use the server hold shared, and that the process which stops the server holds alone.
 * The lock ends with its process, however the process ends.
 */
const IN_USE = 7_236_019_445;

/** The running server, and the session that holds this process' lock. */
export interface Running {
  readonly session: Session;
  readonly pid: number;
  readonly socketFolder: string;
  readonly adopted: boolean;
}

/**
 * Logs in to the running server of this cluster, or starts a server; resolves when a server has accepted a session. Processes
 * that call this at once need no lock of their own: Postgres lets one server into a data directory, and the other processes
 * find that server.
 */
export async function ensureRunning(cluster: Cluster, fixedFolder: string | null, signal?: AbortSignal): Promise<Running> {
  let deadline = monotonic() + PATIENCE;
  let attempt: StartedServer | null = null;
  let last: Greeting = 'silent';
  const waitsForOthers = untilFree(cluster);
  for (;;) {
    if (signal?.aborted) return abandon(attempt, signal.reason);
    const running = runningServer(cluster);
    if (running !== null) {
      const answer = await meet(cluster, running);
      if (typeof answer !== 'string') return { ...answer, adopted: running.pid !== attempt?.pid };
      if (answer === 'recovering') deadline = monotonic() + PATIENCE;
      last = answer;
    } else if (attempt === null || attempt.hasEnded()) {
      await restAfter(attempt);
      if (await waitsForOthers()) continue;
      attempt = await beginAttempt(cluster, fixedFolder);
    }
    if (monotonic() > deadline) return abandon(attempt, notReady(attempt, last));
    await delay(LOOK_AGAIN);
  }
}

/** Waits a moment while another server holds the data folder, and answers whether one did; throws when the folder is held for long. */
function untilFree(cluster: Cluster): () => Promise<boolean> {
  let heldSince: Milliseconds | null = null;
  return async () => {
    if (!isHeld(cluster)) {
      heldSince = null;
      return false;
    }
    heldSince ??= monotonic();
    if (monotonic() - heldSince > HELD_AT_MOST) throw heldElsewhere(cluster);
    await delay(HELD_LOOK);
    return true;
  };
}

/** Why an attempt to log in gave no session. */
type Greeting = 'silent' | 'recovering' | 'locked';

const UNREADY: Readonly<Record<Greeting, string>> = {
  silent: 'it does not answer',
  recovering: 'it is recovering',
  locked: `another session holds the advisory lock ${IN_USE}, as a process does that stops the server`,
};

async function restAfter(failed: StartedServer | null): Promise<void> {
  if (failed === null) return;
  failed.throwIfFatal();
  await delay(TRY_AGAIN);
}

async function beginAttempt(cluster: Cluster, fixedFolder: string | null): Promise<StartedServer> {
  disownLock(cluster);
  return attemptStart(cluster, await prepareSocket(cluster, fixedFolder));
}

async function abandon(attempt: StartedServer | null, reason: unknown): Promise<never> {
  await attempt?.abandon();
  throw reason;
}

function notReady(attempt: StartedServer | null, last: Greeting): AppError {
  const why = attempt?.lastWords() || UNREADY[last];
  return new AppError('unavailable', `the embedded Postgres was not ready within ${PATIENCE / 1_000} s: ${why}`);
}

/** The folder of the socket, free for a server that is about to start. */
async function prepareSocket(cluster: Cluster, fixed: string | null): Promise<string> {
  const { home, owner, port } = cluster;
  if (fixed !== null) closedFolder(fixed, home.user);
  const folder = fixed ?? (await makeSocketFolder(cluster.socketFolder, { user: home.user, port }));
  freeSocket(socketIn(folder, port), { owner, isServer: (pid) => isServer(cluster, pid) });
  return folder;
}

function heldElsewhere({ data, home, lockFile }: Cluster): AppError {
  const holder = lockHolder(lockFile);
  return new AppError(
    'conflict',
    holder === null
      ? `a process that cannot be seen from here, most likely a Postgres of another container, holds ${lockFile} and so the data in ${data}: stop that container, ` +
          `give each daemon a DATA_DIR of its own (this one is ${home.dataDir}), or set DATABASE_URL to a Postgres that both share`
      : `${holder} holds ${lockFile}, and no Postgres runs on the data in ${data}: end that process, and start again`,
  );
}

/** A session on the running server, or why there is none yet. */
async function meet(cluster: Cluster, { pid, socketFolder }: RunningServer): Promise<Omit<Running, 'adopted'> | Greeting> {
  if (socketFolder === null) return 'silent';
  const place = { host: socketFolder, port: cluster.port };
  const greeting = await greet(daemonUrl(place, cluster.password), cluster, () => setUpDaemonRole(place, cluster.password));
  return typeof greeting === 'string' ? greeting : { session: greeting, pid, socketFolder };
}

/** A session that holds the lock `IN_USE` shared, or why there is none yet. Calls `setUp` when the login does not exist yet. */
async function greet(url: string, cluster: Cluster, setUp?: () => Promise<void>): Promise<Session | Greeting> {
  const session = openSession(url, 'embedded');
  const { sql } = session;
  try {
    const [found] = await sql<[{ granted: boolean }]>`select pg_try_advisory_lock_shared(${IN_USE}) as granted`;
    if (found.granted) return session;
    await sql.end({ timeout: 0 });
    return 'locked';
  } catch (error) {
    await sql.end({ timeout: 0 });
    const { code } = error as { code?: string };
    if (code === '57P03') return 'recovering';
    if (code !== WRONG_PASSWORD) return 'silent';
    if (setUp !== undefined)
      return setUp().then(
        () => greet(url, cluster),
        (cause: unknown) => refused(cluster, cause),
      );
    return refused(cluster, error);
  }
}

/** Throws when a later attempt would be refused again; answers `silent` when the server is stopping or does not answer. */
function refused({ data }: Cluster, cause: unknown): Greeting {
  const { code = '', message } = cause as { code?: string; message: string };
  if (!/^\d[\dA-Z]{4}$/.test(code) || /^(?:08|53|57)/.test(code)) return 'silent';
  const why = code === WRONG_PASSWORD ? 'does not accept the password kept beside it' : `refuses to be set up: ${message}`;
  throw new AppError('conflict', `the embedded Postgres in ${data} ${why}`, { cause });
}

/** Stops the server if this process was its last user. */
export async function leave(
  cluster: Cluster,
  { session, pid, socketFolder }: Omit<Running, 'adopted'>,
  within: Milliseconds,
): Promise<void> {
  const { sql } = session;
  try {
    // Releases this process' own lock first: two processes that leave at once would otherwise each find the other's lock.
    await sql`select pg_advisory_unlock_shared(${IN_USE})`;
    const [last] = await sql<[{ granted: boolean }]>`select pg_try_advisory_lock(${IN_USE}) as granted`;
    if (!last.granted || !isServer(cluster, pid)) return;
    process.kill(pid, 'SIGINT');
  } catch {
    // Without a connection there is no server to stop.
    return;
  } finally {
    await sql.end({ timeout: 0 });
  }
  // The rest of the time is for the end of a server that is killed.
  const deadline = monotonic() + within * 0.75;
  for (let signalled = false; isServer(cluster, pid); await delay(LOOK_AGAIN)) {
    if (signalled || monotonic() < deadline) continue;
    // The server recovers from its log at the next start.
    process.kill(pid, 'SIGQUIT');
    signalled = true;
  }
  removeSocketFolder(socketFolder);
}
