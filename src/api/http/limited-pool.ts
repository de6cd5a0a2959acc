/**
 * A pool of connections for which few may wait, and none for long. The driver alone keeps a line without end, and puts a query
 * behind one that waits for a lock, on the same connection.
 */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { DriverQuery } from '../../postgres/pool-use.ts';
import { createTurns, type Turns } from '../limits/turns.ts';
import { busy } from './problems.ts';

export interface PoolLimits {
  /** Connections of the pool: each query or transaction has one to itself. */
  readonly connections: number;
  /** Queries and transactions that wait for one; the next is refused at once. */
  readonly waiting?: number;
  /** How long each waits. */
  readonly within?: Milliseconds;
}

const MOST_WAITING = 200;
const WAIT_WITHIN: Milliseconds = 5_000;

/** The same pool; what finds no connection in time rejects with the Problem `busy`. */
export function limitedPool(sql: Sql, { connections, waiting = MOST_WAITING, within = WAIT_WITHIN }: PoolLimits): Sql {
  const refuse = () => busy('Too many requests wait for the database. Try again in a few seconds.');
  const turns = createTurns({ most: connections, waiting, within, refuse });
  return new Proxy(sql, {
    apply: (target, self, values) => inTurn(turns, Reflect.apply(target as never, self, values)),
    get: (target, name) => {
      if (name === 'unsafe') return (...values: Parameters<Sql['unsafe']>) => inTurn(turns, target.unsafe(...values));
      if (name !== 'begin') return Reflect.get(target, name);
      return async (...values: unknown[]) => {
        const giveBack = await turns.take();
        return Promise.resolve(Reflect.apply(target.begin, target, values)).finally(giveBack);
      };
    },
  });
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
