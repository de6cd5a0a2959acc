/** Subscribers of whose trouble people are alerted: those that take nothing for long or are not reached, lose events, or were switched off. */

import type { ChannelKind } from '../../config/settings.ts';
import type { Audience } from '../../domain/deliveries/subscriber-health.ts';
import { GIVEN_UP_LATELY, LONG_FAILURE, SUBSCRIBER_TROUBLES, type SubscriberTrouble } from '../../domain/incidents/incident.ts';
import type { Symptom } from '../../domain/incidents/symptom.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import { RANKS } from '../deliveries/deliveries.ts';
import { MOST_WAITING } from '../deliveries/waiting.ts';
import { EVERY_SHARD } from '../migrations/names.ts';

/** Newest deliveries of which the last that was taken is looked for, and given-up ones whose first event is. */
const MOST_READ = 1_000;

// Counted rows are read in an index's order: without the order the planner may read the whole table.

const severity = (trouble: SubscriberTrouble): number => SUBSCRIBER_TROUBLES.indexOf(trouble);

/**
 * The symptoms of subscribers now. Reads the few subscribers that fail, and indexes of pending and lately exhausted deliveries, so
 * that the cost does not grow with the number of deliveries ever made. The symptom of a subscriber with an open incident lasts until
 * the subscriber takes a delivery; a subscriber that a person switched off has no symptom.
 */
export const subscriberSymptoms = (sql: Queries, now: Instant) => sql<Symptom[]>`
    select 'subscriber' as kind, null as site, null as state, s.name as subscriber,
      case when f.off then ${severity('off')}::integer
        when not f.failing then case when f.unreached then ${severity('unreached')}::integer else ${severity('given_up')}::integer end
        when g.count > 0 then ${severity('losing')}::integer else ${severity('failing')}::integer end as severity,
      (case when f.off or f.failing or f.unreached then w.count else g.count end)::float8 as count,
      case when f.off then least(s.failed_at, h.failing_since) when f.failing then h.failing_since
        when f.unreached then h.our_failing_since else g.since end as since
    from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    cross join lateral (
      select ${now - LONG_FAILURE}::timestamptz as long_ago,
        exists (select from purchase_watch_internal.incidents i where i.kind = 'subscriber' and i.site is null and i.state is null
          and i.subscriber = s.name and i.ended_at is null) as known) o
    cross join lateral (
      select s.status = 'off' and s.failed_at is not null as off,
        s.status = 'active' and h.failing_since is not null and (h.failing_since <= o.long_ago or o.known) as failing,
        s.status = 'active' and h.our_failing_since is not null and (h.our_failing_since <= o.long_ago or o.known) as unreached) f
    cross join lateral (
      select count(*) as count, min(settled_at) as since from (
        select d.settled_at from purchase_watch_internal.deliveries d
        where s.status = 'active' and d.subscriber = s.id and d.status = 'exhausted'
          and d.settled_at > ${now - GIVEN_UP_LATELY}::timestamptz
        order by d.settled_at desc limit ${MOST_WAITING}) d) g
    cross join lateral (
      select count(*) as count from (
        select from purchase_watch_internal.deliveries d
        where (f.off or f.failing or f.unreached) and d.subscriber = s.id and d.status = 'pending'
        limit ${MOST_WAITING}) d) w
    where s.configured and (f.off or f.failing or f.unreached or g.count > 0) order by s.id`;

/** How a subscriber that was in trouble is doing. */
export interface SubscriberCondition {
  readonly id: number;
  readonly kind: ChannelKind;
  readonly audience: Audience;
  readonly origin: 'configuration' | 'api';
  readonly status: 'active' | 'off';
  readonly statusReason: string | null;
  /** When the subscriber was switched off because of its answers. */
  readonly failedAt: Instant | null;
  /** Failures in a row; 0 while deliveries succeed. */
  readonly failures: number;
  readonly failingSince: Instant | null;
  /** Since when the daemons do not reach the subscriber, for a reason on their side. */
  readonly ourFailingSince: Instant | null;
  /** Whether no delivery is even tried, because a daemon cannot use what is stored of the subscriber. */
  readonly untried: boolean;
  /** When the next delivery is tried: one is due and the pause is over. Null when none waits, or the subscriber is off. */
  readonly nextTryAt: Instant | null;
  readonly lastError: string | null;
  /** Deliveries that wait, up to `MOST_WAITING`. */
  readonly waiting: number;
  /** Deliveries given up since the trouble began, up to `MOST_WAITING`; `givenUpFrom` is when the first of their events was made. */
  readonly givenUp: number;
  readonly givenUpFrom: Instant | null;
  /** When the subscriber last took one of its newest deliveries. */
  readonly deliveredAt: Instant | null;
}

