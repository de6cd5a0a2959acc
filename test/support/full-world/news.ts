/** News while a list is open: a new first row of each list, as daemons and people write it. */
import type { Sql } from '../../../src/postgres/connection/database.ts';

/** Writes news number `round` and wakes the open pages. */
export async function addNews(sql: Sql, round: number): Promise<void> {
  await sql`
    with purchase as (
      -- Stuck for longer than all others, so that it comes before them by each order.
      insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since, seen_at, last_polled_at, registered_at, polls, sequence, next_poll_at, reference)
      select 'news-' || ${round}::integer || '-' || n, 'se', 'watching', 6, now() - interval '10 hours', now() - interval '9 hours', now(), now(), now(), 7, 1, now() + interval '60 days', 'NEWS'
      from generate_series(1, 3) n returning id, purchase_id, site, shard),
    transition as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after) select id, 1, 6, now() - interval '10 hours' from purchase),
    event as (
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, state, created_at, body)
      select 'evt_' || purchase_id, 'purchase.state_changed', site, id, 1, shard, 6, now(),
        json_build_object('id', 'evt_' || purchase_id, 'type', 'purchase.state_changed', 'timestamp', now(), 'data', json_build_object('purchaseId', purchase_id))::text
      from purchase returning id, position, purchase, shard),
    delivery as (
      insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status, http_status, took_ms)
      select e.position, e.purchase, now(), now(), s.id, 1, e.shard, 'delivered', 200, 30 from event e cross join purchase_watch_internal.subscribers s
      where s.name in ('default', 'shop-13')),
    incident as (
      insert into purchase_watch_internal.incidents (id, kind, site, severity, since, opened_at, ended_at, quiet_since, count, peak)
      select 'inc_news_' || ${round}::integer, 'unreachable', 'fi', 1, now() - interval '1 minute', now(), now(), now(), 0, 1),
    silence as (
      insert into purchase_watch_internal.silences (kind, reason, created_by, starts_at, ends_at) values ('replica', 'News', 'Kim', now(), now() + interval '2 hours')),
    action as (
      insert into purchase_watch_internal.actions (at, key_name, address, via, call, outcome) values (now(), 'operator', '10.0.0.7', 'api', 'sign in', 'done'))
    select pg_notify('purchase_watch_events', id) from event`;
}
