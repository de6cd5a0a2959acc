/** Sites: which are configured, and whether they answer. */
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';

/** Makes the sites table say what the configuration says. */
export async function syncSites(sql: Queries, names: readonly string[]): Promise<void> {
  await sql`
    with configured as (
      insert into purchase_watch.sites (name) select unnest(${names as string[]}::text[])
      on conflict (name) do update set configured = true where not sites.configured)
    update purchase_watch.sites set configured = false where configured and name <> all(${names as string[]}::text[])`;
}

export interface SiteReport {
  readonly site: string;
  /** Set when no usable answer comes any more, with the reason in a sentence. */
  readonly failing: { readonly since: Instant; readonly error: string } | null;
  readonly lastSuccessAt: Instant | null;
  /** When an answer first showed a purchase, as far as this replica knows. */
  readonly firstSeenAt: Instant | null;
}

/** Notes whether a site answers this replica. An answer to any replica clears what another reported. */
export async function reportSite(sql: Queries, { site, failing, lastSuccessAt, firstSeenAt }: SiteReport): Promise<void> {
  if (failing) {
    await sql`
      update purchase_watch.sites set failing_since = coalesce(failing_since, to_timestamp(${failing.since}::float8 / 1000)),
        last_error = ${failing.error}
      where name = ${site}`;
  } else {
    await sql`
      update purchase_watch.sites set failing_since = null,
        first_success_at = coalesce(first_success_at, to_timestamp(${firstSeenAt}::float8 / 1000)),
        last_success_at = greatest(last_success_at, to_timestamp(${lastSuccessAt}::float8 / 1000))
      where name = ${site}`;
  }
  await sql`select pg_notify('purchase_watch_wake', 'judge')`;
}

export interface SiteRow {
  readonly name: string;
  readonly configured: boolean;
  readonly failingSince: Instant | null;
  readonly lastSuccessAt: Instant | null;
  readonly lastError: string | null;
}

/** All sites with what is known of their health. */
export async function listSites(sql: Queries): Promise<SiteRow[]> {
  return sql<SiteRow[]>`
    select name, configured, (extract(epoch from failing_since) * 1000)::float8 as "failingSince",
      (extract(epoch from last_success_at) * 1000)::float8 as "lastSuccessAt", last_error as "lastError"
    from purchase_watch.sites order by name`;
}
