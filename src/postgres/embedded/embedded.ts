/**
 * The Postgres we bring: one server per DATA_DIR, shared by every process that asks for it. Whoever comes first starts
 * it, the others find it running, and the last one to leave stops it. A process that is killed leaves it running; the
 * next one finds it. A server that is killed is started again by whoever uses it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { openSession, type Session } from '../connection/database.ts';
import { type Cluster, openCluster, type ServerSettings } from './cluster.ts';
import { prepareHome } from './files.ts';
import { daemonUrl, setUpDaemonRole, superuserUrl, WRONG_PASSWORD } from './roles.ts';
import { type Attempt, attemptStart, disownLock, isHeld, isServer, type RunningServer, runningServer } from './server.ts';
import { closedFolder, freeSocket, makeSocketFolder, removeSocketFolder, socketIn } from './socket.ts';

export interface EmbeddedOptions {
  /** DATA_DIR: made when it is not there. */
  readonly dataDir: string;
  /** Told in plain sentences what happens to the server. */
  readonly log?: (message: string) => void;
  /** Server settings over our own. */
  readonly settings?: ServerSettings;
  /** Where data and binaries go when DATA_DIR is closed to the server's user (only ever as root). */
  readonly systemDir?: string;
  /** Breaks off the start. */
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedPostgres {
  /** For a role that is no superuser. */
  readonly url: string;
  /** For whoever makes databases and roles there; the daemon does not. */
  readonly superuserUrl: string;
  /** Whether it ran already. */
  readonly adopted: boolean;
  /**
   * Stops the server, unless another process uses it too. End the pools first: it disconnects them. A server that has not
   * stopped in time is killed, and recovers from its log at the next start.
   */
  stop(within?: Milliseconds): Promise<void>;
}

/** Time for the server to show life; while it says that it is recovering it has as much again. */
const PATIENCE = 30_000;
const LOOK_AGAIN = 20;
/** While the data folder is held. */
const HELD_LOOK = 200;
/** Before another server is started after one that ended at once. */
const TRY_AGAIN = 500;
/** Before bringing a lost server back is tried once more. */
const REST_AFTER_FAILURE = 5_000;
const STOP_WITHIN = 60_000;
/** Processes of a server that was killed may hold the data folder for so long; after that it is another server. */
const HELD_AT_MOST: Milliseconds = 8_000;

/** Users of the server hold this lock shared, and whoever stops it holds it alone. It ends with a process, however that ends. */
const IN_USE = 7_236_019_445;

interface Running {
  readonly session: Session;
  readonly pid: number;
  readonly socketFolder: string;
  readonly adopted: boolean;
}

