/** The daemon's connections: to the database that the settings name, or to the embedded one, which it starts. */
import { POOLS, type PoolName, poolFor, type Shares, sharesOf } from '../config/kinds/connection-shares.ts';
import type { Settings } from '../config/settings.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { Logger } from '../runtime/logger.ts';
import { monotonic } from '../runtime/time.ts';
import { parseDatabaseUrl } from './address/database-url.ts';
import { agreeOnSession } from './connection/agreement.ts';
import { type ConnectOptions, connect, type Sql } from './connection/database.ts';
import { hostsOf } from './connection/primary.ts';
import { sessionLimitsFor, waitingForLocks } from './connection/session-limits.ts';
import { redial } from './connection/watched-socket.ts';
import { startEmbedded } from './embedded/embedded.ts';
import { measured, type PoolUse } from './pool-use.ts';
import { reachDatabase } from './reach.ts';

/** A pool for each purpose, so that none waits for another's statements; a pool without connections of its own uses those of another one (config/kinds/connection-shares.ts). */
export type Pools = Readonly<Record<Exclude<PoolName, 'listen'>, Sql>>;

export type Store = Awaited<ReturnType<typeof openStore>>;

export interface StoreOptions {
  /** A database that owes an answer for so long is taken for gone, and dialled again. */
  readonly answerWithin: Milliseconds;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Without pools for the API. */
  readonly worker?: boolean;
  /** Breaks off the wait for the database, and the start of the embedded Postgres. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long statements that write polls or results of deliveries in batches wait for a lock. All rows of a batch wait for one that
 * another session has locked; the loops then leave that row out (docs/decisions/0019-late-statements.md).
 */
const LOCK_WITHIN: Milliseconds = 300;
/** How long a request waits for a lock: callers want an answer sooner than the loops. */
const ANSWER_LOCK_WITHIN: Milliseconds = 3_000;

const COMES_BACK =
  'nothing, if the database is about to start: the daemon tries again, and its start goes on once the database answers; otherwise mend the server or DATABASE_URL';

async function reach(url: string, { log, signal }: Pick<StoreOptions, 'log' | 'signal'>): Promise<void> {
  const began = monotonic();
  let isWaiting = false;
  const onWait = (detail: string): void => {
    isWaiting = true;
    log.warn({ detail, advice: COMES_BACK }, 'database.not_reached');
  };
  await reachDatabase(url, onWait, signal);
  if (isWaiting) log.info({ afterMs: Math.round(monotonic() - began) }, 'database.reached');
}

/** Opens the database at a URL, once it answers, or the embedded one of a folder. */
export async function openStore(
  settings: Pick<Settings, 'databaseUrl' | 'dataDir' | 'listenUrl' | 'poolMode' | 'connections'>,
  { answerWithin, log, worker = false, signal }: StoreOptions,
) {
  const { databaseUrl, dataDir, poolMode } = settings;
  const sayEmbedded = (detail: string): void => log.info({ detail }, 'database.embedded');
  const embedded = databaseUrl === null ? await startEmbedded({ dataDir, log: sayEmbedded, signal }) : null;
  const url = databaseUrl ?? embedded!.url;
  if (databaseUrl !== null) await reach(databaseUrl, { log, signal });
  const { sessionLimits, isPooled, lacking } = await agreeOnSession(url, {
    sessionLimits: sessionLimitsFor(answerWithin),
    poolMode: embedded === null ? poolMode : 'session',
  });
  if (lacking !== null) log.warn(lacking, 'database.settings_refused');
  const listenUrl = settings.listenUrl ?? (isPooled ? null : url);
  if (listenUrl === null) log.warn(HEARS_NOTHING, 'listen.asking');
  const shares = sharesOf(settings.connections, { worker });
  const uses: PoolUse[] = [];
  const opened = openPools(url, { answerWithin, sessionLimits }, shares, uses);
  const end = (timeout: Milliseconds) =>
    Promise.all([...new Set(Object.values(opened))].map((pool) => pool.end({ timeout: timeout / 1_000 })));
  return {
    databaseUrl: url,
    /** The address at which Postgres passes notifications on; null behind a pooler that passes none on. */
    listenUrl,
    /** Limits with which a session can begin. */
    sessionLimits,
    /** For the loops. */
    sql: opened.loops,
    pools: opened,
    /** How much each pool is used; the API adds the lines of callers before its pools. */
    uses,
    shares,
    /** The hosts of the URL, when it names several. */
    hosts: hostsOf(parseDatabaseUrl(url)) ?? null,
    /** Breaks every connection, so that each is dialled again; resolves when all are closed. */
    redial: () => redial(url),
    /** Breaks off every query, and takes no more. */
    breakOff: (): void => void end(0),
    /** Closes the connections; stops the embedded Postgres if no other process uses it. `left`: how long that may take. */
    close: async (left: () => Milliseconds): Promise<void> => {
      await end(left() / 2);
      await embedded?.stop(left());
    },
  };
}

const HEARS_NOTHING = {
  detail: 'the pooler before the database server passes no notification on: the daemon asks the database for work every second',
  advice: 'set DATABASE_LISTEN_URL to the address of the database server itself: one connection for each replica',
};

/** Opens the pools; none dials before its first query. */
function openPools(
  url: string,
  patience: Pick<ConnectOptions, 'answerWithin' | 'sessionLimits'>,
  shares: Shares,
  uses: PoolUse[],
): Pools {
  const { sessionLimits = {} } = patience;
  const writing = { steadyPlans: true, orderedPlans: true, sessionLimits: waitingForLocks(sessionLimits, LOCK_WITHIN) };
  const answering = { sessionLimits: waitingForLocks(sessionLimits, ANSWER_LOCK_WITHIN) };
  const purposes: Readonly<Record<keyof Pools, ConnectOptions>> = {
    loops: { steadyPlans: true },
    // Few sessions, so that each has planned the statements: that takes longer than to run them.
    recording: { name: 'recording', ...writing },
    outbox: { name: 'outbox', ...writing },
    // Readiness and metrics are asked for on a connection that no request can take.
    operators: { name: 'operators' },
    // People's questions vary, and must not wait for the loops' connections.
    api: { name: 'api', ...answering },
    // Changes may wait for locks of other transactions, so they have connections apart from those of readers.
    changes: { name: 'changes', ...answering },
    // Everybody who follows the feed asks at the same moment, and always the same.
    feed: { name: 'feed', steadyPlans: true },
  };
  const own = new Map(
    Object.entries(purposes)
      .filter(([name]) => poolFor(shares, name as PoolName) === name)
      .map(([name, options]) => {
        const pool = connect(url, { ...patience, ...options, max: Math.max(1, shares[name as PoolName]) });
        return [name, measured(uses, pool, { name })];
      }),
  );
  const pools = POOLS.filter((name) => name !== 'listen').map((name) => [name, own.get(poolFor(shares, name))!]);
  return Object.fromEntries(pools) as Pools;
}
