/** The facts that explain a purchase, read by one statement, so that rows that commit together are seen together. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { Facts } from '../../domain/explain/facts.ts';
import { MOST_OTHERS } from '../../domain/explain/poll.ts';
import { NOTHING_PAID } from '../../domain/incidents/paid-twice.ts';
import { MOST_AT_FIRST_LOOK } from '../../domain/incidents/stuck-checkouts.ts';
import { SHARDS } from '../../domain/replicas/ownership.ts';
import { NOTHING_KNOWN } from '../../domain/stays/usual.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { jsonInstant } from '../connection/instants.ts';
import { lockHolders } from '../connection/lock-holder.ts';
import { firstValue, firstValues } from '../connection/rows.ts';
import { FIRST_BULK_SLOT } from '../migrations/names.ts';
import { rowOf } from '../polling/locked-rows.ts';
import { silence } from '../shards/living-replicas.ts';
import { skippedTime } from '../shards/skipped-time.ts';
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
  const facts = await firstValue<string | null>(sql`
    with ${rowsRead(sql, id, subscriber)}
    select json_build_object(${purchaseFacts(sql, id)}, ${pollFacts(sql)}, ${historyFacts(sql)}, ${subscriberFacts(sql)}, ${deliveryFacts(sql)},
      ${alertFacts(sql)}, ${orderFacts(sql)}, ${otherFacts(sql)})::text
    from p`);
  // All numbers in this JSON are counts, keys and times, so doubles hold them exactly.
  if (facts === null) return null;
  const read = JSON.parse(facts) as Facts;
  const { now, purchase } = read;
  const usual = await readUsual(sql, { since: now - USUAL_WINDOW, now, site: purchase.site });
  return { ...read, known: usual.find(({ state }) => state === purchase.state) ?? NOTHING_KNOWN, only: subscriber };
}

/** SQL for a time inside the JSON. */
const ms = (sql: Queries, column: string) => sql.unsafe(jsonInstant(column));

/** The parts of the statement: the purchase `p`, transitions `t`, events `e`, subscribers `s`, deliveries `d` and attempts `a`. */
const rowsRead = (sql: Queries, id: number, subscriber: string | null): Fragment => sql`
p as materialized (select * from purchase_watch.purchases where id = ${id}),
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
flying as materialized (select f.delivery, f.since from purchase_watch_internal.deliveries_in_flight() f join d on d.id = f.delivery)`;

/** The purchase, its site, and the time. */
const purchaseFacts = (sql: Queries, id: number): Fragment => sql`
  'now', ${ms(sql, 'clock_timestamp()')},
  'skipped', ${skippedTime(sql)},
  'purchase', json_build_object(
    'id', p.id, 'purchaseId', p.purchase_id, 'site', p.site, 'reference', p.reference, 'status', p.status, 'state', p.state,
    'stateSince', ${ms(sql, 'p.state_since')}, 'stuckSince', ${ms(sql, 'p.stuck_since')}, 'excused', p.excused_ms,
    'registeredAt', ${ms(sql, 'p.registered_at')}, 'registeredBy', p.registered_by, 'watchedSince', ${ms(sql, 'p.watched_since')},
    'endedAt', ${ms(sql, 'p.ended_at')}, 'lastPolledAt', ${ms(sql, 'p.last_polled_at')}, 'seenAt', ${ms(sql, 'p.seen_at')},
    'nextPollAt', ${ms(sql, 'p.next_poll_at')}, 'nextPollReason', p.next_poll_reason, 'polls', p.polls, 'failures', p.failures, 'unknowns', p.unknowns,
    'lastError', p.last_error, 'invoice', p.invoice, 'sequence', p.sequence, 'shard', p.shard,
    'lockedBy', (select pid from ${lockHolders(sql, rowOf(sql, id))} limit 1)),
  'site', (select json_build_object('configured', configured and unnamed_since is null, 'renamedTo', renamed_to, 'failingSince', ${ms(sql, 'failing_since')},
      'lastSuccessAt', ${ms(sql, 'last_success_at')}, 'lastError', last_error)
    from purchase_watch_internal.sites where name = p.site)`;

