/** How many customers came to the states of an ended incident and paid, beside the days before: counted by upkeep, and kept. */

import { PAID_STATES } from '../../domain/purchases/outcome.ts';
import type { Came, SiteCounts } from '../../domain/trends/aftermath.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { DAY, MINUTE } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow, firstValue } from '../connection/rows.ts';
import { customerOf } from '../stays/customer.ts';
import { paidByAnother } from '../stays/evidence.ts';
import { registeredFor } from '../stays/registered.ts';
import { incidentTree } from './members.ts';

/** An incident is counted again until so long after its end. */
const COUNTED_FOR: Milliseconds = 7 * DAY;
/** Not before so long after the last time; later, a quarter of the time since the end. */
const COUNTED_EVERY: Milliseconds = 5 * MINUTE;

/** The ended incident of stuck purchases that is to be counted next; null: none is. */
export const nextToCount = (sql: Queries, now: Instant) =>
  firstValue<string | null>(sql`
    select i.id from purchase_watch_internal.incidents i left join purchase_watch_internal.aftermaths a on a.incident = i.id
    where i.ended_at > ${now - COUNTED_FOR}::timestamptz and i.kind = 'stuck' and (a.incident is null or a.counted_at < i.ended_at
      or ${now}::timestamptz - a.counted_at > greatest(${COUNTED_EVERY} * interval '1 ms', (a.counted_at - i.ended_at) / 4))
    order by a.counted_at nulls first limit 1`);

/** The sites of an incident, each with the states and the time in which its members came. */
export const placesToCount = (sql: Queries, incident: string) => sql<Pick<SiteCounts, 'site' | 'states' | 'from' | 'until'>[]>`
    select m.site, array_agg(distinct m.state) as states, min(m.came) as "from", max(m.came) as until
    from purchase_watch_internal.incident_members m
    where m.incident = any(array(${incidentTree(sql, incident)})) group by 1 order by 1`;

/** When other incidents of stuck purchases were in some states of a site: such days are not usual. */
export const otherTimes = (
  sql: Queries,
  { incident, site, states, since }: { incident: string; site: string; states: readonly number[]; since: Instant },
) => sql<{ from: Instant; until: Instant }[]>`
    select since as "from", coalesce(ended_at, 'infinity') as until from purchase_watch_internal.incidents
    where site = ${site} and kind = 'stuck' and state = any(${states}::integer[]) and coalesce(ended_at, 'infinity') > ${since}::timestamptz
      and id not in (${incidentTree(sql, incident)})`;

/**
 * The customers who came to some states of a site in a time, by currency, each order once. Of all who were registered for that time
 * at most `most` are looked at, the latest. `isComplete`: there were no more.
 */
export async function cameBetween(
  sql: Queries,
  { site, states, from, until, most }: { site: string; states: readonly number[]; from: Instant; until: Instant; most: number },
): Promise<{ came: Came[]; isComplete: boolean }> {
  const { candidates } = await registeredFor(sql, { site, from, until, most });
  const rows = await sql<(Came & { looked: number })[]>`
    with candidates as materialized (${candidates}),
    every as (
      select ${customerOf(sql)} as customer, p.id, p.status in ('watching', 'unreadable') as open,
        coalesce(p.state = any(${PAID_STATES}::integer[]), false) or ${paidByAnother(sql)} as paid,
        purchase_watch_internal.stored_number(d.fields, 'Price')::float8 as price,
        nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), '') as currency
      from candidates c
      cross join lateral (select * from purchase_watch.purchases where id = c.id limit 1) p
      left join purchase_watch_internal.purchase_details d on d.purchase = p.id
      where exists (
        select from purchase_watch_internal.purchase_transitions t
        where t.purchase = c.id and t.to_state = any(${states}::integer[]) and t.not_after between ${from}::timestamptz and ${until}::timestamptz)),
    once as (
      select customer, bool_or(paid) as paid, bool_or(open) as open, (array_agg(price order by id desc))[1] as price,
        (array_agg(currency order by id desc))[1] as currency
      from every group by 1)
    select currency, count(*) as customers, count(*) filter (where paid) as paid, count(*) filter (where open and not paid) as open,
      count(price) filter (where not paid) as priced, coalesce(sum(price) filter (where not paid), 0) as sum,
      coalesce(sum(price * price) filter (where not paid), 0) as squares, (select count(*) from candidates) as looked
    from once group by 1 order by 2 desc, 1`;
  return { came: rows.map(({ looked, ...row }) => row), isComplete: (rows[0]?.looked ?? 0) <= most };
}

/** Keeps the counts of an incident. */
export async function saveCounts(
  sql: Queries,
  { incident, at, counts }: { incident: string; at: Instant; counts: readonly SiteCounts[] },
): Promise<void> {
  await sql`
    insert into purchase_watch_internal.aftermaths (incident, counted_at, counts)
    values (${incident}, ${at}::timestamptz, ${JSON.stringify(counts)})
    on conflict (incident) do update set counted_at = excluded.counted_at, counts = excluded.counts`;
}

/** The counts of an incident; null while it was not counted. */
export async function readCounts(
  sql: Queries,
  incident: string,
): Promise<{ readonly countedAt: Instant; readonly counts: readonly SiteCounts[] } | null> {
  const row = await firstRow(sql<{ countedAt: Instant; counts: string }[]>`
    select counted_at, counts from purchase_watch_internal.aftermaths where incident = ${incident}`);
  return row === null ? null : { countedAt: row.countedAt, counts: JSON.parse(row.counts) as SiteCounts[] };
}
