/** The API as the daemon runs it: with connections of its own and a feed that wakes. A worker has the operators' part only. */

import { createFeedHub, type FeedHub } from '../actions/events/feed-hub.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { connect, type Sql } from '../postgres/connection/database.ts';
import { type Patience, waitingForLocks } from '../postgres/connection/server-limits.ts';
import { measured } from '../postgres/pool-use.ts';
import type { StreamPlaces } from './events/stream-places.ts';
import { limitedPool } from './http/limited-pool.ts';
import type { ServedApp } from './http/serve.ts';
import { createOperations } from './operations.ts';
import type { ApiParts } from './routes.ts';

export interface OpenApi {
  readonly app: ServedApp;
  /** To be woken when events are committed; a worker has none. */
  readonly feed: FeedHub | null;
  /** Shared by streams of the feed and open pages; null in a worker. */
  readonly places: StreamPlaces | null;
  /** Connections for reading and for changes of few rows; null in a worker. */
  readonly reads: Sql | null;
  readonly changes: Sql | null;
  /** Ends the connections to the database, once nothing is under way any more. */
  disconnect(): Promise<unknown>;
}

type Parts = Omit<ApiParts, 'sql' | 'changes' | 'operators' | 'feed' | 'engine' | 'replica'> &
  Required<Pick<ApiParts, 'engine' | 'replica'>>;

/** Connections. Changes may wait for locks of other transactions, so they have connections apart from those of readers. */
const READERS = 3;
const CHANGES = 4;
const OPERATORS = 1;
/** How long a request waits for a lock: callers want an answer sooner than the loops. */
const LOCK_WITHIN: Milliseconds = 3_000;

export async function openApi(
  parts: Parts,
  { answerWithin, limits, worker, connections }: Patience & { worker: boolean; connections: number },
): Promise<OpenApi> {
  const { databaseUrl } = parts;
  const { pools } = parts.engine;
  // Readiness and metrics are asked for on connections that no request can take.
  const most = worker ? 2 : OPERATORS;
  const operators = measured(pools, 'operators', connect(databaseUrl, { max: most, name: 'operators', answerWithin, limits }));
  if (worker) {
    const app = createOperations({ ...parts, operators });
    return { app, feed: null, places: null, reads: null, changes: null, disconnect: () => operators.end({ timeout: 5 }) };
  }
  // People's questions vary, and must not wait for the loops' connections.
  const soon = waitingForLocks(limits, LOCK_WITHIN);
  const pool = (max: number, name: string) => connect(databaseUrl, { max, name, answerWithin, limits: soon });
  const [readers, changers] = [pool(READERS, 'api'), pool(CHANGES, 'changes')];
  const sql = measured(pools, 'api', limitedPool(readers, { connections: READERS }));
  const changes = measured(pools, 'changes', limitedPool(changers, { connections: CHANGES }));
  // Everybody who follows the feed asks at the same moment, and always the same.
  const feedPool = connect(databaseUrl, { max: 4, name: 'feed', steadyPlans: true, answerWithin, limits });
  const feedSql = measured(pools, 'feed', feedPool);
  const feed = createFeedHub(feedSql);
  // A worker never loads what only the API needs.
  const [{ createApi }, limitsOfStreams] = await Promise.all([import('./routes.ts'), import('./events/stream-places.ts')]);
  const places = limitsOfStreams.createStreamPlaces(limitsOfStreams.placeLimits(connections));
  return {
    app: createApi({ ...parts, sql, changes, operators, feed, places }),
    feed,
    places,
    reads: sql,
    changes,
    disconnect: () => Promise.all([readers, changers, operators, feedSql].map((pool) => pool.end({ timeout: 5 }))),
  };
}
