/** Sites: which are configured, and whether they answer. */
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { SiteTrouble } from '../core/reach.ts';
import type { Queries } from './database.ts';

/** Makes the sites table say what the configuration says. */
export async function syncSites(sql: Queries, names: readonly string[]): Promise<void> {
  await sql`
    with configured as (
      insert into purchase_watch.sites (name) select unnest(${names as string[]}::text[])
      on conflict (name) do update set configured = true where not sites.configured)
    update purchase_watch.sites set configured = false where configured and name <> all(${names as string[]}::text[])`;
}

/** What a replica found out about a site. Times are of the database's clock. */
export interface SiteReport {
  readonly site: string;
  readonly replica: string;
  readonly at: Instant;
  /** Set when this replica reads no purchase of the site. */
  readonly failing: { readonly since: Instant; readonly reason: SiteTrouble; readonly error: string } | null;
  /** The last answer that showed this replica a purchase's status. */
  readonly lastReadAt: Instant | null;
  /** The last usable answer to this replica: a read, or a well-formed "unknown id". */
  readonly lastSuccessAt: Instant | null;
  /** When an answer first showed this replica a purchase. */
  readonly firstSeenAt: Instant | null;
}

/** A site that another replica read within this time is not failing, whatever the reporting replica finds. */
const READ_LATELY: Milliseconds = 2 * 60_000;

/**
 * Writes whether a replica can read a site, and what follows for the site over all replicas: one replica that reads makes
 * the site answer, and a site fails when a replica fails and no other has read a purchase since, or lately. One statement;
 * it writes nothing when the replica's row is gone, because the lease of the replica is gone, too.
 */
export async function reportSite(sql: Queries, report: SiteReport): Promise<void> {
  const { site, replica, failing, lastReadAt, lastSuccessAt, firstSeenAt } = report;
  const time = (instant: Instant | null) => sql`to_timestamp(${instant}::float8 / 1000)`;
  await sql`
    with mine as (
      insert into purchase_watch.site_reach as r (site, replica, last_read_at, failing_since, reason, error)
      select ${site}, id, ${time(lastReadAt)}, ${time(failing?.since ?? null)}, ${failing?.reason ?? null}, ${failing?.error ?? null}
      from purchase_watch.replicas where id = ${replica}
      on conflict (site, replica) do update set last_read_at = greatest(r.last_read_at, excluded.last_read_at),
        failing_since = excluded.failing_since, reason = excluded.reason, error = excluded.error
      returning site)
    update purchase_watch.sites s set ${
      failing === null
        ? sql`failing_since = null, failing_reason = null,
          first_success_at = coalesce(s.first_success_at, ${time(firstSeenAt)}), last_success_at = greatest(s.last_success_at, ${time(lastSuccessAt)})`
        : sql`failing_since = coalesce(s.failing_since, ${time(failing.since)}), failing_reason = ${failing.reason}, last_error = ${failing.error}`
    }
    from mine where s.name = mine.site and ${
      failing === null
        ? sql`true`
        : sql`not exists (
            select from purchase_watch.site_reach o where o.site = s.name and o.replica <> ${replica} and o.failing_since is null
              and o.last_read_at > greatest(${time(failing.since)}, ${time(report.at - READ_LATELY)}))`
    }`;
  await sql`select pg_notify('purchase_watch_wake', 'judge')`;
}

export interface SiteRow {
  readonly name: string;
  readonly configured: boolean;
  readonly failingSince: Instant | null;
  /** Why no purchase can be read; null while one can. */
  readonly failingReason: SiteTrouble | null;
  readonly lastSuccessAt: Instant | null;
  readonly lastError: string | null;
}

/** All sites with what is known of their health. */
export async function listSites(sql: Queries): Promise<SiteRow[]> {
  return sql<SiteRow[]>`
    select name, configured, (extract(epoch from failing_since) * 1000)::float8 as "failingSince",
      failing_reason as "failingReason", (extract(epoch from last_success_at) * 1000)::float8 as "lastSuccessAt", last_error as "lastError"
    from purchase_watch.sites order by name`;
}
