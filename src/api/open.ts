/** The API as the daemon runs it: with connections of its own and a feed that wakes. A worker has the operators' part only. */
import { connect } from '../store/database.ts';
import type { Patience } from '../store/server-limits.ts';
import { createFeedHub, type FeedHub } from './feed-hub.ts';
import { createOperations } from './operations.ts';
import type { ApiParts } from './routes.ts';
import type { ServedApp } from './serve.ts';

export interface OpenApi {
  readonly app: ServedApp;
  /** To be woken when events are committed; a worker has none. */
  readonly feed: FeedHub | null;
  /** Ends the connections to the database, once nothing is under way any more. */
  disconnect(): Promise<unknown>;
}

type Parts = Omit<ApiParts, 'sql' | 'feed' | 'engine'> & Required<Pick<ApiParts, 'engine'>>;

export async function openApi(parts: Parts, { answerWithin, limits, worker }: Patience & { worker: boolean }): Promise<OpenApi> {
  const { databaseUrl } = parts;
  // People's questions vary, and must not wait for the loops' connections.
  const sql = connect(databaseUrl, { max: worker ? 2 : 8, name: 'api', answerWithin, limits });
  if (worker) return { app: createOperations({ ...parts, sql }), feed: null, disconnect: () => sql.end({ timeout: 5 }) };
  // Everybody who follows the feed asks at the same moment, and always the same.
  const feedSql = connect(databaseUrl, { max: 4, name: 'feed', steadyPlans: true, answerWithin, limits });
  const feed = createFeedHub(feedSql);
  // A worker never loads what only the API needs.
  const { createApi } = await import('./routes.ts');
  return {
    app: createApi({ ...parts, sql, feed }),
    feed,
    disconnect: () => Promise.all([sql, feedSql].map((pool) => pool.end({ timeout: 5 }))),
  };
}
