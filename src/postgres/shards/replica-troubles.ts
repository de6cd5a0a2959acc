/** Troubles that keep running replicas from their work, as each replica writes them of itself. */
import { lossTrouble, type ReplicaTrouble } from '../../domain/incidents/replica-trouble.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { unalertedLosses } from './database-changes.ts';

/** Replaces a replica's rows by its present troubles, all or nothing. */
export async function saveReplicaTroubles(
  sql: Queries,
  { replica, host }: Pick<ReplicaTrouble, 'replica' | 'host'>,
  troubles: readonly Pick<ReplicaTrouble, 'reason' | 'since' | 'error'>[],
): Promise<void> {
  const reasons = troubles.map(({ reason }) => reason);
  await sql`
    with over as (
      delete from purchase_watch_internal.replica_troubles where replica = ${replica} and reason <> all(${reasons}::text[]))
    insert into purchase_watch_internal.replica_troubles as t (replica, reason, host, since, error)
    select r.id, w.reason, ${host}, w.since, w.error
    from ${columns(sql, troubles, 'w', 'reason text, since timestamptz, error text')}
    join purchase_watch_internal.replicas r on r.id = ${replica}
    on conflict (replica, reason) do update set host = excluded.host, since = least(t.since, excluded.since), error = excluded.error`;
}

/** The troubles of all replicas that are not gone, the oldest first; there are a few rows at most. */
export const replicaTroubles = (sql: Queries): Promise<ReplicaTrouble[]> => sql<ReplicaTrouble[]>`
    select replica, host, reason, since, error
    from purchase_watch_internal.replica_troubles order by since, replica, reason`;

/** Troubles of which to alert people: those of all replicas, and losses of the database that people were not alerted of yet. */
export async function alertedTroubles(sql: Queries): Promise<ReplicaTrouble[]> {
  // The judge asks every few seconds: without a loss that is one statement.
  const rows = await sql<({ isLost: boolean } & { [Field in keyof ReplicaTrouble]: ReplicaTrouble[Field] | null })[]>`
    select l.is_lost, t.replica, t.host, t.reason, t.since, t.error
    from (select exists (
      select from purchase_watch_internal.database_changes where kind = 'went_back' and compared_at is null) as is_lost) l
    left join purchase_watch_internal.replica_troubles t on true order by t.since, t.replica, t.reason`;
  const troubles = rows.flatMap(({ isLost: _, ...trouble }) => (trouble.replica === null ? [] : [trouble as ReplicaTrouble]));
  return rows[0]?.isLost ? [...troubles, ...(await unalertedLosses(sql)).map(lossTrouble)] : troubles;
}
