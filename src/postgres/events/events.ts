/** Events and their deliveries: always written together, in the transaction that writes the announced change. */

import { monotonicFactory } from 'ulid';
import { type EventDraft, eventBody } from '../../domain/events/make-event.ts';
import type { Instant } from '../../domain/values/time.ts';
import { random } from '../../runtime/random.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';

export interface NewEvent {
  readonly draft: EventDraft;
  readonly site: string;
  /** The purchase's row id; null for events of a site. */
  readonly purchase: number | null;
  readonly shard: number;
  /** The row id of the subscriber whose trouble the event reports; that subscriber does not get the event. */
  readonly about?: number | null;
  /** The id of the incident that the event reports. */
  readonly incident?: string | null;
  /** Ids of the subscribers that get the event, instead of all that want it. */
  readonly recipients?: readonly number[] | null;
  /** Whether the event is of a bulk load, which is delivered after other new events. */
  readonly isBulk?: boolean;
}

/** Events of no single purchase live in one shard, so that one replica delivers them, in order. */
export const SITE_SHARD = 0;

/** A new event with its id and body, as the columns that `announcing` takes. */
export interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly site: string;
  readonly purchase: number | null;
  readonly sequence: number | null;
  readonly shard: number;
  readonly state: number | null;
  readonly about: number | null;
  readonly incident: string | null;
  /** An array literal: arrays of different lengths are no array of arrays. */
  readonly recipients: string | null;
  readonly isBulk: boolean;
  readonly at: Instant;
  readonly body: string;
}

/** Ids must be unique, not secret; within a millisecond they count up, so their order is the order in which they were made. */
const nextUlid = monotonicFactory(random);

/** An id for an event made at a moment. */
export function newEventId(at: Instant): string {
  return `evt_${nextUlid(at)}`;
}

/** Gives a new event its id, and writes its body. */
export function eventRow({
  draft,
  about = null,
  incident = null,
  recipients = null,
  isBulk = false,
  ...event
}: NewEvent): EventRow {
  const id = newEventId(draft.at);
  const { type, sequence, at, state } = draft;
  const listed = recipients === null ? null : `{${recipients.join()}}`;
  return { ...event, about, incident, recipients: listed, isBulk, id, type, sequence, at, state, body: eventBody(id, draft) };
}

/**
 * The condition that a subscriber `s` gets an event `e`: the event names the subscriber, or the subscriber wants events of this
 * kind. A test goes only to the subscriber that is tested.
 */
export const wanting = (sql: Queries) => sql`
  case when e.recipients is not null then s.id = any(e.recipients) else
  (s.sites is null or e.site = any(s.sites))
  and (s.states is null or e.state is null or e.state = any(s.states))
  and s.id is distinct from e.about
  and case when s.types is null then (s.audience = 'people') = (e.type like 'incident.%') else e.type = any(s.types) end
  and e.type <> 'subscriber.test' end`;

/**
 * The part of a statement that writes events, one delivery for each subscriber that wants them, and the notifications:
 * `with … ${announcing(…)} select … from notified`, where `notified` are the notifications. `guard` is a condition on the event `e`, by
 * which an earlier part of the statement decides whether the event is written. Positions rise in the order given; lanes rely on that.
 */
export function announcing(sql: Queries, events: readonly NewEvent[], guard: Fragment): Fragment {
  return announcingRows(sql, events.map(eventRow), guard);
}

/** As `announcing`, for a caller that wants to know the events' ids and bodies. */
export function announcingRows(sql: Queries, rows: readonly EventRow[], guard: Fragment): Fragment {
  const bulk = rows.filter(({ isBulk }) => isBulk).map(({ id }) => id);
  return sql`
    event as (
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, about, incident, recipients, created_at, body)
      select id, type, site, purchase, sequence, nullif(sequence - 1, 0), shard, state, about, incident, recipients::integer[], at, body
      from ${columns(
        sql,
        rows,
        'e',
        `id text, type text, site text, purchase bigint, sequence integer, shard smallint, state integer, about integer, incident text, recipients text,
        at timestamptz, body text`,
        'place',
      )}
      where ${guard}
      order by place
      returning position, id, type, site, purchase, shard, state, about, recipients, created_at),
    delivery as (
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, rank, status, settled_at, last_error)
      select e.position, coalesce(e.purchase, 0), s.id, e.shard, e.created_at, case when e.id = any(${bulk}::text[]) then 1 else 0 end,
        case when w.waits then 'pending' else 'suppressed' end,
        case when w.waits then null else e.created_at end,
        case when w.waits then null else 'The subscriber was switched off when the event was made' || coalesce(': ' || s.status_reason, '.') end
      from event e join purchase_watch_internal.subscribers s on s.configured and ${wanting(sql)}
      -- A channel for people that is off keeps its deliveries: once it is on again, one message shows what goes on and what is over.
      cross join lateral (select s.status = 'active' or s.audience = 'people' as waits) w
      order by e.position, s.id
      returning id, mark, event, lane, subscriber, rank, status),
    notified as (
      select pg_notify('purchase_watch_events', id) from event where type not like 'incident.%'
      union all select pg_notify('purchase_watch_wake', case when ${bulk.length > 0} then 'replays' else 'deliveries' end) where exists (select from event))`;
}
