/** Deliveries that fail or were given up: read from present failures, of which there are few in normal operation. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** Deliveries to a subscriber that fail, or were given up lately. */
export interface FailingDeliveries {
  readonly name: string;
  /** Deliveries that failed and wait for another try; counting ends at `MOST_FAILING`. */
  readonly failing: number;
  readonly lastError: string | null;
  /** When the last delivery was given up, if that was within a day. */
  readonly givenUpAt: Instant | null;
}

/** Counting more would only cost time. */
export const MOST_FAILING = 1_000;

/** Of each configured subscriber whose deliveries fail, or for whom some were given up within the last day. */
export const failingDeliveries = (sql: Queries) => sql<FailingDeliveries[]>`
    select s.name, f.failing, f.error as last_error, g.settled_at as given_up_at
    from purchase_watch_internal.subscribers s
    cross join lateral (
      select count(*) as failing, (array_agg(last_error order by id desc))[1] as error from (
        select d.id, d.last_error from purchase_watch_internal.deliveries d
        where d.subscriber = s.id and d.status = 'pending' and d.attempts > d.attempts_before limit ${MOST_FAILING}) d) f
    left join lateral (
      select d.settled_at from purchase_watch_internal.deliveries d
      where d.subscriber = s.id and d.status = 'exhausted' order by d.id + 0 desc limit 1) g on g.settled_at > now() - interval '1 day'
    where s.configured and (f.failing > 0 or g.settled_at is not null) order by s.id`;

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
