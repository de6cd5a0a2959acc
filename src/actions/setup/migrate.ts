/** Bringing the schema up to date. Apart from connecting, because other commands need none of it. */
import type { Sql } from '../../postgres/connection/database.ts';
import { planOf } from '../../postgres/migrations/plan.ts';
import { schemaStatus } from '../../postgres/migrations/schema.ts';

export { LOCK_WITHIN } from '../../postgres/migrations/behind-readers.ts';
export { migrate } from '../../postgres/migrations/migrate.ts';
export type { PlannedFile, PlannedLock } from '../../postgres/migrations/plan.ts';

/** The files of a folder that the database lacks, with the locks that each takes and about for how long. */
export const planMigration = async (sql: Sql, folder: string) => planOf(sql, (await schemaStatus(sql, folder)).pending);
