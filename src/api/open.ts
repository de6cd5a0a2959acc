/** The API as the daemon runs it: with connections of its own, a feed that wakes, and a socket. */
import { connect } from '../store/database.ts';
import type { Patience } from '../store/server-limits.ts';
import { createFeedHub, type FeedHub } from './feed-hub.ts';
import { type ApiParts, createApi } from './routes.ts';
import { type ApiServer, serveApi } from './serve.ts';

type Parts = Omit<ApiParts, 'sql' | 'feed' | 'settings'> & {
  readonly settings: ApiParts['settings'] & { host: string; port: number };
};

export interface OpenApi extends Pick<ApiServer, 'url'> {
  /** To be woken when events are committed. */
  readonly feed: FeedHub;
  /** Answers what is under way and listens no longer. */
  close(): Promise<void>;
  /** Ends the connections to the database, once nothing is under way any more. */
  disconnect(): Promise<void>;
}

/** Opens it. Throws AppError, with what to do, when it cannot listen there. */
export async function openApi(parts: Parts, { answerWithin, limits }: Patience): Promise<OpenApi> {
  const { databaseUrl, settings, log } = parts;
  // People's questions vary, and must not wait for the loops' connections.
  const sql = connect(databaseUrl, { max: 8, name: 'api', answerWithin, limits });
  // Everybody who follows the feed asks at the same moment, and always the same.
  const feedSql = connect(databaseUrl, { max: 4, name: 'feed', steadyPlans: true, answerWithin, limits });
  const disconnect = async (): Promise<void> => {
    await Promise.all([sql.end({ timeout: 5 }), feedSql.end({ timeout: 5 })]);
  };
  const feed = createFeedHub(feedSql);
  try {
    const server = await serveApi(createApi({ ...parts, sql, feed }), { host: settings.host, port: settings.port });
    log.info({ url: server.url }, 'api.listening');
    return { url: server.url, feed, close: server.close, disconnect };
  } catch (error) {
    await disconnect();
    throw error;
  }
}
