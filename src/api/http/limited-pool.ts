/** A pool of connections for which few may wait, and none for long. */
import { inTurns, type Sql } from '../../actions/database.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
import { busy } from './problems.ts';

const MOST_WAITING = 200;
const WAIT_WITHIN: Milliseconds = 5_000;

/**
 * The pool, in which at most `connections` queries or transactions run at a time, each on a connection to itself. At most `waiting`
 * further ones wait for a connection, the next is refused at once; one that waited for `within` milliseconds rejects with the Problem `busy`.
 */
export function limitedPool(sql: Sql, connections: number, { waiting = MOST_WAITING, within = WAIT_WITHIN } = {}): Sql {
  const refuse = () => busy('Too many requests wait for the database. Try again in a few seconds.');
  return inTurns(sql, createTurns({ most: connections, waiting, within, refuse }));
}
