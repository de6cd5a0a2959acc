/** The API as the daemon runs it, with a feed that wakes. A worker has the operators' part only. */

import { measured, type Store } from '../actions/database.ts';
import { createFeedHub } from '../actions/events/feed-hub.ts';
import { poolFor } from '../config/kinds/connection-shares.ts';
import { limitedPool } from './http/limited-pool.ts';
import { createOperations } from './operations.ts';
import type { ApiParts } from './routes.ts';

export type OpenApi = Awaited<ReturnType<typeof openApi>>;

type Parts = Omit<ApiParts, 'sql' | 'changes' | 'operators' | 'feed' | 'engine' | 'replica'> &
  Required<Pick<ApiParts, 'engine' | 'replica'>>;

/** `connections`: those of callers, at most. */
export async function openApi(
  parts: Parts,
  { pools, shares }: Pick<Store, 'pools' | 'shares'>,
  { worker, connections }: { worker: boolean; connections: number },
) {
  const { operators } = pools;
  if (worker) return { app: createOperations({ ...parts, operators }), feed: null, places: null, reads: null, changes: null };
  const limited = (pool: 'api' | 'changes') => {
    const connections = shares[poolFor(shares, pool)];
    const line = { name: `${pool}_callers`, most: connections, isLine: true };
    return measured(parts.engine.pools, limitedPool(pools[pool], connections), line);
  };
  const [sql, changes] = [limited('api'), limited('changes')];
  const feed = createFeedHub(pools.feed);
  // A worker never loads what only the API needs.
  const [{ createApi }, limitsOfStreams] = await Promise.all([import('./routes.ts'), import('./events/stream-places.ts')]);
  const places = limitsOfStreams.createStreamPlaces(limitsOfStreams.placeLimits(connections));
  return {
    app: createApi({ ...parts, sql, changes, operators, feed, places }),
    feed,
    places,
    reads: sql,
    changes,
  };
}
