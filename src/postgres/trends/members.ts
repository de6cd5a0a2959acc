/** The customers who were stuck in incidents: kept when a poll finds them stuck, and put to the incident when the judge writes it. */

import type { Incident } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import { FINAL_STATES, PAID_STATES } from '../../domain/purchases/outcome.ts';
import type { Member } from '../../domain/trends/aftermath.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { paidByAnotherAt } from '../stays/evidence.ts';

/**
 * The part of the judge's statement that puts stays to the incident of their place: those of customers who came since the trouble
 * began. `held` as in `saveVerdicts`. Each incident is written when it ends, so none who was found stuck until then is left out.
 */
export function joiningMembers(sql: Queries, incidents: readonly Incident[]): Fragment {
  const places = incidents
    .filter(isLeaf)
    .map(({ id, site, state, alarm, since }) => ({ id, site, state, since: alarm?.since ?? since }));
  return sql`
    joined as (
      update purchase_watch_internal.incident_members m set incident = i.id
      from ${columns(sql, places, 'i', 'id text, site text, state integer, since timestamptz')}
      where m.incident is null and m.site = i.site and m.state = i.state and m.stuck_at >= i.since and m.came >= i.since
        and exists (select from held))`;
}

/** SQL: the ids of an incident and of all that are part of it, or of a part. */
export const incidentTree = (sql: Queries, id: string): Fragment => sql`
    with recursive below as (
      select id from purchase_watch_internal.incidents where id = ${id}
      union all
      select c.id from below b join purchase_watch_internal.incidents c on c.parent = b.id)
    select id from below`;

/** Members of an incident that are read at most. */
const MOST_MEMBERS = 5_000;

/**
 * The purchases that were stuck in an incident and in its parts, first come first, each as it is now. Reads a few rows for each.
 * `isComplete`: there were no more.
 */
export async function membersOf(sql: Queries, incident: string): Promise<{ members: Member[]; isComplete: boolean }> {
  const rows = await sql<Member[]>`
    with member as materialized (
      select m.* from purchase_watch_internal.incident_members m
      where m.incident = any(array(${incidentTree(sql, incident)})) order by m.came, m.id limit ${MOST_MEMBERS + 1})
    select m.customer::text as customer, m.site, m.state, m.came, m.stuck_at, l.left_at, p.purchase_id, p.reference,
      purchase_watch_internal.stored_text(d.fields, 'OrderReference') as order_reference,
      case when p.id is null then m.amount else purchase_watch_internal.stored_number(d.fields, 'Price') end::text as price,
      case when p.id is null then m.currency else nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), '') end as currency,
      case when p.state = any(${FINAL_STATES}::integer[]) then p.state end as end_state,
      case
        when p.id is null then m.outcome
        when p.state = any(${PAID_STATES}::integer[]) then 'paid'
        when a.at is not null then 'paid_by_another'
        when p.state = any(${FINAL_STATES}::integer[]) then 'not_paid'
        else 'open' end as outcome,
      case
        when p.id is null then m.ended_at
        when p.state = any(${PAID_STATES}::integer[]) then p.state_since
        when a.at is not null then a.at
        when p.state = any(${FINAL_STATES}::integer[]) then p.state_since end as ended_at,
      coalesce(p.status in ('watching', 'unreadable'), false) as is_watched
    from member m
    -- One row after the other by its key, whatever the planner thinks of their number.
    left join lateral (select * from purchase_watch.purchases where id = m.purchase limit 1) p on true
    left join lateral (select fields from purchase_watch_internal.purchase_details where purchase = p.id limit 1) d on true
    left join lateral (
      select case when p.state = any(${PAID_STATES}::integer[]) then null else ${paidByAnotherAt(sql)} end as at offset 0) a on true
    left join lateral (
      select min(not_after) as left_at from purchase_watch_internal.purchase_transitions
      where purchase = p.id and from_state = m.state and not_after > m.stuck_at) l on true
    order by m.came, m.id`;
  return { members: rows.slice(0, MOST_MEMBERS), isComplete: rows.length <= MOST_MEMBERS };
}
