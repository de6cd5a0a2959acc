/** The statements of the audit. Each reads one range of keys in one snapshot, and answers how many rows it checked and the gaps. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { wanting } from '../events/events.ts';

/** Keys after `after` up to and with `through`, sent as text, because they may be larger than a number holds. */
export interface Range {
  readonly after: string;
  readonly through: string;
  readonly site: string | null;
  readonly since: Instant | null;
}

export interface Report {
  readonly check: AuditCheck;
  readonly checked: number;
  readonly gaps: number;
  /** JSON of the first gaps. */
  readonly first: string;
}

/** Gaps that are listed, of each check. */
export const LISTED = 20;

/** The part of a statement that answers a check's result, from the part named `gap`, with columns site, purchase_id, sequence, detail. */
export const report = (sql: Queries, check: AuditCheck, { checked, gap }: { checked: string; gap: string }) => sql`
  select ${check} as check, (select count(*) from ${sql.unsafe(checked)})::float8 as checked,
    (select count(*) from ${sql.unsafe(gap)})::float8 as gaps,
    (select coalesce(json_agg(g), '[]') from (
      select site, purchase_id as "purchaseId", sequence, detail from ${sql.unsafe(gap)} order by site, purchase_id, sequence limit ${LISTED}) g)::text as first`;

/** The condition that a subscriber `s` must have a delivery of an event `e`. Leaves out the minute after a change of filters, in which events may have met the earlier filters. */
const expected = (sql: Queries) => sql`
  s.configured and e.created_at >= s.matching_since + interval '1 minute' and ${wanting(sql)}`;

export const within = (sql: Queries, column: string, { after, through }: Range) =>
  sql`${sql.unsafe(column)} > ${after}::bigint and ${sql.unsafe(column)} <= ${through}::bigint`;

export const ofSite = (sql: Queries, column: string, site: string | null) =>
  site === null ? sql`true` : sql`${sql.unsafe(column)} = ${site}`;

const sinceThen = (sql: Queries, column: string, since: Instant | null) =>
  since === null ? sql`true` : sql`${sql.unsafe(column)} >= ${since}::timestamptz`;

/** Checks purchases with their transitions, events and deliveries. */
export const checkPurchases = (sql: Queries, range: Range) => sql<Report[]>`
    with ${readPurchases(sql, range)}, ${unannounced(sql)}, ${misnumbered(sql)}, ${broken(sql)}, ${undelivered(sql)}, ${lost(sql, range)}
    ${report(sql, 'transitions', { checked: 't', gap: 'unannounced' })}
    union all ${report(sql, 'announcements', { checked: 'announced', gap: 'unseen' })}
    union all ${report(sql, 'sequences', { checked: 'numbered', gap: 'misnumbered' })}
    union all ${report(sql, 'chains', { checked: 'p', gap: 'broken' })}
    union all ${report(sql, 'deliveries', { checked: 'wanted', gap: 'undelivered' })}
    union all ${report(sql, 'orphans', { checked: '(select) nothing where false', gap: 'lost' })}`;

/** The purchases `p` of a range with their transitions `t` and events `e`. The range limits every table, so that none is read beyond the range. */
function readPurchases(sql: Queries, range: Range) {
  const { site, since } = range;
  const recent = sql`(${sinceThen(sql, 'p.registered_at', since)}
        or exists (select from purchase_watch_internal.purchase_transitions x where x.purchase = p.id and ${sinceThen(sql, 'x.not_after', since)})
        or exists (select from purchase_watch_internal.events x where x.purchase = p.id and ${sinceThen(sql, 'x.created_at', since)}))`;
  return sql`
    p as materialized (
      select p.id, p.purchase_id, p.site, p.sequence, p.state from purchase_watch.purchases p
      where ${within(sql, 'p.id', range)} and ${ofSite(sql, 'p.site', site)} and ${recent}),
    t as materialized (
      select t.*, p.purchase_id, p.site, p.state,
        lag(t.to_state) over each as to_before, t.sequence = max(t.sequence) over (partition by t.purchase) as is_last
      from p join purchase_watch_internal.purchase_transitions t on t.purchase = p.id
      where ${within(sql, 't.purchase', range)} window each as (partition by t.purchase order by t.sequence)),
    e as materialized (
      select e.position, e.purchase, e.sequence, e.type, e.site, e.state, e.about, e.recipients, e.created_at, p.purchase_id,
        -- eventBody wrote the bytes in a fixed order, so the first field of each name is the event's own.
        starts_with(e.body, format('{"id":"%s","type":"%s",', e.id, e.type)) and strpos(e.body, format('"sequence":%s,', e.sequence)) > 0
          and (t.purchase is null
            or (starts_with(split_part(e.body, '"from":', 2), case when t.from_state is null then 'null,' else format('{"value":%s,', t.from_state) end)
              and starts_with(split_part(e.body, '"to":', 2), format('{"value":%s,', t.to_state)))) as says_so,
        t.purchase is not null as moves
      from p join purchase_watch_internal.events e on e.purchase = p.id
      left join t on t.purchase = e.purchase and t.sequence = e.sequence
      where ${within(sql, 'e.purchase', range)})`;
}