/** Who polls the purchase, and what is before it. */
const pollFacts = (sql: Queries): Fragment => sql`
  'owner', (select json_build_object('replica', h.owner, 'leaseUntil', ${ms(sql, 'r.expires_at')},
      'replicas', (select count(*) from purchase_watch_internal.replicas where expires_at > clock_timestamp()),
      'sharing', (select json_agg(json_build_object('id', l.id, 'startedAt', ${ms(sql, 'l.started_at')}, 'named', l.named))
        from purchase_watch_internal.replicas l where not l.leaving and l.expires_at > clock_timestamp()),
      'silence', (select json_build_object('takesWrites', takes_writes, 'silentMs', silent_ms) from ${silence(sql)} s),
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
        limit ${MOST_AHEAD}) before)) end from (${ceilingOf(sql, 'p.site')}) c)`;

/** Transitions and events. */
const historyFacts = (sql: Queries): Fragment => sql`
  'transitions', (select coalesce(json_agg(json_build_object('sequence', sequence, 'from', from_state, 'to', to_state,
      'notBefore', ${ms(sql, 'not_before')}, 'notAfter', ${ms(sql, 'not_after')}) order by sequence), '[]') from t),
  'events', (select coalesce(json_agg(json_build_object('position', position, 'id', id, 'type', type, 'sequence', sequence,
      'state', state, 'at', ${ms(sql, 'created_at')}) order by sequence), '[]') from e)`;

/** Subscribers with their health. */
const subscriberFacts = (sql: Queries): Fragment => sql`
  'subscribers', (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'kind', kind, 'audience', audience, 'types', types, 'sites', sites,
      'states', states, 'configured', configured, 'status', status, 'statusReason', status_reason,
      'health', (select json_build_object('failures', h.failures, 'failingSince', ${ms(sql, 'h.failing_since')},
        'pausedUntil', ${ms(sql, 'h.paused_until')}, 'lastError', h.last_error)
        from purchase_watch_internal.subscriber_health h where h.subscriber = s.id and (h.failures > 0 or h.paused_until is not null)),
      'unreached', (select json_build_object('failures', h.our_failures, 'since', ${ms(sql, 'h.our_failing_since')}, 'error', h.our_error)
        from purchase_watch_internal.subscriber_health h where h.subscriber = s.id and h.our_failing_since is not null),
      'matchingSince', ${ms(sql, 'matching_since')}) order by name, id), '[]') from s)`;

/** Deliveries and attempts. */
const deliveryFacts = (sql: Queries): Fragment => sql`
  'deliveries', (select coalesce(json_agg(json_build_object('id', d.id, 'event', d.event, 'subscriber', d.subscriber,
      'status', d.status, 'attempts', d.attempts, 'attemptsBefore', d.attempts_before, 'dueAt', ${ms(sql, 'd.due_at')},
      'settledAt', ${ms(sql, 'd.settled_at')}, 'lastError', d.last_error, 'replayed', d.rank = 2,
      'inFlightSince', (select ${ms(sql, 'f.since')} from flying f where f.delivery = d.id),
      'behind', case when d.status = 'pending' and lane.event <> d.event then lane.event end) order by d.event, d.subscriber), '[]')
    from d left join lane on lane.subscriber = d.subscriber),
  'attempts', (select coalesce(json_agg(json_build_object('delivery', delivery, 'number', number, 'at', ${ms(sql, 'at')},
      'tookMs', took_ms, 'outcome', outcome, 'fault', fault, 'httpStatus', http_status) order by delivery, number), '[]') from a)`;

