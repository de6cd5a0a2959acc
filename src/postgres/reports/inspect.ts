/** The facts of the database that `doctor` asks it for. */

import type { Queries } from '../connection/database.ts';
import { firstRow, firstValue, onlyRow } from '../connection/rows.ts';

export interface ServerFacts {
  /** A number such as 180004. */
  readonly version: number;
  readonly versionText: string;
  readonly role: string;
  readonly database: string;
  readonly encoding: string;
  readonly isReplica: boolean;
  readonly readOnly: boolean;
  readonly hasSchema: boolean;
  /** Whether the role may create the schema, or tables in the schema. */
  readonly mayCreate: boolean;
  readonly fsync: string;
  readonly synchronousCommit: string;
  /** How many clients replicate from the server: standbys, mostly. */
  readonly standbys: number;
  /** Whether commits wait for standbys. */
  readonly waitsForStandbys: boolean;
  /** Connections of clients that are open and that may be open: of the whole server, and of role and database where these have a limit. */
  readonly connectionLimits: readonly { readonly of: string; readonly used: number; readonly most: number }[];
  /** How full the queue of notifications is, from 0 to 1. */
  readonly notificationQueue: number;
  /** Names of the roles for other programs that do not exist. */
  readonly missingRoles: readonly string[];
}

/** Reads catalogue and settings; works on a database of any age. */
export const serverFacts = (sql: Queries) =>
  onlyRow(sql<ServerFacts[]>`
    select current_setting('server_version_num')::integer as version, split_part(current_setting('server_version'), ' ', 1) as version_text,
      current_user::text as role, current_database()::text as database, current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_replica,
      current_setting('default_transaction_read_only') = 'on' as read_only,
      to_regnamespace('purchase_watch_internal') is not null as has_schema,
      (select bool_and(case when to_regnamespace(name) is null then has_database_privilege(current_database(), 'create')
        else has_schema_privilege(name, 'create') end) from unnest(array['purchase_watch', 'purchase_watch_internal']) name) as may_create,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
      (select count(*) from pg_stat_replication) as standbys, current_setting('synchronous_standby_names') <> '' as waits_for_standbys,
      (select jsonb_agg(jsonb_build_object('of', l.of, 'used', l.used, 'most', l.most)) from (
        with open as materialized (select usename, datname from pg_stat_activity where backend_type = 'client backend')
        select 'the server' as of, (select count(*) from open) as used,
          current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as most
        union all
        select 'role ' || rolname, (select count(*) from open where usename = rolname), rolconnlimit from pg_roles
        where rolname = current_user and rolconnlimit >= 0
        union all
        select 'database ' || d.datname, (select count(*) from open where open.datname = d.datname), datconnlimit from pg_database d
        where d.datname = current_database() and datconnlimit >= 0) l) as connection_limits,
      pg_notification_queue_usage() as notification_queue,
      array(select name from unnest(array['purchase_watch_registrar', 'purchase_watch_reader']) name where to_regrole(name) is null) as missing_roles`);

/** How many shards no running replica owns. */
export const unownedShards = (sql: Queries) =>
  firstValue<number>(sql`
    select count(*) from purchase_watch_internal.shards s
    where not exists (select from purchase_watch_internal.replicas r where r.id = s.owner and r.expires_at > clock_timestamp())`);

/** The purchase with which `doctor` can try a site: registered last, seen at the service, and still watched. Null when there is none. */
export const newestSeen = (sql: Queries, site: string) =>
  firstRow(sql<{ purchaseId: string; registeredAt: number }[]>`
    select q.purchase_id, q.registered_at
    from (
      select distinct state, stuck from purchase_watch.purchase_totals where site = ${site} and status = 'watching' and state is not null) g
    cross join lateral (
      select p.id, p.purchase_id, p.registered_at from purchase_watch.purchases p
      where p.site = ${site} and p.status = 'watching' and coalesce(p.state, -2147483648) = g.state and (p.stuck_since is not null) = g.stuck
      order by -p.id limit 1) q
    order by q.id desc limit 1`);