/** Transitions without the event that announces each (`unannounced`), and events of changes (`announced`) without the transition (`unseen`). */
const unannounced = (sql: Queries) => sql`
  announced as materialized (select * from e where type = 'purchase.state_changed'),
  unannounced as (
    select t.site, t.purchase_id, t.sequence,
      coalesce(purchase_watch_internal.state_name(t.from_state), 'nothing') || ' → ' || purchase_watch_internal.state_name(t.to_state) || case
        when e.position is null then ' has no event'
        when e.type <> 'purchase.state_changed' then ' has an event of another type, ' || e.type
        else ' has an event that says something else' end as detail
    from t left join e on e.purchase = t.purchase and e.sequence = t.sequence
    where e.position is null or e.type <> 'purchase.state_changed' or e.says_so is not true),
  unseen as (
    select site, purchase_id, sequence, 'a change was announced that is not among the transitions' as detail
    from announced where not moves)`;

/** Purchases with the numbers of their events (`numbered`), and those whose numbers have gaps. */
const misnumbered = (sql: Queries) => sql`
  numbered as materialized (
    select p.site, p.purchase_id, p.sequence, count(e.position) as events, count(distinct e.sequence) as numbers,
      min(e.sequence) as lowest, max(e.sequence) as highest
    from p left join e on e.purchase = p.id group by p.id, p.site, p.purchase_id, p.sequence),
  misnumbered as (
    select site, purchase_id, null::integer as sequence,
      case when events = 0 then format('counts %s events and has none', sequence)
        else format('counts %s events and has %s, numbered from %s to %s', sequence, events, lowest, highest) end as detail
    from numbered where events <> sequence or numbers <> sequence or (events > 0 and (lowest <> 1 or highest <> sequence)))`;

/** Transitions that do not begin where the one before ended, or do not end in the state of the purchase; purchases that lack transitions. */
const broken = (sql: Queries) => sql`
  broken as (
    select site, purchase_id, sequence,
      case when from_state is distinct from to_before
        then format('begins in %s, and the one before ended in %s', coalesce(purchase_watch_internal.state_name(from_state), 'nothing'), coalesce(purchase_watch_internal.state_name(to_before), 'nothing'))
        else format('is the last and ends in %s, and the purchase is in %s', purchase_watch_internal.state_name(to_state), coalesce(purchase_watch_internal.state_name(state), 'no state')) end as detail
    from t where from_state is distinct from to_before or (is_last and to_state is distinct from state)
    union all
    select site, purchase_id, null, format('is in %s and has no transitions', purchase_watch_internal.state_name(state))
    from p where state is not null and not exists (select from t where t.purchase = p.id))`;

/** Transitions and events whose purchase is not there. */
const lost = (sql: Queries, range: Range) => sql`
  lost as (
    select null::text as site, null::text as purchase_id, t.sequence, format('a transition of the purchase in row %s, which is not there', t.purchase) as detail
    from purchase_watch_internal.purchase_transitions t
    where ${within(sql, 't.purchase', range)} and ${range.site === null}
      and not exists (select from purchase_watch.purchases q where q.id = t.purchase and ${within(sql, 'q.id', range)})
    union all
    select e.site, null, e.sequence, format('event %s of the purchase in row %s, which is not there', e.id, e.purchase)
    from purchase_watch_internal.events e
    where ${within(sql, 'e.purchase', range)} and ${ofSite(sql, 'e.site', range.site)}
      and not exists (select from purchase_watch.purchases q where q.id = e.purchase and ${within(sql, 'q.id', range)}))`;

