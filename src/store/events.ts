/** Events and their deliveries: always written together, in the transaction of what they announce. */
import { ulid } from 'ulid';
import { type EventDraft, eventBody } from '../core/events.ts';
import type { Queries } from './database.ts';

/** An event to be written. */
export interface NewEvent {
  readonly draft: EventDraft;
  readonly site: string;
  /** The purchase's row id; null for events of a site. */
  readonly purchase: number | null;
  readonly shard: number;
  /** The state it is about, for subscribers that filter; null when it is about none. */
  readonly state: number | null;
}

/** Events of no single purchase live in one shard, so that one replica tells them, in order. */
export const SITE_SHARD = 0;

/**
 * Writes events and one delivery for each subscriber that wants them; answers the ids. Must run inside a transaction
 * that holds the purchase's or the lease's fence: that is what keeps positions in order within a lane.
 */
export async function announce(tx: Queries, events: readonly NewEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const rows = events.map(({ draft, ...event }) => {
    const id = `evt_${ulid(draft.at)}`;
    return { ...event, id, type: draft.type, sequence: draft.sequence, at: draft.at, body: eventBody(id, draft) };
  });
  const column = <K extends keyof (typeof rows)[number]>(key: K): (typeof rows)[number][K][] => rows.map((row) => row[key]);
  await tx`
    with event as (
      insert into purchase_watch.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select id, type, site, purchase, sequence, nullif(sequence - 1, 0), shard, state, to_timestamp(at / 1000), body
      from unnest(${column('id')}::text[], ${column('type')}::text[], ${column('site')}::text[], ${column('purchase')}::bigint[],
        ${column('sequence')}::integer[], ${column('shard')}::smallint[], ${column('state')}::integer[], ${column('at')}::float8[],
        ${column('body')}::text[]) as e (id, type, site, purchase, sequence, shard, state, at, body)
      returning position, id, type, site, purchase, shard, state, created_at),
    delivery as (
      insert into purchase_watch.deliveries (event, lane, subscriber, shard, due_at, status, settled_at)
      select e.position, coalesce(e.purchase, 0), s.id, e.shard, e.created_at,
        case s.status when 'active' then 'pending' else 'suppressed' end,
        case s.status when 'active' then null else e.created_at end
      from event e join purchase_watch.subscribers s on s.configured
        and (s.sites is null or e.site = any(s.sites))
        and (s.states is null or e.state is null or e.state = any(s.states))
        and case when s.types is null then (s.kind = 'slack') = (e.type like 'incident.%') else e.type = any(s.types) end
      order by e.position, s.id)
    select pg_notify('purchase_watch_events', id) from event where type not like 'incident.%'`;
  await tx`select pg_notify('purchase_watch_wake', 'deliveries')`;
  return rows.map((row) => row.id);
}
