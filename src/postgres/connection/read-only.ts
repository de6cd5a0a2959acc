/** Notices statements that the server refused because their session is read-only, as after a failover. */
import type postgres from 'postgres';

export const READ_ONLY = '25006';

/** The same pool; calls back when the server refuses one of the pool's statements or transactions as read-only. */
export function noticeReadOnly<Types extends Record<string, unknown>>(
  sql: postgres.Sql<Types>,
  onReadOnly: () => void,
): postgres.Sql<Types> {
  const notice = <T>(query: T): T => {
    if (!(query instanceof Promise)) return query;
    const rejecting = query as unknown as { reject: (error: unknown) => void };
    const { reject } = rejecting;
    // Only the driver's queries have it. To listen as for any promise would begin the query, and a fragment is none.
    if (typeof reject !== 'function') return query;
    rejecting.reject = (error) => {
      if ((error as { code?: unknown } | null)?.code === READ_ONLY) onReadOnly();
      reject(error);
    };
    return query;
  };
  return new Proxy(sql, {
    apply: (target, self, values) => notice(Reflect.apply(target as never, self, values)),
    get: (target, name) => {
      if (name === 'unsafe') return (...values: Parameters<typeof sql.unsafe>) => notice(target.unsafe(...values));
      if (name !== 'begin') return Reflect.get(target, name);
      return (...values: unknown[]) => {
        const work = values.pop() as (tx: postgres.Sql<Types>) => unknown;
        return Reflect.apply(target.begin, target, [
          ...values,
          (tx: postgres.Sql<Types>) => work(noticeReadOnly(tx, onReadOnly)),
        ]);
      };
    },
  });
}