/** The condition of a subscriber, given when its trouble began; null when there is no subscriber of this name any more. */
export const subscriberCondition = (sql: Queries, { name, since }: { name: string; since: Instant }) =>
  firstRow(sql<SubscriberCondition[]>`
    select s.id, s.kind, s.audience, s.origin, s.status, s.status_reason, case s.status when 'off' then s.failed_at end as failed_at,
      coalesce(h.failures, 0) as failures, h.failing_since, h.our_failing_since,
      h.our_failing_since is not null and h.our_failures = 0 as untried,
      case when s.status = 'active' and n.due_at is not null then greatest(h.paused_until, n.due_at) end as next_try_at,
      coalesce(h.last_error, h.our_error, l.last_error) as last_error, w.count as waiting, g.count as given_up,
      made.at as given_up_from, t.settled_at as delivered_at
    from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    cross join lateral (
      select count(*) from (
        select from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'pending' limit ${MOST_WAITING}) d) w
    cross join lateral (${firstDue(sql)}) n
    cross join lateral (select count(*), max(q.settled_at) as last from (${firstGivenUp(sql, since, MOST_WAITING)}) q) g
    left join lateral (
      select q.last_error from purchase_watch_internal.deliveries q
      where q.subscriber = s.id and q.status = 'exhausted' and q.settled_at = g.last limit 1) l on true
    -- Of those given up first: their events are the oldest.
    cross join lateral (
      select min(e.created_at) as at from (${firstGivenUp(sql, since, MOST_READ)}) q
      join purchase_watch_internal.events e on e.position = q.event) made
    -- Reads several: the newest delivery need not be the one taken last, because a delivery that failed for long is taken late.
    cross join lateral (
      select max(settled_at) as settled_at from (
        select d.settled_at from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'delivered' order by d.id + 0 desc limit ${MOST_READ}) d) t
    where s.configured and s.name = ${name}`);

/** The channels for people. `isDeaf`: as far as is known, the channel takes no messages, because it is off or fails for long. */
export const peopleChannels = (sql: Queries, now: Instant) => sql<{ id: number; name: string; isDeaf: boolean }[]>`
    select s.id, s.name, s.status <> 'active' or coalesce(least(h.failing_since, h.our_failing_since) <= ${now - LONG_FAILURE}::timestamptz, false) as is_deaf
    from purchase_watch_internal.subscribers s left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    where s.configured and s.audience = 'people' order by s.id`;

/** The names of the channels for people that take messages. */
export const hearingChannels = async (sql: Queries, now: Instant): Promise<string[]> =>
  (await peopleChannels(sql, now)).filter(({ isDeaf }) => !isDeaf).map(({ name }) => name);
/** When the first pending delivery of the subscriber `s` is due: reads the first of each shard and rank. */
const firstDue = (sql: Queries) => sql`
      select min(front.due_at) as due_at from ${sql.unsafe(EVERY_SHARD)}
      cross join unnest(${RANKS}::smallint[]) as k (rank)
      cross join lateral (
        select d.due_at from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.shard = g.shard and d.rank = k.rank and d.status = 'pending' order by d.due_at, d.event limit 1) front`;

/** The deliveries of the subscriber `s` that were given up first since a moment. */
const firstGivenUp = (sql: Queries, since: Instant, most: number) => sql`
      select d.event, d.settled_at from purchase_watch_internal.deliveries d
      where d.subscriber = s.id and d.status = 'exhausted' and d.settled_at >= ${since}::timestamptz order by d.settled_at limit ${most}`;
