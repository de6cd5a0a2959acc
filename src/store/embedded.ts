/**
 * The Postgres we bring: one server per DATA_DIR, shared by every process that asks for it. Whoever comes first starts
 * it, the others find it running, and the last one to leave stops it. A process that is killed leaves it running; the
 * next one finds it. A server that is killed is started again by whoever uses it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import type { Milliseconds } from '../core/purchase.ts';
import { openSession, type Session } from './database.ts';
import { type Cluster, openCluster, type ServerSettings, SUPERUSER } from './embedded-cluster.ts';
import { giveTo, ownerOf, prepareHome } from './embedded-files.ts';
import { type Attempt, attemptStart, disownLock, isHeld, isServer, runningServer } from './embedded-server.ts';

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
  readonly url: string;
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
  readonly port: number;
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
  const { port, adopted } = running;
  log(adopted ? `found the embedded Postgres running on port ${port}` : `started the embedded Postgres on port ${port}`);

  const stopping = new AbortController();
  const { signal } = stopping;
  const toldToStop = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

  async function supervise(): Promise<void> {
    for (;;) {
      await Promise.race([running.session.closed, toldToStop]);
      if (signal.aborted) return;
      await running.session.sql.end({ timeout: 0 });
      log(`lost the embedded Postgres; starting it again on port ${port} (see ${cluster.log})`);
      const again = await untilRunning();
      if (again === null) return;
      running = again;
      log('the embedded Postgres is back');
    }
  }

  /** Null when told to stop. Whoever uses the server knows its address, so the port must be the same. */
  async function untilRunning(): Promise<Running | null> {
    while (!signal.aborted) {
      try {
        return await ensureRunning(cluster, port, signal);
      } catch (error) {
        if (!signal.aborted) log(error instanceof Error ? error.message : String(error));
        await delay(REST_AFTER_FAILURE, undefined, { signal }).catch(() => undefined);
      }
    }
    return null;
  }

  const supervision = supervise();
  let stopped: Promise<void> | undefined;
  return {
    url: urlOf(cluster, port),
    adopted,
    stop: (within = STOP_WITHIN) => {
      stopping.abort();
      stopped ??= supervision.then(() => leave(cluster, running, within));
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

function urlOf({ password }: Cluster, port: number): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
}

/**
 * Until a server of this cluster has accepted a session: greets the one that runs, or starts one. Processes that do
 * this at once need no lock of their own: Postgres lets one server into a data directory, and the others find it here.
 */
async function ensureRunning(cluster: Cluster, fixedPort: number | null, signal?: AbortSignal): Promise<Running> {
  let deadline = performance.now() + PATIENCE;
  let ours: Attempt | null = null;
  let heldSince: Milliseconds | null = null;
  for (;;) {
    if (signal?.aborted) {
      await ours?.abandon();
      throw signal.reason;
    }
    const running = runningServer(cluster);
    if (running !== null && running.port > 0) {
      const answer = await greet(cluster, running.port);
      if (typeof answer !== 'string') {
        const adopted = running.pid !== ours?.pid;
        if (!adopted) rememberPort(cluster, running.port);
        return { ...running, session: answer, adopted };
      }
      if (answer === 'recovering') deadline = performance.now() + PATIENCE;
    } else if (ours === null || ours.hasEnded()) {
      const portTaken = ours?.explain() === 'port taken';
      if (ours !== null) await delay(TRY_AGAIN);
      if (isHeld(cluster)) {
        heldSince ??= performance.now();
        if (performance.now() - heldSince > HELD_AT_MOST) throw heldElsewhere(cluster);
        await delay(HELD_LOOK);
        continue;
      }
      heldSince = null;
      disownLock(cluster);
      ours = attemptStart(cluster, await choosePort(cluster, fixedPort, portTaken));
    }
    if (performance.now() > deadline) {
      await ours?.abandon();
      throw new AppError(
        'unavailable',
        `the embedded Postgres was not ready within ${PATIENCE / 1000} s: ${ours?.lastWords() ?? 'it does not answer'}`,
      );
    }
    await delay(LOOK_AGAIN);
  }
}

function heldElsewhere({ data, home }: Cluster): AppError {
  return new AppError(
    'conflict',
    `a Postgres that cannot be seen from here, most likely one of another container, uses the data in ${data}: stop the other one, ` +
      `give each daemon a DATA_DIR of its own (this one is ${home.dataDir}), or set DATABASE_URL to a Postgres that both share`,
  );
}

/** A session that holds the lock of users, or why there is none yet. */
async function greet(cluster: Cluster, port: number): Promise<Session | 'silent' | 'recovering' | 'stopping'> {
  const session = openSession(urlOf(cluster, port), 'embedded');
  const { sql } = session;
  try {
    const [found] = await sql<[{ data: string; granted: boolean }]>`
      select current_setting('data_directory') as data, pg_try_advisory_lock_shared(${IN_USE}) as granted`;
    if (found.data === cluster.data && found.granted) return session;
    await sql.end({ timeout: 0 });
    return found.data === cluster.data ? 'stopping' : 'silent';
  } catch (error) {
    await sql.end({ timeout: 0 });
    const { code } = error as { code?: string };
    if (code === '28P01') {
      throw new AppError('conflict', `the embedded Postgres in ${cluster.data} does not accept the password kept beside it`, {
        cause: error,
      });
    }
    return code === '57P03' ? 'recovering' : 'silent';
  }
}

/** The port of the last run when it is free, so that addresses stay; any free one otherwise. */
async function choosePort(cluster: Cluster, fixed: number | null, taken: boolean): Promise<number> {
  if (fixed !== null) return fixed;
  const last = existsSync(cluster.portFile) ? Number(readFileSync(cluster.portFile, 'utf8')) : 0;
  return (taken ? null : await freePort(last)) ?? (await freePort(0)) ?? 0;
}

async function freePort(port: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const probe = createServer();
  probe.once('error', () => resolve(null));
  probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
    const address = probe.address();
    probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? null) : null));
  });
  return promise;
}

function rememberPort(cluster: Cluster, port: number): void {
  writeFileSync(cluster.portFile, String(port));
  giveTo(cluster.portFile, ownerOf(cluster.home.dataDir));
}

/** Stops the server if we were its last user. */
async function leave(cluster: Cluster, { session, pid }: Running, within: Milliseconds): Promise<void> {
  const { sql } = session;
  try {
    // Ours goes first: two that leave at once would otherwise each find the other still there.
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
  // The rest of the time is for the end of one that is killed.
  const deadline = performance.now() + within * 0.75;
  for (let signalled = false; isServer(cluster, pid); await delay(LOOK_AGAIN)) {
    if (signalled || performance.now() < deadline) continue;
    // It recovers from its log at the next start.
    process.kill(pid, 'SIGQUIT');
    signalled = true;
  }
}