/** Alerts to people: of incidents, of single checkouts, and of the first look at the site. */
const alertFacts = (sql: Queries): Fragment => sql`
  'incidents', (select coalesce(json_agg(json_build_object('id', i.id, 'kind', i.kind, 'state', i.state, 'since', ${ms(sql, 'i.since')},
      'openedAt', ${ms(sql, 'i.opened_at')}, 'count', i.count,
      -- People are alerted of a part by its parent, and the parent's owner is the part's.
      'alertedAt', ${ms(sql, 'greatest(i.alerted_at, one.alerted_at, two.alerted_at)')},
      'hasChannel', cardinality(i.heard || coalesce(one.heard, '{}') || coalesce(two.heard, '{}')) > 0,
      'acknowledgedAt', ${ms(sql, 'coalesce(i.acknowledged_at, one.acknowledged_at, two.acknowledged_at)')},
      'acknowledgedBy', case when i.acknowledged_at is not null then i.acknowledged_by
        when one.acknowledged_at is not null then one.acknowledged_by else two.acknowledged_by end,
      'silencedUntil', (select ${ms(sql, 'max(q.ends_at)')} from purchase_watch_internal.silences q
        where q.starts_at <= clock_timestamp() and q.ends_at > clock_timestamp() and (q.site is null or q.site = i.site)
          and (q.kind is null or q.kind = i.kind) and (q.state is null or q.state = i.state))) order by i.kind), '[]')
    from purchase_watch_internal.incidents i
    left join purchase_watch_internal.incidents one on one.id = i.parent left join purchase_watch_internal.incidents two on two.id = one.parent
    where i.ended_at is null and i.site = p.site
      and (i.kind = 'unreachable' or (i.kind = 'stuck' and p.stuck_since is not null and i.state = p.state))),
  'singles', (select coalesce(json_agg(json_build_object('state', a.state, 'since', ${ms(sql, 'a.state_since')},
      'alertedAt', ${ms(sql, 'a.alerted_at')}, 'endedAt', ${ms(sql, 'a.ended_at')}, 'mode', a.mode, 'counted', a.counted_stays,
      'perDay', a.stays_per_day, 'isLast', a.is_last, 'foundLate', a.first_sight, 'unreadable', a.unreadable,
      'channels', (select coalesce(json_agg(c.name order by c.name), '[]') from purchase_watch_internal.subscribers c where c.id = any(a.alerted))) order by a.id), '[]')
    from purchase_watch_internal.stuck_alerts a where a.purchase = p.id),
  'firstLook', (select json_build_object('foundAt', ${ms(sql, 's.first_look_since')}, 'alertedAt', ${ms(sql, 's.first_look_alerted_at')},
      'isBacklog', (select count(*) > ${MOST_AT_FIRST_LOOK} from (
        select from purchase_watch.purchases p where p.site = s.name and p.stuck_since is not null and ${isOfFirstLoad(sql)}
        limit ${MOST_AT_FIRST_LOOK + 1}) found))
    from purchase_watch_internal.sites s
    where s.name = p.site and s.configured and s.first_look_since is not null and p.stuck_since <= coalesce(s.first_look_alerted_at, 'infinity')
      and ${isOfFirstLoad(sql)} and (select count(*) from t) = 1)`;

/** Other payments of the order. */
const orderFacts = (sql: Queries): Fragment => sql`
  'order', json_build_object(
    'payments', case when p.state = ${COMPLETED} then coalesce((${paymentsJson(sql, sql`false`)}), '[]') else '[]' end,
    'announcedAt', (select ${ms(sql, 'announced_at')} from purchase_watch_internal.order_payments where purchase = p.id),
    'counts', coalesce((select json_build_object('paid', c.paid, 'repeated', c.repeated)
      from purchase_watch_internal.order_counts c where c.site = p.site), ${JSON.stringify(NOTHING_PAID)}::json))`;

/** Whether anybody is alerted, and how many rows were not read. */
const otherFacts = (sql: Queries): Fragment => sql`
  'hasPeople', exists(select from purchase_watch_internal.subscribers where audience = 'people' and configured),
  'more', json_build_object(
    'transitions', (select count(*) from purchase_watch_internal.purchase_transitions x where x.purchase = p.id) - (select count(*) from t),
    'events', (select count(*) from purchase_watch_internal.events x where x.purchase = p.id) - (select count(*) from e),
    'subscribers', (select count(*) from wanted) - (select count(*) from s),
    'deliveries', (select count(*) from received) - (select count(*) from d),
    'attempts', (select count(*) from tried) - (select count(*) from a))`;

/** Whether there is or was a subscriber of this name: the deliveries of a deleted subscriber can still be read. */
export const isSubscriberKnown = (sql: Queries, name: string) =>
  firstValue<boolean>(sql`
    select exists (select from purchase_watch_internal.subscribers where name = ${name}) as known`);

/** The names of the subscribers, for a person who mistyped one. */
export const subscriberNames = (sql: Queries) =>
  firstValues<string>(sql`
    select name from purchase_watch_internal.subscribers where deleted_at is null order by configured desc, name limit ${MOST_SUBSCRIBERS}`);