/** Starts the server of a DATA_DIR, or finds it running, and keeps it running until `stop`. */
export async function startEmbedded({
  dataDir,
  log = () => {},
  settings = {},
  systemDir,
  signal: giveUp,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const cluster = await openDataDir(dataDir, settings, systemDir);
  let running = await ensureRunning(cluster, null, giveUp);
  const { socketFolder, adopted } = running;
  log(`${adopted ? 'found the embedded Postgres running' : 'started the embedded Postgres'}, with its socket in ${socketFolder}`);

  const stopping = new AbortController();
  const { signal } = stopping;
  const toldToStop = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

  async function supervise(): Promise<void> {
    for (;;) {
      await Promise.race([running.session.closed, toldToStop]);
      if (signal.aborted) return;
      await running.session.sql.end({ timeout: 0 });
      log(`lost the embedded Postgres; starting it again (see ${cluster.log})`);
      const again = await untilRunning();
      if (again === null) return;
      running = again;
      log('the embedded Postgres is back');
    }
  }

  /** Null when told to stop. Whoever uses the server knows its address, so the folder must be the same. */
  async function untilRunning(): Promise<Running | null> {
    while (!signal.aborted) {
      try {
        return await ensureRunning(cluster, socketFolder, signal);
      } catch (error) {
        if (!signal.aborted) log(error instanceof Error ? error.message : String(error));
        await delay(REST_AFTER_FAILURE, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  const supervision = supervise();
  let stopped: Promise<void> | undefined;
  const place = { host: socketFolder, port: cluster.port };
  return {
    url: daemonUrl(place, cluster.password),
    superuserUrl: superuserUrl(place, cluster.password),
    adopted,
    stop: (within = STOP_WITHIN) => {
      stopping.abort();
      stopped ??= supervision.then(async () => void (await leave(cluster, running, within)));
      return stopped;
    },
  };
}

async function openDataDir(dataDir: string, settings: ServerSettings, systemDir?: string): Promise<Cluster> {
  try {
    return await openCluster(prepareHome(dataDir, systemDir), settings);
  } catch (cause) {
    if (cause instanceof AppError || !(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw new AppError(
      'configuration',
      `the data folder ${dataDir} cannot be used (${cause.message}): start as the user who owns it, or set DATA_DIR to a folder of your own`,
      { cause },
    );
  }
}

/**
 * Until a server of this cluster has accepted a session: greets the one that runs, or starts one. Processes that do
 * this at once need no lock of their own: Postgres lets one server into a data directory, and the others find it here.
 */
async function ensureRunning(cluster: Cluster, fixedFolder: string | null, signal?: AbortSignal): Promise<Running> {
  let deadline = performance.now() + PATIENCE;
  let ours: Attempt | null = null;
  let heldSince: Milliseconds | null = null;
  let last: Greeting = 'silent';
  for (;;) {
    if (signal?.aborted) {
      await ours?.abandon();
      throw signal.reason;
    }
    const running = runningServer(cluster);
    if (running !== null) {
      const answer = await meet(cluster, running);
      if (typeof answer !== 'string') return { ...answer, adopted: running.pid !== ours?.pid };
      if (answer === 'recovering') deadline = performance.now() + PATIENCE;
      last = answer;
    } else if (ours === null || ours.hasEnded()) {
      ours?.explain();
      if (ours !== null) await delay(TRY_AGAIN);
      if (isHeld(cluster)) {
        heldSince ??= performance.now();
        if (performance.now() - heldSince > HELD_AT_MOST) throw heldElsewhere(cluster);
        await delay(HELD_LOOK);
        continue;
      }
      heldSince = null;
      disownLock(cluster);
      ours = attemptStart(cluster, await prepareSocket(cluster, fixedFolder));
    }
    if (performance.now() > deadline) {
      await ours?.abandon();
      throw new AppError(
        'unavailable',
        `the embedded Postgres was not ready within ${PATIENCE / 1_000} s: ${ours?.lastWords() || UNREADY[last]}`,
      );
    }
    await delay(LOOK_AGAIN);
  }
}

/** What came of an attempt to log in. */
type Greeting = 'silent' | 'recovering' | 'locked' | 'earlier';

const UNREADY: Readonly<Record<Greeting, string>> = {
  silent: 'it does not answer',
  recovering: 'it is recovering',
  earlier: 'an earlier version of purchase-watch uses it: stop that one first',
  locked: `another session holds the advisory lock ${IN_USE}, as a process does that stops the server`,
};

/** The folder of the socket, free for a server that is about to start. */
async function prepareSocket(cluster: Cluster, fixed: string | null): Promise<string> {
  const { home, owner, port } = cluster;
  if (fixed !== null) closedFolder(fixed, home.user);
  const folder = fixed ?? (await makeSocketFolder(cluster.socketFolder, { user: home.user, port }));
  freeSocket(socketIn(folder, port), { owner, isServer: (pid) => isServer(cluster, pid) });
  return folder;
}

function heldElsewhere({ data, home }: Cluster): AppError {
  return new AppError(
    'conflict',
    `a Postgres that cannot be seen from here, most likely one of another container, uses the data in ${data}: stop the other one, ` +
      `give each daemon a DATA_DIR of its own (this one is ${home.dataDir}), or set DATABASE_URL to a Postgres that both share`,
  );
}

/** A session on the server that runs, or why there is none yet. One of an earlier version is stopped, for it listens on a port. */
async function meet(
  cluster: Cluster,
  { pid, socketFolder, portAlone }: RunningServer,
): Promise<Omit<Running, 'adopted'> | Greeting> {
  if (portAlone !== null) {
    const place = { host: '127.0.0.1', port: portAlone };
    const session = await greet(superuserUrl(place, cluster.password), cluster);
    if (typeof session === 'string') return session;
    const isLast = await leave(cluster, { session, pid, socketFolder: '' }, STOP_WITHIN);
    return isLast ? 'silent' : 'earlier';
  }
  if (socketFolder === null) return 'silent';
  const place = { host: socketFolder, port: cluster.port };
  const greeting = await greet(daemonUrl(place, cluster.password), cluster, () => setUpDaemonRole(place, cluster.password));
  return typeof greeting === 'string' ? greeting : { session: greeting, pid, socketFolder };
}

/** A session that holds the lock of users, or why there is none yet. `setUp` is called when there is no such login yet. */
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

/** Throws for what a later attempt does not mend; that the server goes or does not answer passes. */
function refused({ data }: Cluster, cause: unknown): Greeting {
  const { code = '', message } = cause as { code?: string; message: string };
  if (!/^\d[\dA-Z]{4}$/.test(code) || /^(?:08|53|57)/.test(code)) return 'silent';
  const why = code === WRONG_PASSWORD ? 'does not accept the password kept beside it' : `refuses to be set up: ${message}`;
  throw new AppError('conflict', `the embedded Postgres in ${data} ${why}`, { cause });
}

/** Stops the server if we were its last user; answers whether we were. */
async function leave(
  cluster: Cluster,
  { session, pid, socketFolder }: Omit<Running, 'adopted'>,
  within: Milliseconds,
): Promise<boolean> {
  const { sql } = session;
  try {
    // Ours goes first: two that leave at once would otherwise each find the other still there.
    await sql`select pg_advisory_unlock_shared(${IN_USE})`;
    const [last] = await sql<[{ granted: boolean }]>`select pg_try_advisory_lock(${IN_USE}) as granted`;
    if (!last.granted || !isServer(cluster, pid)) return false;
    process.kill(pid, 'SIGINT');
  } catch {
    // Without a connection there is no server to stop.
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
  // The rest of the time is for the end of one that is killed.
  const deadline = performance.now() + within * 0.75;
  for (let signalled = false; isServer(cluster, pid); await delay(LOOK_AGAIN)) {
    if (signalled || performance.now() < deadline) continue;
    // It recovers from its log at the next start.
    process.kill(pid, 'SIGQUIT');
    signalled = true;
  }
  removeSocketFolder(socketFolder);
  return true;
}
