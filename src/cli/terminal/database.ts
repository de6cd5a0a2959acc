/** The database that the daemon uses, for the length of one command. */

import { join, resolve } from 'node:path';
import { heldText, type Sql } from '../../actions/database.ts';
import { daemonSilence, otherSettings, runningReplicas } from '../../actions/running-replicas.ts';
import { connectForCommand, describeConnectionError, isUsable, missingRight, schemaStatus } from '../../actions/setup/connect.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings.ts';
import type { SettingsGroup } from '../../config/settings-digests.ts';
import { noDaemonText } from '../../domain/replicas/daemon-silence.ts';
import { AppError } from '../../domain/values/errors.ts';
import { PACKAGE_FOLDER } from '../../runtime/process/package-folder.ts';
import { type Declared, declare, type Given, type ParameterParts, type Register } from './command.ts';
import type { CliContext } from './context.ts';
import { printRemark } from './output.ts';

/** Where the schema's files are. */
export const MIGRATIONS = join(PACKAGE_FOLDER, 'migrations');

export interface OpenDatabase {
  readonly sql: Sql;
  /** The database's address, for a connection that listens. */
  readonly url: string;
  readonly settings: Settings;
}

/**
 * Opens DATABASE_URL, or the embedded Postgres of DATA_DIR (the running one, if one runs), does the work and closes it.
 * With `raw` the schema may be of any age, and with `create` the embedded Postgres is made when there is none: for `migrate`.
 * `restsOn`: settings of this terminal that decide the output; where a running daemon uses others, a remark says so.
 */
export async function withDatabase<T>(
  context: CliContext,
  work: (database: OpenDatabase) => Promise<T>,
  { raw = null, restsOn = [] }: { raw?: 'existing' | 'create' | null; restsOn?: readonly SettingsGroup[] } = {},
): Promise<T> {
  const settings = loadSettings(context.env);
  const embedded = settings.databaseUrl === null ? await openEmbedded(settings.dataDir, raw === 'create') : null;
  const url = settings.databaseUrl ?? embedded!.url;
  let sql: Sql | undefined;
  try {
    sql = await connectForCommand(url, { max: 3, name: 'command', onWrong: (text) => printRemark(context, text) }).catch(
      (cause: unknown) => {
        throw new AppError('unavailable', describeConnectionError(url, cause), { cause });
      },
    );
    if (raw === null) await requireSchema(sql);
    const database = { sql, url, settings };
    const result = await work(database);
    // The work is done: a remark that cannot be made must not make the command fail.
    if (restsOn.length > 0) await remarkOtherSettings(context, database, restsOn).catch(() => undefined);
    return result;
  } catch (error) {
    const held = sql === undefined ? null : await heldText(sql, error).catch(() => null);
    throw held === null
      ? explained(error, (cause) => describeConnectionError(url, cause))
      : new AppError('unavailable', held, { cause: error });
  } finally {
    await sql?.end({ timeout: 1 });
    await embedded?.stop();
  }
}

/** A command whose work is done with the database open. `restsOn`: as of `withDatabase`. */
export function onDatabase<const Arguments extends ParameterParts, const Options extends ParameterParts>(
  { restsOn = [], ...declared }: Declared<Arguments, Options> & { readonly restsOn?: readonly SettingsGroup[] },
  run: (context: CliContext, given: Given<Arguments> & Given<Options>, database: OpenDatabase) => Promise<void>,
): Register {
  const work = (context: CliContext, given: Given<Arguments> & Given<Options>) =>
    withDatabase(context, (database) => run(context, given, database), { restsOn });
  return declare<Arguments, Options>(declared as Declared<Arguments, Options>, work);
}

async function openEmbedded(dataDir: string, create: boolean) {
  const { hasEmbedded, startEmbedded } = await import('../../actions/setup/embedded.ts');
  if (!create && !hasEmbedded(dataDir)) {
    throw new AppError(
      'not_found',
      `there is no database in ${resolve(dataDir)} yet: run "purchase-watch start" first, or say where it is with DATA_DIR or DATABASE_URL`,
    );
  }
  return startEmbedded({ dataDir });
}

async function requireSchema(sql: Sql): Promise<void> {
  const status = await schemaStatus(sql, MIGRATIONS);
  if (isUsable(status)) return;
  const missing = status.pending.map(({ name }) => name).join(', ');
  throw new AppError(
    'conflict',
    `the database's schema is not up to date (missing: ${missing}): run "purchase-watch migrate", or "purchase-watch start", which does it too`,
  );
}

/** A command sets no statement_timeout; behind a pooler in transaction mode it cannot. */
const TIMEOUT_ADVICE = ': the role, the database or the pooler has a statement_timeout; take it out, or raise it';

/** An error of the database or of its connection as a sentence; any other error is left as it is. */
function explained(error: unknown, describe: (error: unknown) => string): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const { name, code, hint } = error as Error & { code?: unknown; hint?: unknown };
  if (missingRight(error, '') !== null) return new AppError('unavailable', describe(error), { cause: error });
  if (name === 'PostgresError') {
    const timeout = code === '57014' && error.message.includes('statement timeout') ? TIMEOUT_ADVICE : null;
    const more = timeout ?? (typeof hint === 'string' ? ` (${hint})` : '');
    return new AppError('unavailable', `the database refused this: ${error.message}${more}`, { cause: error });
  }
  const isConnection = typeof code === 'string' && /^(?:CONNECT|E[A-Z]+$)/.test(code);
  return isConnection ? new AppError('unavailable', describe(error), { cause: error }) : error;
}

async function remarkOtherSettings(
  context: CliContext,
  { sql, settings }: OpenDatabase,
  groups: readonly SettingsGroup[],
): Promise<void> {
  const text = await otherSettings(sql, settings, groups);
  const where = 'The page /system of the console shows those of the daemon, "purchase-watch config" those of this terminal.';
  if (text !== null) printRemark(context, `The results follow the settings of this terminal, and ${text}. ${where}`);
}

/** Why no daemon is alive and what to do; null while one is. */
export async function missingDaemon(sql: Sql): Promise<string | null> {
  return (await runningReplicas(sql)).length > 0 ? null : noDaemonText(await daemonSilence(sql));
}
