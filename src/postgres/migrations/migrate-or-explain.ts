/** Bringing the schema up to date when a daemon starts. */
import { AppError } from '../../domain/values/errors.ts';
import { describeConnectionError } from '../address/database-url.ts';
import { missingRight } from '../address/missing-right.ts';
import { type CommandOptions, connectForCommand } from '../connection/agreement.ts';
import type { Sql } from '../connection/database.ts';
import type { Trying } from './behind-readers.ts';
import { type Migrated, migrate } from './migrate.ts';
import { isUsable, schemaStatus } from './schema.ts';

/** Applies what is missing of a folder of migrations; throws AppError for what a person must mend. Where the login may not, and this program works without the missing files, they stay pending. On a connection of its own, because building an index may take longer than any query of the loops. */
export async function migrateOrExplain(
  databaseUrl: string,
  migrations: string,
  { agreed, ...trying }: Partial<Pick<Trying, 'onStep' | 'signal'>> & Pick<CommandOptions, 'agreed'> = {},
): Promise<Migrated> {
  let sql: Sql | undefined;
  try {
    sql = await connectForCommand(databaseUrl, { max: 3, name: 'migrate', agreed });
    return await migrate(sql, migrations, trying.onStep, trying);
  } catch (error) {
    const cause = error instanceof AppError ? error.cause : error;
    const status = sql !== undefined && missingRight(cause, '') !== null ? await schemaStatus(sql, migrations) : null;
    if (status !== null && isUsable(status)) return { ...status, applied: [] };
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', describeConnectionError(databaseUrl, error), { cause: error });
  } finally {
    await sql?.end({ timeout: 5 });
  }
}
