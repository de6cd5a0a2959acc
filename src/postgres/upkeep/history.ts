/** A past that no daemon lived through, written as if one had: for the demo, on a database that holds nothing yet. */

import type { StateTransition } from '../../domain/deciding/outcome.ts';
import type { EventDraft } from '../../domain/events/make-event.ts';
import type { Incident } from '../../domain/incidents/incident.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import { eventRow, SITE_SHARD } from '../events/events.ts';
import type { SnapshotRow } from '../reports/snapshots.ts';
import { customerOf } from '../stays/customer.ts';

/** A purchase that has ended, with everything that was recorded of it. */
export interface EndedPurchase {
  readonly site: string;
  readonly purchaseId: string;
  readonly registeredAt: Instant;
  readonly endedAt: Instant;
  /** The final state, and when a poll first showed it. */
  readonly state: number;
  readonly stateSince: Instant;
  readonly polls: number;
  readonly sequence: number;
  /** JSON text of the stored fields. */
  readonly fields: string;
  readonly transitions: readonly StateTransition[];
  readonly events: readonly EventDraft[];
}

/** True for a database that was never used: without a purchase, an incident, a mark, a count or a moment of a past. */
export const isUnused = (sql: Queries) =>
  firstValue<boolean>(sql`
    select not exists (select from purchase_watch.purchases) and not exists (select from purchase_watch_internal.incidents)
      and not exists (select from purchase_watch_internal.marks) and not exists (select from purchase_watch_internal.transition_counts)
      and not exists (select from purchase_watch_internal.outcome_hours) and not exists (select from purchase_watch_internal.snapshots)`);

/**
 * Writes ended purchases, in the order of their registrations, with transitions, events and fields. Their ends are counted by the next folding,
 * as those from before an upgrade are. The trigger of registrations puts the rows into the queue; `retireEverything` takes them out.
 */
export async function writeEnded(sql: Queries, purchases: readonly EndedPurchase[], registeredBy: string): Promise<void> {
  const moves = purchases.flatMap(({ purchaseId, transitions }) => transitions.map((each) => ({ purchaseId, ...each })));
  const events = purchases
    .flatMap(({ purchaseId, site, events: drafts }) =>
      drafts.map((draft) => ({ purchaseId, ...eventRow({ draft, site, purchase: null, shard: 0 }) })),
    )
    .sort((a, b) => a.at - b.at);
  await sql`
    with written as (
      insert into purchase_watch.purchases (purchase_id, site, registered_by, registered_at, watched_since, last_polled_at, seen_at,
        state_since, ended_at, next_poll_at, polls, state, sequence, status)
      select purchase_id, site, ${registeredBy}, registered_at, registered_at, ended_at, ended_at, state_since, ended_at, ended_at, polls, state, sequence, 'settled'
      from ${columns(sql, purchases, 'r', 'purchase_id text, site text, registered_at timestamptz, ended_at timestamptz, state_since timestamptz, polls bigint, state integer, sequence integer', 'place')}
      order by place returning id, purchase_id, shard),
    detailed as (
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select w.id, r.fields::json from ${columns(sql, purchases, 'r', 'purchase_id text, fields text')} join written w using (purchase_id)),
    moved as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select w.id, r.sequence, lag(r.sequence) over (partition by w.id order by r.sequence), r.from_state, r.to_state, r.not_before, r.not_after
      from ${columns(sql, moves, 'r', {
        purchase_id: ['text', (move) => move.purchaseId],
        sequence: ['integer', (move) => move.sequence],
        from_state: ['integer', (move) => move.from],
        to_state: ['integer', (move) => move.to],
        not_before: ['timestamptz', (move) => move.notBefore],
        not_after: ['timestamptz', (move) => move.notAfter],
      })}
      join written w using (purchase_id))
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    select r.id, r.type, r.site, w.id, r.sequence, nullif(r.sequence - 1, 0), w.shard, r.state, r.at, r.body
    from ${columns(sql, events, 'r', 'purchase_id text, id text, type text, site text, sequence integer, state integer, at timestamptz, body text', 'place')}
    join written w using (purchase_id) order by r.place`;
}