/** How many deliveries of the events in `e` there are (`made`), which subscriber should get which event (`wanted`), and where the two differ. */
const undelivered = (sql: Queries) => sql`
  made as materialized (
    select e.position, d.subscriber, d.count from e
    cross join lateral (
      select d.subscriber, count(*) as count from purchase_watch_internal.deliveries d where d.event = e.position group by d.subscriber) d),
  wanted as materialized (
    select e.position, e.site, e.purchase_id, e.sequence, e.type, s.id, s.name
    from e join purchase_watch_internal.subscribers s on ${expected(sql)}),
  undelivered as (
    select w.site, w.purchase_id, w.sequence, format('%s has no delivery for %s', w.type, w.name) as detail
    from wanted w where not exists (select from made where made.position = w.position and made.subscriber = w.id)
    union all
    select e.site, e.purchase_id, e.sequence, format('%s has %s deliveries for %s', e.type, made.count, s.name)
    from made join e on e.position = made.position join purchase_watch_internal.subscribers s on s.id = made.subscriber where made.count > 1)`;

/** Checks events of no single purchase, by position. */
export const checkSiteEvents = (sql: Queries, range: Range) => sql<Report[]>`
    with e as materialized (
      select e.position, null::text as purchase_id, null::integer as sequence, e.type, e.site, e.state, e.about, e.recipients, e.created_at
      from purchase_watch_internal.events e
      where e.purchase is null and ${within(sql, 'e.position', range)} and ${ofSite(sql, 'e.site', range.site)}
        and ${sinceThen(sql, 'e.created_at', range.since)}),
    ${undelivered(sql)}
    ${report(sql, 'site_events', { checked: 'e', gap: 'undelivered' })}`;

/** Checks deliveries, by their event's position. */
export const checkDeliveries = (sql: Queries, range: Range) => sql<Report[]>`
    with d as materialized (
      select d.id, d.event, e.position is null as is_lost
      from purchase_watch_internal.deliveries d left join purchase_watch_internal.events e
        on e.position = d.event and ${within(sql, 'e.position', range)}
      where ${within(sql, 'd.event', range)}),
    lost as (
      select null::text as site, null::text as purchase_id, null::integer as sequence,
        format('delivery %s of an event (position %s) that is not there', id, event) as detail
      from d where is_lost)
    ${report(sql, 'orphans', { checked: 'd', gap: 'lost' })}`;

/** Checks counters against the rows that they count, in one snapshot. */
export const checkCounters = (sql: Queries, site: string | null) => sql<Report[]>`
    with compared as materialized (
      select site, status, state, stuck, sum(counter) as counter, sum(rows) as rows
      from (select site, status, state, stuck, count as counter, 0 as rows from purchase_watch.purchase_totals where ${ofSite(sql, 'site', site)}
            union all
            select site, status, state, stuck_since is not null, 0, count(*) from purchase_watch.purchases where ${ofSite(sql, 'site', site)} group by 1, 2, 3, 4) c
      group by site, status, state, stuck),
    wrong as (
      select site, null::text as purchase_id, null::integer as sequence,
        format('%s, %s%s: the counter says %s and there are %s', status, coalesce(purchase_watch_internal.state_name(state), 'no state'),
          case when stuck then ', stuck' else '' end, counter, rows) as detail
      from compared where counter <> rows)
    ${report(sql, 'counters', { checked: 'compared', gap: 'wrong' })}`;

/** The checks, in the order they are reported. */
export const AUDIT_CHECKS = [
  'transitions',
  'announcements',
  'sequences',
  'chains',
  'deliveries',
  'site_events',
  'orphans',
  'counters',
  'outcomes',
  'outcome_hours',
  'outcome_sums',
] as const;

export type AuditCheck = (typeof AUDIT_CHECKS)[number];
