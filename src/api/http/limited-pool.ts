/** A pool of connections for which few may wait, and none for long. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { inTurns } from '../../postgres/connection/wrapped-pool.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
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
  return inTurns(sql, createTurns({ most: connections, waiting, within, refuse }));
}
