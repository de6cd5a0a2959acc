/** Messages to people about an incident, as the incident's events and their deliveries record them. */

import type { DeliveryStatus } from '../../domain/deliveries/delivery-status.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';
import { STATUS_COLUMNS, STATUS_JOINS, type StatusRow, withShownStatus } from '../deliveries/delivery-list.ts';

export interface PeopleMessage {
  readonly channel: string;
  /** `opened`, `grew`, … */
  readonly stage: string;
  /** When the message was delivered or given up; while it waits, when the event was written. */
  readonly at: Instant;
  readonly status: DeliveryStatus;
}

/** The latest events are read: an incident that lasts weeks has a few a day. */
const MOST_EVENTS = 100;
const MOST_MESSAGES = 500;

/** Messages about an incident with their receivers, first to last. */
export async function messagesOf(sql: Queries, id: string): Promise<PeopleMessage[]> {
  const rows = await sql<(Omit<PeopleMessage, 'status'> & StatusRow)[]>`
    select s.name as channel, substr(e.type, length('incident.') + 1) as stage,
      coalesce(d.settled_at, e.created_at) as at, ${sql.unsafe(STATUS_COLUMNS)}
    from (
      select position, type, created_at from purchase_watch_internal.events
      where incident = ${id} and type like 'incident.%' order by position desc limit ${MOST_EVENTS}) e
    join purchase_watch_internal.deliveries d on d.event = e.position
    join purchase_watch_internal.subscribers s on s.id = d.subscriber ${sql.unsafe(STATUS_JOINS)}
    order by e.position desc, s.name desc limit ${MOST_MESSAGES}`;
  return rows
    .map(withShownStatus)
    .toReversed()
    .map(({ channel, stage, at, status }) => ({ channel, stage, at, status }));
}

/** The body of the latest event about an incident but its end, with when the event was written; null when there is none yet. */
export const lastMessage = (sql: Queries, id: string) =>
  firstRow(sql<{ at: Instant; body: string }[]>`
    select created_at as at, body from purchase_watch_internal.events
    where incident = ${id} and type like 'incident.%' and type <> 'incident.ended' order by position desc limit 1`);
