/** The door to the database for those who pass its handle on: the API, the commands and the console. */
export { type Queries, readClock, type Sql } from '../postgres/connection/database.ts';
export { databaseNow } from '../postgres/reports/overview.ts';
