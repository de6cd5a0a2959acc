/** The facts that explain a purchase, read by one statement, so that rows that commit together are seen together. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { Facts } from '../../domain/explain/facts.ts';
import { MOST_OTHERS } from '../../domain/explain/poll.ts';
import { NOTHING_PAID } from '../../domain/incidents/paid-twice.ts';
import { MOST_AT_FIRST_LOOK } from '../../domain/incidents/stuck-checkouts.ts';
import { SHARDS } from '../../domain/replicas/ownership.ts';
import { NOTHING_KNOWN } from '../../domain/stays/usual.ts';
import type { Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';
import { lockHolders } from '../connection/lock-holder.ts';
import { firstValue, firstValues } from '../connection/rows.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';
import { rowOf } from '../polling/locked-rows.ts';
import { silence } from '../shards/living-replicas.ts';
import { readUsual, USUAL_WINDOW } from '../stays/dwell.ts';
import { isOfFirstLoad } from '../stays/first-load.ts';
import { paymentsJson } from '../stays/order-payments.ts';
import { ceilingOf } from './first-polls.ts';

/** The latest rows of each table are read, up to these numbers; the others are counted. */
const MOST_EVENTS = 200;
const MOST_DELIVERIES = 1_000;
const MOST_ATTEMPTS = 500;
const MOST_SUBSCRIBERS = 50;
/** First polls of the purchase's own shard that are counted. */
const MOST_AHEAD = 5_000;

