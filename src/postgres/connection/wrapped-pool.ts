/** Pools whose queries and transactions are seen before they are sent: to give each a turn, to count them, to notice refusals. */
import type postgres from 'postgres';
import type { Turns } from '../../runtime/loops/turns.ts';

/** A query of the driver: `handler` is called when it is to be sent, `resolve` or `reject` when it has ended. */
export interface DriverQuery {
  handler: (query: DriverQuery) => unknown;
  resolve: (value: unknown) => unknown;
  reject: (error: unknown) => unknown;
}

export type Begin = (...values: unknown[]) => Promise<unknown>;

/**
 * The same pool. `onQuery` sees each query when it is made, and fragments, whose handler is never called: to listen to one as to any
 * promise would begin it. `onBegin` makes the pool's `begin`.
 */
export function wrapPool<Pool extends Pick<postgres.Sql, 'unsafe'> & { begin: unknown }>(
  sql: Pool,
  onQuery: (query: DriverQuery) => void,
  onBegin: (begin: Begin) => Begin,
): Pool {
  const seen = <T>(made: T): T => {
    // A name or a list that becomes part of a query is none itself.
    if (made instanceof Promise && 'handler' in made) onQuery(made as unknown as DriverQuery);
    return made;
  };
  return new Proxy(sql, {
    apply: (target, self, values) => seen(Reflect.apply(target as never, self, values)),
    get: (target, name) => {
      if (name === 'unsafe') return (...values: Parameters<postgres.Sql['unsafe']>) => seen(target.unsafe(...values));
      if (name !== 'begin') return Reflect.get(target, name);
      return onBegin((...values) => Promise.resolve(Reflect.apply(target.begin as never, target, values)));
    },
  });
}

/**
 * Gives a query its rows from the first place on. The driver counts the rows that a connection brings, and begins again only when a
 * query completes: behind a query that failed amid its rows (a limit of time, a lost connection), the answer to the next one begins
 * with as many empty places (porsager/postgres, issues 1119 and 1181). In a transaction its `begin` has completed before.
 */
export function fromFirstRow(query: DriverQuery): void {
  const { resolve } = query;
  query.resolve = (rows) => {
    const first = Array.isArray(rows) && !(0 in rows) ? rows.findIndex((row) => row !== undefined) : 0;
    if (first > 0) (rows as unknown[]).splice(0, first);
    return resolve(rows);
  };
}

/** Calls back when a query has ended, before its answer is known to others. */
export function whenEnded(query: DriverQuery, onEnd: () => void): void {
  const { resolve, reject } = query;
  query.resolve = (value) => {
    onEnd();
    return resolve(value);
  };
  query.reject = (error) => {
    onEnd();
    return reject(error);
  };
}

/**
 * A pool whose queries and transactions each wait for a turn, which is a connection to themselves; what gets no turn rejects as
 * `take` does. The driver alone keeps a line without end, and puts a query behind one that is still under way, on the same connection.
 */
export function inTurns<Pool extends Pick<postgres.Sql, 'unsafe'> & { begin: unknown }>(sql: Pool, turns: Turns): Pool {
  const wait = (query: DriverQuery): void => {
    const { handler } = query;
    query.handler = async () => {
      try {
        whenEnded(query, await turns.take());
        handler(query);
      } catch (error) {
        query.reject(error);
      }
    };
  };
  return wrapPool(sql, wait, (begin) => async (...values) => {
    const giveBack = await turns.take();
    return begin(...values).finally(giveBack);
  });
}

/**
 * A pool's `begin` whose transactions fail with their connection, whatever their work does then. The driver would write a later
 * statement of them, their `commit` or their `rollback` on the closed connection, and end the process.
 */
export const endedWithConnection =
  (begin: Begin): Begin =>
  (...values) => {
    const work = values.pop() as (tx: postgres.Sql) => unknown;
    let isOver = false;
    const refuseWhenOver = (query: DriverQuery): void => {
      const { handler } = query;
      query.handler = () => (isOver ? query.reject(new Error('the transaction has ended with its connection')) : handler(query));
    };
    const inTransaction = (tx: postgres.Sql): Promise<unknown> => {
      const done = Promise.resolve(work(wrapPool(tx, refuseWhenOver, (nested) => nested)));
      // The driver waits for ever for work that ends when its transaction is over, and forgets it.
      return new Promise((resolve, reject) => {
        done.then(
          (value) => isOver || resolve(value),
          (error) => isOver || reject(error),
        );
      });
    };
    return begin(...values, inTransaction).finally(() => {
      isOver = true;
    });
  };

export const READ_ONLY = '25006';

/** A pool that calls back when the server refuses one of its statements or transactions because the session is read-only, as after a failover. */
export function noticeReadOnly<Types extends Record<string, unknown>>(
  sql: postgres.Sql<Types>,
  onReadOnly: () => void,
): postgres.Sql<Types> {
  const notice = (query: DriverQuery): void => {
    const { reject } = query;
    query.reject = (error) => {
      if ((error as { code?: unknown } | null)?.code === READ_ONLY) onReadOnly();
      return reject(error);
    };
  };
  return wrapPool(sql, notice, (begin) => (...values) => {
    const work = values.pop() as (tx: postgres.Sql<Types>) => unknown;
    return begin(...values, (tx: postgres.Sql<Types>) => work(noticeReadOnly(tx, onReadOnly)));
  });
}
