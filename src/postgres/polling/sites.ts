/** Sites: which sites are configured, and whether they answer. */

import type { SiteTrouble } from '../../domain/polling/reach.ts';
import { MOST_UNPOLLED, type UnpolledReason, unpolledText } from '../../domain/polling/unpolled.ts';
import { sentence } from '../../domain/values/sentence.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** Has the sites in the table that a replica's settings name. Takes none away: another replica may name others. */
export async function syncSites(sql: Queries, names: readonly string[]): Promise<void> {
  await sql`
    insert into purchase_watch_internal.sites as s (name) select unnest(${names}::text[])
    on conflict (name) do update set configured = true, unnamed_since = null where not s.configured or s.unnamed_since is not null`;
}

/**
 * A replica's verdict on a site by its last answers: the replica reads purchases; the service answers, if only that it does not
 * know an id; no purchase can be read; or a call failed, and whether the site is the cause is not known yet.
 */
export type SiteVerdict = 'reads' | 'answers' | 'fails' | 'unclear';

/** The findings of a replica about a site. Times are of the database's clock. */
export interface SiteReport {
  readonly site: string;
  readonly replica: string;
  readonly at: Instant;
  readonly verdict: SiteVerdict;
  /** Set when the site fails, that is, when this replica can read no purchase there. */
  readonly failing: { readonly since: Instant; readonly reason: SiteTrouble; readonly error: string } | null;
  /** The last answer that showed this replica a purchase's status. */
  readonly lastReadAt: Instant | null;
  /** The last moment at which enough purchases were read for the verdict that the site answers. */
  readonly lastReadWellAt: Instant | null;
  /** The last usable answer to this replica: a read, or a well-formed "unknown id". */
  readonly lastSuccessAt: Instant | null;
  /** When an answer first showed this replica a purchase. */
  readonly firstSeenAt: Instant | null;
}

/** The condition of a site over all replicas. */
export interface SiteCondition {
  /** Whether a replica ever read a purchase there. */
  readonly isKnown: boolean;
  readonly failing: { readonly since: Instant; readonly reason: SiteTrouble } | null;
}

/** A site that another replica read within this time is not failing, whatever the reporting replica finds. */
const READ_LATELY: Milliseconds = 2 * 60_000;

/**
 * Writes whether a replica can read a site, and the site's condition over all replicas: a site answers when one replica reads
 * it, and fails when a replica fails and no other replica has read a purchase since, or lately. Answers the site's condition
 * after that. One statement; writes nothing, and answers null, when the replica's row is gone, because then its lease is gone, too.
 */
export async function reportSite(sql: Queries, report: SiteReport): Promise<SiteCondition | null> {
  const { site, replica, at, verdict, failing, lastReadAt, lastReadWellAt, lastSuccessAt, firstSeenAt } = report;
  const time = (instant: Instant | null) => sql`${instant}::timestamptz`;
  const isRead = sql`exists (
    select from purchase_watch_internal.site_reach o where o.site = s.name and o.replica <> ${replica} and o.failing_since is null
      and o.last_read_at > greatest(${time(failing?.since ?? null)}, ${time(at - READ_LATELY)}))`;
  const consequence = {
    reads: sql`, failing_since = null`,
    // "Unknown id" does not end a failure of a site that knows no id at all, or whose other answers are malformed.
    answers: sql`, failing_since = case when s.failing_reason in ('malformed', 'unknown') then s.failing_since end`,
    fails: sql`, failing_since = case when ${isRead} then s.failing_since else coalesce(s.failing_since, ${time(failing?.since ?? null)}) end,
      failing_reason = case when ${isRead} then s.failing_reason else ${failing?.reason ?? null} end,
      last_error = case when ${isRead} then s.last_error else ${failing?.error ?? null} end`,
    unclear: sql``,
  }[verdict];
  const [row] = await sql<ConditionRow[]>`
    with mine as (
      insert into purchase_watch_internal.site_reach as r (site, replica, last_read_at, failing_since, reason, error)
      select ${site}, id, ${time(lastReadWellAt)}, ${time(failing?.since ?? null)}, ${failing?.reason ?? null}, ${failing?.error ?? null}
      from purchase_watch_internal.replicas where id = ${replica}
      on conflict (site, replica) do update set last_read_at = greatest(r.last_read_at, excluded.last_read_at),
        failing_since = excluded.failing_since, reason = excluded.reason, error = excluded.error
      returning site),
    reported as (
      update purchase_watch_internal.sites s set first_success_at = coalesce(s.first_success_at, ${time(firstSeenAt)}),
        last_read_at = greatest(s.last_read_at, ${time(lastReadAt)}),
        last_success_at = greatest(s.last_success_at, ${time(lastSuccessAt)})${consequence}
      from mine where s.name = mine.site
      returning ${sql.unsafe(CONDITION)})
    select reported.*, pg_notify('purchase_watch_wake', 'judge') from reported`;
  return row === undefined ? null : conditionOf(row);
}

type ConditionRow = { readonly isKnown: boolean; readonly since: Instant | null; readonly reason: SiteTrouble | null };
const CONDITION = `first_success_at is not null as is_known, failing_since as since, failing_reason as reason`;

