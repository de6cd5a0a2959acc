/**
 * The embedded Postgres: one server per DATA_DIR, shared by every process that uses it. The first process starts the server,
 * the others find it running, and the last process to leave stops it. A process that is killed leaves the server running; the
 * next process finds it. When the server is killed, a process that uses it starts it again.
 */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay } from '../../runtime/time.ts';
import { type Cluster, openCluster, type ServerSettings } from './cluster.ts';
import { prepareHome } from './files.ts';
import { daemonUrl, superuserUrl } from './roles.ts';
import { ensureRunning, leave, type Running, STOP_WITHIN } from './running.ts';

export interface EmbeddedOptions {
  /** DATA_DIR: made when the folder does not exist. */
  readonly dataDir: string;
  /** Called with a plain sentence each time the server is found, started or lost. */
  readonly log?: (message: string) => void;
  /** Server settings that replace the default ones. */
  readonly settings?: ServerSettings;
  /** Where data and binaries go when DATA_DIR is closed to the server's user (only ever as root). */
  readonly systemDir?: string;
  /** Breaks off the start. */
  readonly signal?: AbortSignal | undefined;
}

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbedded>>;

/** The rest after a failed start of a lost server, before the next try. */
const REST_AFTER_FAILURE: Milliseconds = 5_000;

/** Starts the server of a DATA_DIR, or finds it running, and keeps it running until `stop`. */
export async function startEmbedded({ dataDir, log = () => {}, settings = {}, systemDir, signal: giveUp }: EmbeddedOptions) {
  const cluster = await openDataDir(dataDir, settings, systemDir);
  let running = await ensureRunning(cluster, null, giveUp);
  const { socketFolder, adopted } = running;
  log(`${adopted ? 'found the embedded Postgres running' : 'started the embedded Postgres'}, with its socket in ${socketFolder}`);

  const stopping = new AbortController();
  const { signal } = stopping;
  const askedToStop = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

  async function supervise(): Promise<void> {
    for (;;) {
      await Promise.race([running.session.closed, askedToStop]);
      if (signal.aborted) return;
      await running.session.sql.end({ timeout: 0 });
      log(`lost the embedded Postgres; starting it again (see ${cluster.log})`);
      const again = await untilRunning();
      if (again === null) return;
      running = again;
      log('the embedded Postgres is back');
    }
  }

  /** Null when `stop` was called. The folder of the socket stays the same, because it is the address that users of the server have. */
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
    /** The address for the daemon's role, which is no superuser. */
    url: daemonUrl(place, cluster.password),
    /** The superuser's address, for tests and tools that make databases and roles; the daemon does not use it. */
    superuserUrl: superuserUrl(place, cluster.password),
    /** Whether the server ran already. */
    adopted,
    /**
     * Stops the server, unless another process uses it too. End the pools first: the stop disconnects them. A server that has
     * not stopped in time is killed, and recovers from its log at the next start.
     */
    stop: (within: Milliseconds = STOP_WITHIN): Promise<void> => {
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
