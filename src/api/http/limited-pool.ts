/** A pool of connections for which few may wait, and none for long. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { inTurns } from '../../postgres/connection/wrapped-pool.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
import { busy } from './problems.ts';

const MOST_WAITING = 200;
const WAIT_WITHIN: Milliseconds = 5_000;

/**
 * The same pool of so many `connections`: each query or transaction has one to itself. So many wait for one (`waiting`; the next is
 * refused at once), for so long (`within`); then they reject with the Problem `busy`.
 */
export function limitedPool(sql: Sql, connections: number, { waiting = MOST_WAITING, within = WAIT_WITHIN } = {}): Sql {
  const refuse = () => busy('Too many requests wait for the database. Try again in a few seconds.');
  return inTurns(sql, createTurns({ most: connections, waiting, within, refuse }));
}
