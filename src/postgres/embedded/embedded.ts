/**
 * The Postgres we bring: one server per DATA_DIR, shared by every process that asks for it. Whoever comes first starts
 * it, the others find it running, and the last one to leave stops it. A process that is killed leaves it running; the
 * next one finds it. A server that is killed is started again by whoever uses it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type Cluster, openCluster, type ServerSettings } from './cluster.ts';
import { prepareHome } from './files.ts';
import { daemonUrl, superuserUrl } from './roles.ts';
import { ensureRunning, leave, type Running, STOP_WITHIN } from './running.ts';

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
  /** For tests and tools that make databases and roles there; the daemon does not. */
  readonly superuserUrl: string;
  /** Whether it ran already. */
  readonly adopted: boolean;
  /**
   * Stops the server, unless another process uses it too. End the pools first: it disconnects them. A server that has not
   * stopped in time is killed, and recovers from its log at the next start.
   */
  stop(within?: Milliseconds): Promise<void>;
}

/** Before bringing a lost server back is tried once more. */
const REST_AFTER_FAILURE: Milliseconds = 5_000;

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
