/** Moves the purchases of a former name of a site, and what is known of them, to the site's present name. */

import { MOST_UNPOLLED } from '../../domain/polling/unpolled.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { holderAmong, type LockHolder } from '../connection/lock-holder.ts';
import { firstValue } from '../connection/rows.ts';
import { rowOf } from './locked-rows.ts';

/** A site that was renamed. */
export interface Renamed {
  readonly from: string;
  readonly to: string;
}

/** The former names that no living replica names as a site of its own: what is theirs moves. */
export const renamedSites = (sql: Queries) => sql<Renamed[]>`
    select name as from, renamed_to as to from purchase_watch_internal.sites
    where renamed_to is not null and unnamed_since is not null order by name`;

/**
 * Moves up to `limit` purchases; answers how many. A poll that is under way for one is not recorded. The shard, and with it the
 * order of deliveries, stays. Rows that another transaction holds wait for a later call; so do ids that both names have.
 */
export const movePurchases = (sql: Queries, { from, to }: Renamed, limit: number) =>
  firstValue<number>(sql`
    with candidate as materialized (
      select p.id from purchase_watch.purchases p
      where p.site = ${from} and not exists (
        select from purchase_watch.purchases other where other.site = ${to} and other.purchase_id = p.purchase_id)
      limit ${limit} for update of p skip locked),
    moved as (
      update purchase_watch.purchases p set site = ${to}, revision = p.revision + 1 from candidate c where p.id = c.id
      returning p.id, p.shard, p.due_slot),
    stay as (update purchase_watch_internal.stays s set site = ${to} from candidate c where s.purchase = c.id and s.site = ${from}),
    alert as (update purchase_watch_internal.stuck_alerts a set site = ${to} from candidate c where a.purchase = c.id),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from moved where due_slot is not null),
    woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from moved limit 1)
    select (select count(*) from moved) as count, (select count(*) from woken) as woken`);

/**
 * Moves what belongs to the site as a whole: how long customers stay, numbers of changes, ended incidents, silences, and the name in
 * filters of subscribers that the API made. Repeated, it finds nothing.
 */
export async function moveHistory(sql: Queries, { from, to }: Renamed): Promise<void> {
  await sql`
    with dwell as (delete from purchase_watch_internal.dwell_days where site = ${from} returning *),
    stay as (delete from purchase_watch_internal.stay_days where site = ${from} returning *),
    change as (delete from purchase_watch_internal.transition_counts where site = ${from} returning *),
    dwelt as (
      insert into purchase_watch_internal.dwell_days as d (site, state, day, bucket, shortest, longest)
      select ${to}, state, day, bucket, shortest, longest from dwell
      on conflict (site, state, day, bucket) do update set shortest = d.shortest + excluded.shortest, longest = d.longest + excluded.longest),
    stayed as (
      insert into purchase_watch_internal.stay_days as d (site, state, day, calm, well, overdue, other)
      select ${to}, state, day, calm, well, overdue, other from stay
      on conflict (site, state, day, calm) do update set well = d.well + excluded.well, overdue = d.overdue + excluded.overdue, other = d.other + excluded.other),
    changed as (
      insert into purchase_watch_internal.transition_count_changes (bucket, count, from_state, to_state, site)
      select bucket, count, from_state, to_state, ${to} from change),
    changing as (update purchase_watch_internal.transition_count_changes set site = ${to} where site = ${from}),
    outcome as (delete from purchase_watch_internal.outcome_hours where site = ${from} returning *),
    ended as (
      insert into purchase_watch_internal.outcome_hours as h (site, hour, way, was_stuck, outcome, method, country, currency, customers, gone, amount)
      select ${to}, hour, way, was_stuck, outcome, method, country, currency, customers, gone, amount from outcome
      on conflict (site, hour, way, was_stuck, outcome, method, country, currency) do update set
        customers = h.customers + excluded.customers, gone = h.gone + excluded.gone, amount = h.amount + excluded.amount),
    wait as (delete from purchase_watch_internal.waited_hours where site = ${from} returning *),
    waited as (
      insert into purchase_watch_internal.waited_hours as h (site, hour, way, bucket, customers) select ${to}, hour, way, bucket, customers from wait
      on conflict (site, hour, way, bucket) do update set customers = h.customers + excluded.customers),
    counted as (update purchase_watch_internal.outcomes set site = ${to} where site = ${from}),
    deleted as (update purchase_watch_internal.outcomes_gone set site = ${to} where site = ${from}),
    -- While both names were sites, each has rows of its own; those of the former name stay until they are old.
    stood as (
      update purchase_watch_internal.snapshots s set site = ${to} where site = ${from}
        and not exists (select from purchase_watch_internal.snapshots o where o.site = ${to} and o.at = s.at)),
    paid as (delete from purchase_watch_internal.order_counts where site = ${from} returning *),
    paying as (
      insert into purchase_watch_internal.order_counts as c (site, paid, repeated) select ${to}, paid, repeated from paid
      on conflict (site) do update set paid = c.paid + excluded.paid, repeated = c.repeated + excluded.repeated),
    known as (
      update purchase_watch_internal.sites s set first_success_at = least(s.first_success_at, f.first_success_at),
        digest_at = coalesce(s.digest_at, f.digest_at)
      from purchase_watch_internal.sites f where s.name = ${to} and f.name = ${from}
        and (f.first_success_at < s.first_success_at or s.first_success_at is null and f.first_success_at is not null
          or s.digest_at is null and f.digest_at is not null)),
    incident as (update purchase_watch_internal.incidents set site = ${to} where site = ${from} and ended_at is not null),
    silence as (update purchase_watch_internal.silences set site = ${to} where site = ${from}),
    subscriber as (
      update purchase_watch_internal.subscribers s set sites = array_replace(s.sites, ${from}, ${to}), matching_since = now()
      where s.origin = 'api' and s.deleted_at is null and ${from} = any(s.sites) returning s.id)
    select pg_notify('purchase_watch_wake', 'subscribers') from subscriber limit 1`;
}

