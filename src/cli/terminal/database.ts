/** The database that the daemon uses, for the length of one command. */

import { join, resolve } from 'node:path';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { noDaemonText } from '../../domain/replicas/daemon-silence.ts';
import { AppError } from '../../domain/values/errors.ts';
import { connect, type Sql } from '../../postgres/connection/database.ts';
import { describeConnectionError } from '../../postgres/connection/database-url.ts';
import { missingRight } from '../../postgres/connection/missing-right.ts';
import { pendingMigrations } from '../../postgres/migrations/migrate.ts';
import { daemonSilence, type LivingReplica, livingReplicas } from '../../postgres/shards/replicas.ts';
import { isGone } from '../../runtime/process/process-identity.ts';
import type { CliContext } from './context.ts';

/** Where the schema's files are. */
export const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

export interface OpenDatabase {
  readonly sql: Sql;
  readonly settings: Settings;
}

/**
 * Opens DATABASE_URL, or the embedded Postgres of DATA_DIR (the running one, if one runs), does the work and closes it.
 * With `raw` the schema may be of any age, and with `create` the embedded Postgres is made when there is none: for `migrate`.
 */
export async function withDatabase<T>(
  { env }: Pick<CliContext, 'env'>,
  work: (database: OpenDatabase) => Promise<T>,
  { raw = null }: { raw?: 'existing' | 'create' | null } = {},
): Promise<T> {
  const settings = loadSettings(env);
  const embedded = settings.databaseUrl === null ? await openEmbedded(settings.dataDir, raw === 'create') : null;
  const url = settings.databaseUrl ?? embedded!.url;
  const sql = connect(url, { max: 2, name: 'command' });
  try {
    await sql`select 1`.catch((cause: unknown) => {
      throw new AppError('unavailable', describeConnectionError(url, cause), { cause });
    });
    if (raw === null) await requireSchema(sql);
    return await work({ sql, settings });
  } catch (error) {
    throw explained(error, (cause) => describeConnectionError(url, cause));
  } finally {
    await sql.end({ timeout: 1 });
    await embedded?.stop();
  }
}

async function openEmbedded(dataDir: string, create: boolean) {
  const [{ hasEmbedded }, { startEmbedded }] = await Promise.all([
    import('../../postgres/embedded/present.ts'),
    import('../../postgres/embedded/embedded.ts'),
  ]);
  if (!create && !hasEmbedded(dataDir)) {
    throw new AppError(
      'not_found',
      `there is no database in ${resolve(dataDir)} yet: run "purchase-watch start" first, or say where it is with DATA_DIR or DATABASE_URL`,
    );
  }
  return startEmbedded({ dataDir });
}

async function requireSchema(sql: Sql): Promise<void> {
  const pending = await pendingMigrations(sql, MIGRATIONS);
  if (pending.length === 0) return;
  throw new AppError(
    'conflict',
    `the database's schema is not up to date (missing: ${pending.join(', ')}): run "purchase-watch migrate", or "purchase-watch start", which does it too`,
  );
}

/** What the database refused or why it went away, in a sentence; anything else is left as it is. */
function explained(error: unknown, describe: (error: unknown) => string): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const { name, code, hint } = error as Error & { code?: unknown; hint?: unknown };
  if (missingRight(error, '') !== null) return new AppError('unavailable', describe(error), { cause: error });
  if (name === 'PostgresError') {
    const more = typeof hint === 'string' ? ` (${hint})` : '';
    return new AppError('unavailable', `the database refused this: ${error.message}${more}`, { cause: error });
  }
  const isConnection = typeof code === 'string' && /^(?:CONNECT|E[A-Z]+$)/.test(code);
  return isConnection ? new AppError('unavailable', describe(error), { cause: error }) : error;
}

/** The daemons that are alive: their lease holds, and their process was not seen to be gone. */
export async function livingDaemons(sql: Sql): Promise<LivingReplica[]> {
  return (await livingReplicas(sql)).filter(({ process }) => !isGone(process));
}

/** Why no daemon is alive and what to do; null while one is. */
export async function missingDaemon(sql: Sql): Promise<string | null> {
  return (await livingDaemons(sql)).length > 0 ? null : noDaemonText(await daemonSilence(sql));
}
