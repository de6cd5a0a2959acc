/** Reads which replicas there are, for commands, pages and reports. */

import type { SettingsDigests } from '../../config/settings-digests.ts';
import type { DaemonSilence } from '../../domain/replicas/daemon-silence.ts';
import type { SettingsNames } from '../../domain/replicas/named.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';
import type { ReplicaRow } from './replicas.ts';

export interface LivingReplica extends ReplicaRow {
  readonly startedAt: Instant;
  /** How many shards it owns. */
  readonly shards: number;
  /** Null: not known. */
  readonly settings: SettingsDigests | null;
  /** The names in its settings; null for a daemon of an older version. */
  readonly named: SettingsNames | null;
}

/** Replicas whose lease has not run out. A killed replica stays among them until its lease runs out. */
export const livingReplicas = (sql: Queries) => sql<LivingReplica[]>`
    select r.id, r.process, r.started_at, r.settings_digests as settings, r.named,
      (select count(*) from purchase_watch_internal.shards s where s.owner = r.id) as shards
    from purchase_watch_internal.replicas r where r.expires_at > clock_timestamp() order by r.started_at, r.id`;

/** Whether a replica of this id has renewed its lease in this database within the last month. */
export async function isKnownReplica(sql: Queries, id: string): Promise<boolean> {
  const [row] = await sql<[{ isThere: boolean }]>`
    select to_regclass('purchase_watch_internal.renewals') is not null as is_there`;
  if (!row.isThere) return false;
  return (await sql`select from purchase_watch_internal.renewals where replica = ${id}`).length > 0;
}

/** One row of `DaemonSilence`. Reads the session's default for read-only, because a single transaction may be read-only on purpose. */
export const silence = (sql: Queries): Fragment => sql`(
  select current_setting('default_transaction_read_only') = 'off' and not pg_is_in_recovery() as takes_writes,
    (extract(epoch from greatest(clock_timestamp() - max(expires_at - lease_ms * interval '1 millisecond'), interval '0')) * 1000)::float8
      as silent_ms
  from purchase_watch_internal.replicas)`;

/** Facts about the daemons, for a command that finds no replica with a valid lease. */
export const daemonSilence = (sql: Queries) => onlyRow(sql<DaemonSilence[]>`select s.* from ${silence(sql)} s`);
