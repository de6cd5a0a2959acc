/** How each replica calls each site now: breaker, ceiling and token, as the replica wrote them last. For people; no work depends on it. */
import type { SiteCallsNow, TokenTimes } from '../../domain/polling/site-calls.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { firstValues } from '../connection/rows.ts';

/** Writes rows of one replica, and answers the sites that were written: none for a replica whose own row is missing. */
export async function writeSiteCalls(sql: Queries, replica: string, rows: readonly SiteCallsNow[]): Promise<string[]> {
  const flat = rows.map(({ token, ...row }) => ({ ...row, ...token!, hasToken: token !== null }));
  return firstValues<string>(sql`
    insert into purchase_watch_internal.site_calls as c (site, replica, breaker, breaker_cause, breaker_since, next_probe_at,
      calls_per_second, ceiling, has_token, token_fetched_at, token_expires_at, token_refused_at, token_refusal)
    select w.site, r.id, w.breaker, w.cause, w.since, w.next_probe_at, w.calls_per_second, w.ceiling, w.has_token, w.fetched_at, w.expires_at, w.refused_at, w.refusal
    from ${columns(sql, flat, 'w', 'site text, breaker text, cause text, since timestamptz, next_probe_at timestamptz, calls_per_second float8, ceiling float8, has_token boolean, fetched_at timestamptz, expires_at timestamptz, refused_at timestamptz, refusal text')}
    join purchase_watch_internal.sites s on s.name = w.site
    join purchase_watch_internal.replicas r on r.id = ${replica}
    order by w.site
    on conflict (site, replica) do update set written_at = now(), breaker = excluded.breaker, breaker_cause = excluded.breaker_cause,
      breaker_since = excluded.breaker_since, next_probe_at = excluded.next_probe_at, calls_per_second = excluded.calls_per_second,
      ceiling = excluded.ceiling, has_token = excluded.has_token, token_fetched_at = excluded.token_fetched_at,
      token_expires_at = excluded.token_expires_at, token_refused_at = excluded.token_refused_at, token_refusal = excluded.token_refusal
    returning site`);
}

/** A row with the replica that wrote it, and when. */
export interface SiteCallsRow extends SiteCallsNow {
  readonly replica: string;
  readonly writtenAt: Instant;
}

type Row = Omit<SiteCallsRow, 'token'> & TokenTimes & { readonly hasToken: boolean };

/** Rows of replicas whose lease has not run out, of one site or (null) of all: a few for each site. */
export async function readSiteCalls(sql: Queries, site: string | null): Promise<SiteCallsRow[]> {
  const rows = await sql<Row[]>`
    select c.site, c.replica, c.written_at, breaker, breaker_cause as cause, breaker_since as since,
      next_probe_at, calls_per_second, ceiling, has_token,
      token_fetched_at as fetched_at, token_expires_at as expires_at, token_refused_at as refused_at, token_refusal as refusal
    from purchase_watch_internal.site_calls c
    join purchase_watch_internal.replicas r on r.id = c.replica and r.expires_at > clock_timestamp()
    where ${site === null ? sql`true` : sql`c.site = ${site}`} order by c.site, r.started_at, r.id`;
  return rows.map(({ hasToken, fetchedAt, expiresAt, refusedAt, refusal, ...row }) => ({
    ...row,
    token: hasToken ? { fetchedAt, expiresAt, refusedAt, refusal } : null,
  }));
}
