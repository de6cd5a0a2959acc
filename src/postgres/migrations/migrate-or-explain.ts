/** Bringing the schema up to date when a daemon starts. */
import { AppError } from '../../domain/values/errors.ts';
import { connectForCommand } from '../connection/agreement.ts';
import type { Sql } from '../connection/database.ts';
import { describeConnectionError } from '../connection/database-url.ts';
import { type Migrated, migrate } from './migrate.ts';

/** Applies what is missing of a folder of migrations; throws AppError for what a person must mend. On a connection of its own, because building an index may take longer than any query of the loops. */
export async function migrateOrExplain(
  databaseUrl: string,
  migrations: string,
  onStep?: (step: string) => void,
  signal?: AbortSignal,
): Promise<Migrated> {
  let sql: Sql | undefined;
  try {
    sql = await connectForCommand(databaseUrl, { max: 2, name: 'migrate' });
    return await migrate(sql, migrations, onStep, { signal });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', describeConnectionError(databaseUrl, error), { cause: error });
  } finally {
    await sql?.end({ timeout: 5 });
  }
}