/** Counts the changes of all purchases, as recording would have. */
export async function countTransitions(sql: Queries): Promise<void> {
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select p.site, date_bin('10 minutes', t.not_after, 'epoch'), t.from_state, t.to_state, count(*)
    from purchase_watch_internal.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase group by 1, 2, 3, 4`;
}

/** Counts the changes of all purchases by the minute, and their polls as if each purchase had been polled evenly until its end. */
export async function countActivity(sql: Queries): Promise<void> {
  await sql`
    insert into purchase_watch_internal.activity (site, minute, polls, changes)
    select site, minute, round(sum(polls)), sum(changes) from (
      select p.site, m.minute, 0 as changes,
        p.polls * (extract(epoch from least(p.ended_at, m.minute + interval '1 minute') - greatest(p.registered_at, m.minute))
          / extract(epoch from p.ended_at - p.registered_at)) as polls
      from purchase_watch.purchases p, generate_series(date_trunc('minute', p.registered_at, 'UTC'), p.ended_at, '1 minute') m (minute)
      union all
      select p.site, date_trunc('minute', t.not_after, 'UTC'), 1, 0
      from purchase_watch_internal.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase) counted group by site, minute`;
}

/** How the purchases of a site stood at a moment. */
export interface NotedMoment extends SnapshotRow {
  readonly at: Instant;
}

/** Writes all moments of a past in one statement. */
export async function writeMoments(sql: Queries, moments: readonly NotedMoment[]): Promise<void> {
  await sql`
    insert into purchase_watch_internal.snapshots (at, site, came, watching, stuck, states)
    select at, site, came, watching, stuck, states
    from ${columns(sql, moments, 'm', 'at timestamptz, site text, came bigint, watching bigint, stuck bigint, states text')}`;
}

/** Has the planner know of the new rows, which nothing else does within the first minute. */
export async function analyzeHistory(sql: Queries): Promise<void> {
  await sql`
    analyze purchase_watch.purchases, purchase_watch_internal.purchase_details, purchase_watch_internal.purchase_transitions,
      purchase_watch_internal.events, purchase_watch_internal.transition_counts, purchase_watch_internal.activity, purchase_watch_internal.snapshots`;
}

/** An incident of stuck purchases that has ended, and who looked after it. */
export interface EndedIncident extends Pick<Incident, 'id' | 'alarm' | 'since' | 'openedAt' | 'peak' | 'movedOn'> {
  readonly site: string;
  readonly state: number;
  readonly acknowledgedAt: Instant;
  /** When a customer was last stuck. */
  readonly quietSince: Instant;
  readonly endedAt: Instant;
  /** Who acknowledged the incident, and said later what it was. */
  readonly by: string;
  readonly cause: string;
  readonly note: string;
}

/** Writes an ended incident, with all who were found stuck in its state while it was there, and the messages to people about it, of which nothing is delivered. */
export async function writeEndedIncident(sql: Queries, incident: EndedIncident, messages: readonly EventDraft[]): Promise<void> {
  const { id, site, state, alarm, since, openedAt, acknowledgedAt, quietSince, endedAt, by, cause, note, peak, movedOn } =
    incident;
  await sql`
    with members as (
      insert into purchase_watch_internal.incident_members (incident, purchase, customer, site, state, came, stuck_at)
      select ${id}, p.id, ${customerOf(sql)}, p.site, e.state, t.not_after, e.created_at
      from purchase_watch_internal.events e join purchase_watch.purchases p on p.id = e.purchase
      join purchase_watch_internal.purchase_transitions t on t.purchase = p.id and t.to_state = e.state
      where e.type = 'purchase.stuck' and e.site = ${site} and e.state = ${state} and t.not_after >= ${since}::timestamptz and e.created_at <= ${quietSince}::timestamptz
      order by t.not_after returning purchase)
    insert into purchase_watch_internal.incidents (id, kind, site, state, severity, alarm, since, opened_at, announced_at, quiet_since, ended_at, alerted_at, alerted_count,
      alerted_severity, count, peak, moved_on, acknowledged_at, acknowledged_by, answered_at, answered_by, answer_cause, answer_note)
    select ${id}, 'stuck', ${site}, ${state}, 1, ${JSON.stringify(alarm)}, ${since}::timestamptz, ${openedAt}::timestamptz, ${openedAt}::timestamptz,
      ${quietSince}::timestamptz, ${endedAt}::timestamptz, ${openedAt}::timestamptz, 4, 1, 0, ${peak}, ${movedOn},
      ${acknowledgedAt}::timestamptz, ${by}, ${endedAt}::timestamptz, ${by}, ${cause}, ${note} where (select count(*) from members) > 0`;
  const events = messages.map((draft) => eventRow({ draft, site, purchase: null, shard: SITE_SHARD, incident: id }));
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, state, incident, created_at, body)
    select id, type, site, shard, state, incident, at, body
    from ${columns(sql, events, 'e', 'id text, type text, site text, shard smallint, state integer, incident text, at timestamptz, body text', 'place')} order by e.place`;
}
