/** Notices that a newer version has migrated the database while this daemon runs. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { newerFiles, schemaDifference } from '../../postgres/migrations/schema.ts';
import type { Logger } from '../../runtime/logger.ts';

const EVERY: Milliseconds = 30_000;

/** `own`: the number of the newest file of this program. A tick fails, and so is in the log and in health, while this program does not work with the schema. */
export function createSchemaWatch({ sql, log, own }: { sql: Sql; log: Logger; own: number }) {
  let logged = own;
  return {
    tick: async (): Promise<Milliseconds> => {
      const newer = await newerFiles(sql, own);
      const version = newer.at(-1)?.number ?? own;
      const difference = schemaDifference({ own, version, pending: [], newer });
      if (difference !== null && version !== logged)
        log.info({ detail: difference.found, advice: difference.todo }, 'schema.newer');
      logged = version;
      return EVERY;
    },
  };
}
