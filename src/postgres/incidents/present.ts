/** The incidents that a channel was alerted of and that are open or ended lately. */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

export interface PresentAlert {
  /** The last event about the incident that the channel was to get. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
  /** Whether the incident has ended, or another incident speaks for it. */
  readonly isOver: boolean;
  readonly delivery: number;
  readonly isDelivered: boolean;
}

/** As many as one look repeats. */
const MOST = 500;

/** The alerts that a channel got, by its subscriber's name; none while it is off. `since`: the longest time since an incident ended. */
export const presentAlerts = (sql: Queries, channel: string, since: Milliseconds) => sql<PresentAlert[]>`
    select last.id, last.type, last.body, i.ended_at is not null or i.parent is not null as is_over,
      last.delivery, last.status = 'delivered' as is_delivered
    from purchase_watch_internal.incidents i
    join purchase_watch_internal.subscribers s on s.name = ${channel} and s.configured and s.status = 'active'
    cross join lateral (
      select e.id, e.type, e.body, d.id as delivery, d.status
      from purchase_watch_internal.events e
      join purchase_watch_internal.deliveries d on d.event = e.position and d.subscriber = s.id
      where e.incident = i.id and e.type like 'incident.%' order by e.position desc limit 1) last
    where i.alerted_at is not null and (i.ended_at is null or i.ended_at > now() - ${since}::float8 * interval '1 ms')
    order by i.position limit ${MOST}`;
