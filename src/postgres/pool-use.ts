/** How much of a pool of connections is used, and how long queries wait for one of them. */
import type { Milliseconds } from '../domain/values/time.ts';
import { monotonic } from '../runtime/time.ts';
import type { Sql } from './connection/database.ts';
import { type DriverQuery, whenEnded, wrapPool } from './connection/wrapped-pool.ts';

export interface PoolUse {
  readonly name: string;
  /** Whether it is the line before a pool, which counts the connections itself. */
  readonly isLine: boolean;
  /** Connections that the pool may have. */
  readonly most: number;
  /** Connections that carry a query or a transaction, or are dialled for one. */
  inUse(): number;
  /** Queries and transactions that wait for a connection. */
  waiting(): number;
  /** For how long all of them have waited since the process started, each counted by itself. */
  waited(): Milliseconds;
}

/**
 * The same pool; its use is added to the list under the name. The driver does not show its line of waiting queries, but it gives each
 * query a connection of its own while one is free: so what is beyond `most` waits.
 */
export function measured(
  pools: PoolUse[],
  sql: Sql,
  { name, most = sql.options.max, isLine = false }: { name: string; most?: number; isLine?: boolean },
): Sql {
  let open = 0;
  let waited: Milliseconds = 0;
  let changedAt = monotonic();
  const waiting = () => Math.max(open - most, 0);
  const count = (by: 1 | -1): void => {
    const now = monotonic();
    waited += waiting() * (now - changedAt);
    changedAt = now;
    open += by;
  };
  pools.push({
    name,
    isLine,
    most,
    waiting,
    inUse: () => Math.min(open, most),
    waited: () => waited + waiting() * (monotonic() - changedAt),
  });
  const countOne = (query: DriverQuery): void => {
    const { handler } = query;
    query.handler = (each) => {
      count(1);
      let isOpen = true;
      whenEnded(query, () => {
        if (isOpen) count(-1);
        isOpen = false;
      });
      return handler(each);
    };
  };
  return wrapPool(sql, countOne, (begin) => (...values) => {
    count(1);
    return begin(...values).finally(() => count(-1));
  });
}
