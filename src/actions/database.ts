/** The door to the database for those who pass its handle on: the API, the commands and the console. */
export { type Queries, readClock, type Sql } from '../postgres/connection/database.ts';
export { heldText } from '../postgres/connection/lock-holder.ts';
export { inTurns } from '../postgres/connection/wrapped-pool.ts';
export type { Store } from '../postgres/open.ts';
export { measured, type PoolUse } from '../postgres/pool-use.ts';
export { databaseNow } from '../postgres/reports/overview.ts';