/**
 * Stops up to `limit` watched purchases of a former name whose ids the present name has as well: those go on there. Answers how
 * many were stopped; their history stays under the former name.
 */
export async function stopDoubles(sql: Queries, { from, to }: Renamed, limit: number): Promise<number> {
  return stopping(
    sql,
    sql`select p.id from purchase_watch.purchases p
    where p.site = ${from} and p.due_slot is not null and exists (
      select from purchase_watch.purchases other where other.site = ${to} and other.purchase_id = p.purchase_id)
    limit ${limit} for update of p skip locked`,
  );
}

/** Purchases that stayed at a former name. */
export interface LeftPurchases {
  /** Counted up to `MOST_UNPOLLED`. */
  readonly count: number;
  /** A session that has locked one of the first rows; null when none is known. */
  readonly holder: LockHolder | null;
}

/** The purchases of a former name that could neither be moved nor stopped, because other sessions have locked their rows. */
export async function leftBehind(sql: Queries, { from, to }: Renamed): Promise<LeftPurchases> {
  const rows = await sql<{ id: number }[]>`
    select p.id from purchase_watch.purchases p
    where p.site = ${from} and (p.due_slot is not null or not exists (
      select from purchase_watch.purchases other where other.site = ${to} and other.purchase_id = p.purchase_id))
    limit ${MOST_UNPOLLED}`;
  const [first] = rows;
  return { count: rows.length, holder: first === undefined ? null : await holderAmong(sql, rowOf(sql, first.id)) };
}

/** Stops up to `limit` watched purchases of a site; answers how many. A poll that is under way for one is not recorded. */
export async function stopPurchasesOf(sql: Queries, site: string, limit: number): Promise<number> {
  return stopping(
    sql,
    sql`select p.id from purchase_watch.purchases p where p.site = ${site} and p.due_slot is not null limit ${limit} for update of p skip locked`,
  );
}

/** Stops the purchases of a statement that answers their locked ids; answers how many. */
export const stopping = (sql: Queries, candidates: Fragment) =>
  firstValue<number>(sql`
    with candidate as materialized (${candidates}),
    stopped as (
      update purchase_watch.purchases p set stuck_since = null, next_poll_at = null, next_poll_reason = null, due_slot = null,
        -- A settled one that is still polled now and then stays settled.
        status = case p.status when 'settled' then 'settled' else 'stopped' end,
        ended_at = case p.status when 'settled' then p.ended_at else now() end, revision = p.revision + 1
      from candidate c where p.id = c.id returning p.id, p.shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from stopped),
    woken as materialized (select pg_notify('purchase_watch_wake', channel) from unnest(array['judge', 'purchases']) w (channel) where exists (select from stopped))
    select (select count(*) from stopped) as count, (select count(*) from woken) as woken`);
