/** A purchase with a story to explain: stuck at the card payment, and a shop that stopped answering. */

import { namedState } from '../../src/domain/purchases/states.ts';
import { isoTime } from '../../src/domain/values/time.ts';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { syncSites } from '../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../src/postgres/subscribers/subscribers.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from './delivery-schedule.ts';

export const STORY_ID = '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const EVERYTHING = { format: 'standard' as const, types: null, sites: null, states: null };

/** Writes the story as a daemon would have left it, with times that end now. Answers the purchase's row id. */
export async function runStory(sql: Sql, { site = 'se' } = {}): Promise<number> {
  await syncSites(sql, [site]);
  await syncSubscribers(sql, [
    { name: 'shop', kind: 'webhook', audience: 'systems', ...EVERYTHING, addressHash: 'a' },
    { name: 'ledger', kind: 'webhook', audience: 'systems', ...EVERYTHING, states: [2], addressHash: 'b' },
    { name: '@slack', kind: 'slack', audience: 'people', ...EVERYTHING, addressHash: 'c' },
  ]);
  await sql`update purchase_watch_internal.subscribers set matching_since = now() - interval '1 day'`;
  const now = Date.now();
  const at = (ago: number) => sql`to_timestamp(${now - ago}::float8 / 1000)`;
  const first = 25 * MINUTE;
  const card = 22 * MINUTE + 10 * SECOND;
  const stuck = 7 * MINUTE + 10 * SECOND;
  const polled = 40 * SECOND;
  const [{ id }] = await sql<[{ id: number }]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, registered_by, registered_at, watched_since, state, state_since,
      stuck_since, last_polled_at, seen_at, next_poll_at, next_poll_reason, polls, sequence)
    values (${STORY_ID}, ${site}, 'ORD-1', 'api', ${at(first)}, ${at(first)}, 6, ${at(card)}, ${at(stuck)}, ${at(polled)}, ${at(polled)},
      ${at(polled - 129 * SECOND)}, 'growth', 41, 3)
    returning id::float8 as id`;
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    values (${id}, 1, null, null, 0, null, ${at(first)}), (${id}, 2, 1, 0, 6, ${at(card + 12 * SECOND)}, ${at(card)})`;
  const body = (sequence: number, type: string, from: number | null, to: number) =>
    JSON.stringify({
      id: `evt_${sequence}`,
      type,
      timestamp: isoTime(now),
      data: { site, purchaseId: STORY_ID, sequence, from: from === null ? null : namedState(from), to: namedState(to) },
    });
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    values ('evt_1', 'purchase.state_changed', ${site}, ${id}, 1, null, 0, 0, ${at(first)}, ${body(1, 'purchase.state_changed', null, 0)}),
      ('evt_2', 'purchase.state_changed', ${site}, ${id}, 2, 1, 0, 6, ${at(card)}, ${body(2, 'purchase.state_changed', 0, 6)}),
      ('evt_3', 'purchase.stuck', ${site}, ${id}, 3, 2, 0, 6, ${at(stuck)}, ${body(3, 'purchase.stuck', 6, 6)})`;
  // Two attempts failed after the plan of the schedule; the third is due in half an hour less two minutes.
  const [short = 0, long = 0, longer = 0] = DEFAULT_DELIVERY_SCHEDULE;
  const second = stuck - short;
  const third = second - long;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status, settled_at, attempts, last_error)
    select e.position, ${id}, s.id, 0, case e.sequence when 3 then ${at(third - longer)} else e.created_at end,
      case e.sequence when 3 then 'pending' else 'delivered' end, case when e.sequence < 3 then e.created_at + interval '14 milliseconds' end,
      case e.sequence when 3 then 3 else 1 end, case e.sequence when 3 then 'The receiver answered 503.' end
    from purchase_watch_internal.events e, purchase_watch_internal.subscribers s where e.purchase = ${id} and s.name = 'shop' order by e.position`;
  await sql`
    insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome)
    select d.id, 1, d.settled_at, 9, 200, 'delivered' from purchase_watch_internal.deliveries d where d.status = 'delivered' and d.lane = ${id}
    union all
    select d.id, a.number, a.at, 31, 503, 'http_503'
    from purchase_watch_internal.deliveries d, (values (1, ${at(stuck)}), (2, ${at(second)}), (3, ${at(third)})) a (number, at)
    where d.status = 'pending' and d.lane = ${id}`;
  await sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_story', 'somewhere', now() + interval '24 seconds')
    on conflict (id) do update set expires_at = excluded.expires_at`;
  await sql`update purchase_watch_internal.shards set owner = 'rep_story'`;
  await sql`update purchase_watch_internal.sites set last_success_at = ${at(SECOND)} where name = ${site}`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, alerted_at, alerted_count, heard)
    values ('inc_story', 'stuck', ${site}, 6, ${at(stuck)}, ${at(card)}, 3, 3, ${at(stuck - 30 * SECOND)}, 2, '{1}')`;
  return id;
}
