/** Subscribers in trouble: read from present failures, of which there are few in normal operation. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { MOST_WAITING } from '../deliveries/waiting.ts';

/** A subscriber whose deliveries wait or fail, or were given up lately. */
export interface TroubledSubscriber {
  readonly name: string;
  readonly origin: 'configuration' | 'api';
  /** Why the subscriber is off, or null while it is on. */
  readonly offBecause: string | null;
  /** Failures in a row; 0 while deliveries succeed. */
  readonly failures: number;
  readonly failingSince: Instant | null;
  /** Since when the daemons do not reach the subscriber for a reason on their side, or null; `ourError` is the reason. */
  readonly ourFailingSince: Instant | null;
  /** Whether no delivery is even tried, because a daemon cannot use what is stored of the subscriber. */
  readonly untried: boolean;
  readonly ourError: string | null;
  /** Until when the subscriber is paused; a past moment means that one delivery must succeed first. Null while it is not paused. */
  readonly pausedUntil: Instant | null;
  /** Parked deliveries of a subscriber that is paused, off or not reached; counting ends at `MOST_WAITING`. */
  readonly parked: number;
  /** Deliveries that failed and wait for another try; counting ends at `MOST_FAILING`. */
  readonly failing: number;
  readonly lastError: string | null;
  /** When the last delivery was given up, if that was within a day. */
  readonly givenUpAt: Instant | null;
}

/** Counting more would only cost time. */
export const MOST_FAILING = 1_000;

/** Subscribers that are paused, off or not reached, whose deliveries fail, or for whom some were given up within the last day. */
export const troubledSubscribers = (sql: Queries) => sql<TroubledSubscriber[]>`
    select s.name, s.origin, case s.status when 'off' then coalesce(s.status_reason, 'No reason is known.') end as off_because,
      coalesce(h.failures, 0) as failures, h.failing_since,
      h.paused_until, p.parked, h.our_failing_since, h.our_error,
      h.our_failing_since is not null and h.our_failures = 0 as untried,
      f.failing, coalesce(h.last_error, f.error) as last_error, g.settled_at as given_up_at
    from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    cross join lateral (
      select count(*) as parked from (
        select from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'pending' and (s.status = 'off' or h.paused_until is not null or h.our_failing_since is not null) limit ${MOST_WAITING}) d) p
    cross join lateral (
      select count(*) as failing, (array_agg(last_error order by id desc))[1] as error from (
        select d.id, d.last_error from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'pending' and d.attempts > d.attempts_before limit ${MOST_FAILING}) d) f
    left join lateral (
      select d.settled_at from purchase_watch_internal.deliveries d
      where d.subscriber = s.id and d.status = 'exhausted' order by d.id + 0 desc limit 1) g on g.settled_at > now() - interval '1 day'
    where s.configured and (s.status = 'off' or h.paused_until is not null or h.our_failing_since is not null or f.failing > 0 or g.settled_at is not null) order by s.id`;

/** Deliveries that were given up within a day and not sent since; counting ends at `MOST_FAILING`. */
export interface LostDeliveries {
  readonly name: string;
  readonly count: number;
  /** When the first of those counted was given up. */
  readonly since: Instant;
}

/** Systems that miss events because deliveries were given up; an alert that people missed is not sent late. Reads the index of such deliveries from its newest end. */
export const lostDeliveries = (sql: Queries): Promise<LostDeliveries[]> => sql<LostDeliveries[]>`
    select s.name, g.count::float8 as count, g.since from purchase_watch_internal.subscribers s
    cross join lateral (
      select count(*) as count, min(settled_at) as since from (
        select d.settled_at from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'exhausted' and d.settled_at > now() - interval '1 day'
        order by d.settled_at desc limit ${MOST_FAILING}) d) g
    where s.configured and s.audience = 'systems' and g.count > 0 order by s.id`;
