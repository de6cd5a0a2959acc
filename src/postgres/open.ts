/** The daemon's connections: to the database that the settings name, or to the embedded one, which it starts. */
import type { Milliseconds } from '../domain/values/time.ts';
import type { Logger } from '../runtime/logger.ts';
import { connect, type Sql } from './connection/database.ts';
import { parseDatabaseUrl } from './connection/database-url.ts';
import { type Hosts, hostsOf } from './connection/primary.ts';
import { agreeOnGuards, agreeOnLimits, type Patience, waitingForLocks } from './connection/server-limits.ts';
import { redial } from './connection/watched-socket.ts';
import { startEmbedded } from './embedded/embedded.ts';
import { reachDatabase } from './reach.ts';

export interface Store {
  readonly databaseUrl: string;
  /** For the loops. */
  readonly sql: Sql;
  /** For recording polls. Few sessions, so that each has planned the statements: that takes longer than to run them. */
  readonly recording: Sql;
  /** For the outbox. */
  readonly outbox: Sql;
  /** The hosts of the URL, when it names several. */
  readonly hosts: Hosts | null;
  /** For further connections. */
  readonly patience: Patience;
  /** Breaks every connection, so that each is dialled again; resolves when all are closed. */
  redial(): Promise<void>;
  /** Breaks off every query, and takes no more. */
  breakOff(): void;
  /** Closes the connections; stops the embedded Postgres if no other process uses it. `left`: how long that may take. */
  close(left: () => Milliseconds): Promise<void>;
}

export interface StoreOptions {
  /** A database that owes an answer for so long is taken for gone, and dialled again. */
  readonly answerWithin: Milliseconds;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Breaks off the wait for the database, and the start of the embedded Postgres. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long statements that write polls or results of deliveries in batches wait for a lock. All rows of a batch wait for one that
 * another session has locked; the loops then leave that row out (docs/decisions/0019-late-statements.md).
 */
const LOCK_WITHIN: Milliseconds = 300;

const COMES_BACK =
  'nothing, if the database is about to start: the daemon tries again, and its start goes on once the database answers; otherwise mend the server or DATABASE_URL';

async function reach(url: string, { log, signal }: Pick<StoreOptions, 'log' | 'signal'>): Promise<void> {
  const began = performance.now();
  let isWaiting = false;
  const onWait = (detail: string): void => {
    isWaiting = true;
    log.warn({ detail, advice: COMES_BACK }, 'database.not_reached');
  };
  await reachDatabase(url, onWait, signal);
  if (isWaiting) log.info({ afterMs: Math.round(performance.now() - began) }, 'database.reached');
}

/** Opens the database at a URL, once it answers, or the embedded one of a folder. */
export async function openStore(
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
  { answerWithin, log, signal }: StoreOptions,
): Promise<Store> {
  const sayEmbedded = (detail: string): void => log.info({ detail }, 'database.embedded');
  const embedded = databaseUrl === null ? await startEmbedded({ dataDir, log: sayEmbedded, signal }) : null;
  const url = databaseUrl ?? embedded!.url;
  if (databaseUrl !== null) await reach(databaseUrl, { log, signal });
  const unguarded = await agreeOnGuards(url);
  if (unguarded !== null) log.warn(unguarded, 'database.settings_refused');
  const patience = await agreeOnLimits(url, answerWithin, (about) => log.warn(about, 'database.limits_refused'));
  const sql = connect(url, { max: 6, steadyPlans: true, ...patience });
  const limits = waitingForLocks(patience.limits, LOCK_WITHIN);
  const planned = { steadyPlans: true, orderedPlans: true, ...patience, limits };
  const recording = connect(url, { max: 4, name: 'recording', ...planned });
  const outbox = connect(url, { max: 4, name: 'outbox', ...planned });
  const end = (timeout: Milliseconds) =>
    Promise.all([sql, recording, outbox].map((pool) => pool.end({ timeout: timeout / 1_000 })));
  return {
    databaseUrl: url,
    sql,
    recording,
    outbox,
    hosts: hostsOf(parseDatabaseUrl(url)) ?? null,
    patience,
    redial: () => redial(url),
    breakOff: () => void end(0),
    close: async (left) => {
      await end(left() / 2);
      await embedded?.stop(left());
    },
  };
}
