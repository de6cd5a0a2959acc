/**
 * A pool whose queries and transactions each wait for a turn, which is a connection to themselves. The driver alone keeps a line
 * without end, and puts a query behind one that is still under way, on the same connection.
 */
import type postgres from 'postgres';
import type { Turns } from '../../runtime/loops/turns.ts';

/** The same pool; what gets no turn rejects as `take` does. */
export function inTurns<Pool extends Pick<postgres.Sql, 'unsafe'> & { begin: unknown }>(sql: Pool, turns: Turns): Pool {
  return new Proxy(sql, {
    apply: (target, self, values) => inTurn(turns, Reflect.apply(target as never, self, values)),
    get: (target, name) => {
      if (name === 'unsafe') return (...values: Parameters<postgres.Sql['unsafe']>) => inTurn(turns, target.unsafe(...values));
      if (name !== 'begin') return Reflect.get(target, name);
      return async (...values: unknown[]) => {
        const giveBack = await turns.take();
        return Promise.resolve(Reflect.apply(target.begin as never, target, values)).finally(giveBack);
      };
    },
  });
}

/** What the driver's queries have: `handler` is called when one is to be sent, `resolve` or `reject` when it has ended. */
export interface DriverQuery {
  handler: (query: DriverQuery) => unknown;
  resolve: (value: unknown) => unknown;
  reject: (error: unknown) => unknown;
}

function inTurn<T>(turns: Turns, made: T): T {
  const query = made as unknown as DriverQuery;
  // A name or a list that becomes part of a query is none itself; neither is a fragment, whose handler is never called.
  if (!(made instanceof Promise) || typeof query.handler !== 'function') return made;
  const { handler } = query;
  query.handler = async () => {
    try {
      const giveBack = await turns.take();
      const { resolve, reject } = query;
      query.resolve = (value) => {
        giveBack();
        return resolve(value);
      };
      query.reject = (error) => {
        giveBack();
        return reject(error);
      };
      handler(query);
    } catch (error) {
      query.reject(error);
    }
  };
  return made;
}
