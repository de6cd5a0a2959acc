/** A file is not applied while a daemon runs that would not work with the schema after it. */
import { AppError } from '../../domain/values/errors.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import { isGone } from '../../runtime/process/process-identity.ts';
import type { Queries } from '../connection/database.ts';
import type { MigrationFile } from './files.ts';

interface RunningDaemon {
  readonly id: string;
  readonly process: string;
  readonly version: string;
  /** The number of the newest file of its program; null: it did not say. */
  readonly schema: number | null;
  readonly expiresAt: Instant;
}

/** Throws AppError `conflict` that names the daemons that run and would not work with the schema after a file. `applied`: the number of the last applied file. */
export async function refuseForDaemons(tx: Queries, { name, number, serves }: MigrationFile, applied: number): Promise<void> {
  const [found] = await tx<[{ exists: boolean }]>`select to_regclass('purchase_watch_internal.replicas') is not null as exists`;
  if (!found.exists) return;
  const living = await tx<RunningDaemon[]>`
    select id, process, coalesce(settings_digests ->> 'version', 'unknown') as version, (settings_digests ->> 'schema')::integer as schema, expires_at
    from purchase_watch_internal.replicas
    where expires_at > clock_timestamp() order by id`;
  // A daemon that does not say works with the schema as it is.
  const left = living.filter(({ process, schema }) => (schema ?? applied) < (serves ?? number) && !isGone(process));
  if (left.length === 0) return;
  const daemons = left.map(
    ({ id, version, schema, expiresAt }) =>
      `${id} (version ${version}, schema ${schema ?? 'unknown'}, lease until ${isoTime(expiresAt)})`,
  );
  throw new AppError(
    'conflict',
    `${name} was not applied, because running daemons would not work with it: ${daemons.join(', ')}. ` +
      `${serves === null ? 'Stop them' : `Upgrade them to a version with schema ${serves} or later, or stop them`}, and run this again; a daemon that was killed counts until its lease ends`,
  );
}