/** The facts about a purchase, for all subscribers or the one named; null when the row is gone. */
export async function explainFacts(
  sql: Queries,
  { id, subscriber }: { id: number; subscriber: string | null },
): Promise<Facts | null> {
  const ms = (column: string) => sql.unsafe(jsonInstant(column));
  const [row] = await sql<{ facts: string | null }[]>`
    with p as materialized (select * from purchase_watch.purchases where id = ${id}),
    t as materialized (
      select * from purchase_watch_internal.purchase_transitions where purchase = ${id} order by sequence desc limit ${MOST_EVENTS}),
    e as materialized (
      select position, id, type, sequence, state, created_at from purchase_watch_internal.events
      where purchase = ${id} order by sequence desc limit ${MOST_EVENTS}),
    wanted as materialized (
      select s.* from purchase_watch_internal.subscribers s
      where (${subscriber}::text is null or s.name = ${subscriber})
        and (s.configured or (s.deleted_at is null and ${subscriber}::text is not null)
          or exists (select from e join purchase_watch_internal.deliveries d on d.event = e.position and d.subscriber = s.id))),
    s as materialized (select * from wanted order by configured desc, id limit ${MOST_SUBSCRIBERS}),
    received as materialized (
      select d.* from e join purchase_watch_internal.deliveries d on d.event = e.position join s on s.id = d.subscriber),
    d as materialized (select * from received order by event desc, subscriber limit ${MOST_DELIVERIES}),
    -- The delivery's own row holds the attempt that delivered.
    tried as materialized (
      select a.delivery, a.number, a.at, a.took_ms, a.http_status, a.outcome, a.fault from d join purchase_watch_internal.attempts a on a.delivery = d.id
      union all
      select id, attempts, settled_at, took_ms, http_status, 'delivered', null from d where status = 'delivered' and took_ms is not null),
    a as materialized (select * from tried order by at desc, number desc limit ${MOST_ATTEMPTS}),
    lane as materialized (
      select s.id as subscriber, f.event from s cross join lateral (
        select q.event from purchase_watch_internal.deliveries q
        where q.subscriber = s.id and q.lane = ${id} and q.status = 'pending' order by q.rank = 2, q.event limit 1) f),
    flying as materialized (select f.delivery, f.since from purchase_watch_internal.deliveries_in_flight() f join d on d.id = f.delivery)
    select json_build_object(
      'now', ${ms('clock_timestamp()')},
      'skipped', (select coalesce(json_agg(json_build_object('from', ${ms('lower(k)')}, 'until', ${ms('upper(k)')}) order by k), '[]')
        from purchase_watch_internal.database_clock c, unnest(c.skipped) k),
      'purchase', json_build_object(
        'id', p.id, 'purchaseId', p.purchase_id, 'site', p.site, 'reference', p.reference, 'status', p.status, 'state', p.state,
        'stateSince', ${ms('p.state_since')}, 'stuckSince', ${ms('p.stuck_since')}, 'excused', p.excused_ms,
        'registeredAt', ${ms('p.registered_at')}, 'registeredBy', p.registered_by, 'watchedSince', ${ms('p.watched_since')},
        'endedAt', ${ms('p.ended_at')}, 'lastPolledAt', ${ms('p.last_polled_at')}, 'seenAt', ${ms('p.seen_at')},
        'nextPollAt', ${ms('p.next_poll_at')}, 'nextPollReason', p.next_poll_reason, 'polls', p.polls, 'failures', p.failures, 'unknowns', p.unknowns,
        'lastError', p.last_error, 'invoice', p.invoice, 'sequence', p.sequence, 'shard', p.shard,
        'lockedBy', (select pid from ${lockHolders(sql, rowOf(sql, id))} limit 1)),
      'site', (select json_build_object('configured', configured and unnamed_since is null, 'renamedTo', renamed_to, 'failingSince', ${ms('failing_since')},
          'lastSuccessAt', ${ms('last_success_at')}, 'lastError', last_error)
        from purchase_watch_internal.sites where name = p.site),
      'owner', (select json_build_object('replica', h.owner, 'leaseUntil', ${ms('r.expires_at')},
          'daemons', (select count(*) from purchase_watch_internal.replicas where expires_at > clock_timestamp()),
          'sharing', (select json_agg(json_build_object('id', l.id, 'startedAt', ${ms('l.started_at')}, 'named', l.named))
            from purchase_watch_internal.replicas l where not l.leaving and l.expires_at > clock_timestamp()),
          'silence', (select to_json(s) from ${silence(sql)} s),
          -- now() and not clock_timestamp(): the index serves only a value that is constant within the statement.
          'othersDue', (select count(*) from (
            select from purchase_watch.purchases o where o.site = p.site and o.shard = p.shard and o.id <> p.id
              and o.due_slot <= purchase_watch_internal.due_slot(now()) and o.next_poll_at <= now()
            limit ${MOST_OTHERS}) other))
        from purchase_watch_internal.shards h left join purchase_watch_internal.replicas r on r.id = h.owner and r.expires_at > clock_timestamp()
        where h.id = p.shard),
      'firstPoll', (select case when p.due_slot >= ${FIRST_BULK_SLOT} then json_build_object('ceiling', ceiling,
          -- As many in every shard as in its own.
          'ahead', ${SHARDS} * (select count(*) from (
            select from purchase_watch.purchases o where o.site = p.site and o.shard = p.shard
              and o.due_slot >= ${FIRST_BULK_SLOT} and (o.due_slot, o.id) < (p.due_slot, p.id)
            limit ${MOST_AHEAD}) before)) end from (${ceilingOf(sql, 'p.site')}) c),
      'transitions', (select coalesce(json_agg(json_build_object('sequence', sequence, 'from', from_state, 'to', to_state,
          'notBefore', ${ms('not_before')}, 'notAfter', ${ms('not_after')}) order by sequence), '[]') from t),
      'events', (select coalesce(json_agg(json_build_object('position', position, 'id', id, 'type', type, 'sequence', sequence,
          'state', state, 'at', ${ms('created_at')}) order by sequence), '[]') from e),
      'subscribers', (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'kind', kind, 'audience', audience, 'types', types, 'sites', sites,
          'states', states, 'configured', configured, 'status', status, 'statusReason', status_reason,
          'health', (select json_build_object('failures', h.failures, 'failingSince', ${ms('h.failing_since')},
            'pausedUntil', ${ms('h.paused_until')}, 'lastError', h.last_error)
            from purchase_watch_internal.subscriber_health h where h.subscriber = s.id and (h.failures > 0 or h.paused_until is not null)),
          'unreached', (select json_build_object('failures', h.our_failures, 'since', ${ms('h.our_failing_since')}, 'error', h.our_error)
            from purchase_watch_internal.subscriber_health h where h.subscriber = s.id and h.our_failing_since is not null),
          'matchingSince', ${ms('matching_since')}) order by name, id), '[]') from s),
      'deliveries', (select coalesce(json_agg(json_build_object('id', d.id, 'event', d.event, 'subscriber', d.subscriber,
          'status', d.status, 'attempts', d.attempts, 'attemptsBefore', d.attempts_before, 'dueAt', ${ms('d.due_at')},
          'settledAt', ${ms('d.settled_at')}, 'lastError', d.last_error, 'replayed', d.rank = 2,
          'inFlightSince', (select ${ms('f.since')} from flying f where f.delivery = d.id),
          'behind', case when d.status = 'pending' and lane.event <> d.event then lane.event end) order by d.event, d.subscriber), '[]')
        from d left join lane on lane.subscriber = d.subscriber),
      'attempts', (select coalesce(json_agg(json_build_object('delivery', delivery, 'number', number, 'at', ${ms('at')},
          'tookMs', took_ms, 'outcome', outcome, 'fault', fault, 'httpStatus', http_status) order by delivery, number), '[]') from a),
      'incidents', (select coalesce(json_agg(json_build_object('id', i.id, 'kind', i.kind, 'state', i.state, 'since', ${ms('i.since')},
          'openedAt', ${ms('i.opened_at')}, 'count', i.count,
          -- People are alerted of a part by its parent, and the parent's owner is the part's.
          'alertedAt', ${ms('greatest(i.said_at, one.said_at, two.said_at)')},
          'hasChannel', cardinality(i.heard || coalesce(one.heard, '{}') || coalesce(two.heard, '{}')) > 0,
          'acknowledgedAt', ${ms('coalesce(i.acknowledged_at, one.acknowledged_at, two.acknowledged_at)')},
          'acknowledgedBy', case when i.acknowledged_at is not null then i.acknowledged_by
            when one.acknowledged_at is not null then one.acknowledged_by else two.acknowledged_by end,
          'silencedUntil', (select ${ms('max(q.ends_at)')} from purchase_watch_internal.silences q
            where q.starts_at <= clock_timestamp() and q.ends_at > clock_timestamp() and (q.site is null or q.site = i.site)
              and (q.kind is null or q.kind = i.kind) and (q.state is null or q.state = i.state))) order by i.kind), '[]')
        from purchase_watch_internal.incidents i
        left join purchase_watch_internal.incidents one on one.id = i.parent left join purchase_watch_internal.incidents two on two.id = one.parent
        where i.ended_at is null and i.site = p.site
          and (i.kind = 'unreachable' or (i.kind = 'stuck' and p.stuck_since is not null and i.state = p.state))),
      'singles', (select coalesce(json_agg(json_build_object('state', a.state, 'since', ${ms('a.state_since')},
          'alertedAt', ${ms('a.alerted_at')}, 'endedAt', ${ms('a.ended_at')}, 'mode', a.mode, 'counted', a.counted_stays,
          'perDay', a.stays_per_day, 'isLast', a.is_last, 'foundLate', a.first_sight, 'unreadable', a.unreadable,
          'channels', (select coalesce(json_agg(c.name order by c.name), '[]') from purchase_watch_internal.subscribers c where c.id = any(a.alerted))) order by a.id), '[]')
        from purchase_watch_internal.stuck_alerts a where a.purchase = p.id),
      'firstLook', (select json_build_object('foundAt', ${ms('s.first_look_since')}, 'alertedAt', ${ms('s.first_look_said_at')},
          'isBacklog', (select count(*) > ${MOST_AT_FIRST_LOOK} from (
            select from purchase_watch.purchases p where p.site = s.name and p.stuck_since is not null and ${isOfFirstLoad(sql)}
            limit ${MOST_AT_FIRST_LOOK + 1}) found))
        from purchase_watch_internal.sites s
        where s.name = p.site and s.configured and s.first_look_since is not null and p.stuck_since <= coalesce(s.first_look_said_at, 'infinity')
          and ${isOfFirstLoad(sql)} and (select count(*) from t) = 1),
      'order', json_build_object(
        'payments', case when p.state = ${COMPLETED} then coalesce((${paymentsJson(sql, sql`false`)}), '[]') else '[]' end,
        'announcedAt', (select ${ms('announced_at')} from purchase_watch_internal.order_payments where purchase = p.id),
        'counts', coalesce((select json_build_object('paid', c.paid, 'repeated', c.repeated)
          from purchase_watch_internal.order_counts c where c.site = p.site), ${JSON.stringify(NOTHING_PAID)}::json)),
      'hasPeople', exists(select from purchase_watch_internal.subscribers where audience = 'people' and configured),
      'more', json_build_object(
        'transitions', (select count(*) from purchase_watch_internal.purchase_transitions x where x.purchase = p.id) - (select count(*) from t),
        'events', (select count(*) from purchase_watch_internal.events x where x.purchase = p.id) - (select count(*) from e),
        'subscribers', (select count(*) from wanted) - (select count(*) from s),
        'deliveries', (select count(*) from received) - (select count(*) from d),
        'attempts', (select count(*) from tried) - (select count(*) from a)))::text as facts
    from p`;
  // All numbers in this JSON are counts, keys and times, so doubles hold them exactly.
  if (row?.facts == null) return null;
  const facts = JSON.parse(row.facts) as Facts;
  const { now, purchase } = facts;
  const usual = await readUsual(sql, { since: now - USUAL_WINDOW, now, site: purchase.site });
  return { ...facts, known: usual.find(({ state }) => state === purchase.state) ?? NOTHING_KNOWN, only: subscriber };
}

/** Whether there is or was a subscriber of this name: the deliveries of a deleted subscriber can still be read. */
export const isSubscriberKnown = (sql: Queries, name: string) =>
  firstValue<boolean>(sql`
    select exists (select from purchase_watch_internal.subscribers where name = ${name}) as known`);

/** The names of the subscribers, for a person who mistyped one. */
export const subscriberNames = (sql: Queries) =>
  firstValues<string>(sql`
    select name from purchase_watch_internal.subscribers where deleted_at is null order by configured desc, name limit ${MOST_SUBSCRIBERS}`);