function conditionOf({ isKnown, since, reason }: ConditionRow): SiteCondition {
  return { isKnown, failing: since === null || reason === null ? null : { since, reason } };
}

/**
 * Ends the failures of sites that have no purchase left to poll, because no answer would ever end them. Looks for one
 * purchase of each failing site, by an index; there are a few sites at most. Answers whether there was such a site.
 */
export async function endFailuresWithoutPurchases(sql: Queries): Promise<boolean> {
  const [row] = await sql<[{ count: number }]>`
    with ended as (
      update purchase_watch_internal.sites s set failing_since = null
      where s.failing_since is not null
        and not exists (select from purchase_watch.purchases p where p.site = s.name and p.due_slot is not null)
      returning s.name),
    reach as (
      update purchase_watch_internal.site_reach r set failing_since = null, reason = null, error = null
      from ended where r.site = ended.name and r.failing_since is not null)
    select count(*) from ended`;
  return row.count > 0;
}

/** The condition of a site over all replicas; null when there is no such site. */
export async function readSiteCondition(sql: Queries, site: string): Promise<SiteCondition | null> {
  const [row] = await sql<
    ConditionRow[]
  >`select ${sql.unsafe(CONDITION)} from purchase_watch_internal.sites where name = ${site}`;
  return row === undefined ? null : conditionOf(row);
}

export interface SiteRow {
  readonly name: string;
  /** Whether a living replica names the site. */
  readonly configured: boolean;
  /** The site of which this is a former name, as a living replica says; null for others. */
  readonly renamedTo: string | null;
  /** Purchases that should be polled and are not, because no living replica names the site; counted up to `MOST_UNPOLLED`. */
  readonly unpolled: number;
  /** The process of a session that has locked one of the oldest of them, so that it cannot be moved to the site's present name. */
  readonly lockedBy: number | null;
  readonly failingSince: Instant | null;
  /** Why the site last failed; like `error`, kept after the failure is over. */
  readonly failingReason: SiteTrouble | UnpolledReason | null;
  readonly lastSuccessAt: Instant | null;
  /** The last answer that showed a purchase's status. */
  readonly lastReadAt: Instant | null;
  readonly lastError: string | null;
}

/** Rows that are asked for a lock; once all others have moved, few rows are left. */
const MOST_ASKED = 100;
/** Purchases that move are no failure of the site, unless a lock lasts for the first, or all of it for the second. */
const LOCKED_FOR: Milliseconds = 60_000;
const MOVING_FOR: Milliseconds = 10 * 60_000;

/**
 * All sites with their health. A site fails as well while it has purchases to poll and no living replica names it, and, where
 * one names it as a former name, when its purchases have not been moved after some time. An incident stays open until all have.
 */
export async function listSites(sql: Queries): Promise<SiteRow[]> {
  const before = (length: Milliseconds) => sql`now() - ${length}::float8 * interval '1 millisecond'`;
  const rows = await sql<SiteRow[]>`
    select name, configured and unnamed_since is null as configured, renamed_to, n.count as unpolled, l.pid as locked_by,
      case when n.count = 0 then failing_since
        when renamed_to is null or unnamed_since < ${before(MOVING_FOR)}
          or l.pid is not null and greatest(unnamed_since, l.since) < ${before(LOCKED_FOR)}
          or exists (select from purchase_watch_internal.incidents i where i.site = s.name and i.kind = 'unreachable' and i.ended_at is null)
          then unnamed_since end as failing_since,
      case when n.count = 0 then failing_reason when renamed_to is null then 'not_configured' else 'not_moved' end as failing_reason,
      last_success_at, last_read_at, last_error
    from purchase_watch_internal.sites s cross join lateral (
      select count(*) from (
        select from purchase_watch.purchases p where s.unnamed_since is not null and p.site = s.name and p.due_slot is not null
        limit ${MOST_UNPOLLED}) p) n
    left join lateral (
      select k.pid, a.xact_start as since from (
        select p.xmax as holder from purchase_watch.purchases p
        where s.unnamed_since is not null and s.renamed_to is not null and p.site = s.name and p.due_slot is not null limit ${MOST_ASKED}) p
      join pg_locks k on k.locktype = 'transactionid' and k.transactionid = p.holder and k.granted
      left join pg_stat_activity a on a.pid = k.pid order by a.xact_start limit 1) l on true
    order by name`;
  return rows.map((row) => (row.unpolled === 0 ? row : { ...row, lastError: `${sentence(unpolledText(row))}.` }));
}

/** Names of all sites, also of those that no living replica names. */
export async function siteNames(sql: Queries): Promise<string[]> {
  return (await sql<{ name: string }[]>`select name from purchase_watch_internal.sites order by name`).map(({ name }) => name);
}

/** Sites that are there: a living replica names them, or they have purchases that are not polled for want of one. */
export function presentSites<Site extends Pick<SiteRow, 'configured' | 'unpolled'>>(sites: readonly Site[]): Site[] {
  return sites.filter(({ configured, unpolled }) => configured || unpolled > 0);
}
