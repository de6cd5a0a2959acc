/** A database as a busy merchant's looks after months: settled, watched and stuck purchases, and all their events and deliveries. */
import type { Sql } from '../src/postgres/connection/database.ts';
import { purchaseId } from './processes/messages.ts';

export interface ArchiveSize {
  readonly purchases: number;
  /** Of each purchase. */
  readonly events: number;
}

/** So many purchases are written by one statement. */
const CHUNK = 20_000;
/** Status and state by the last two digits of the purchase's number: 80 % are over, one in a hundred is stuck. */
const STATUS = `case when i % 100 < 70 then 'settled' when i % 100 < 75 then 'stopped' when i % 100 < 80 then 'expired' else 'watching' end`;
const STATE = `case when i % 100 < 60 then 2 when i % 100 < 65 then 5 when i % 100 < 70 then 8
  when i % 100 = 99 then 6 when i % 100 = 98 then null else (array[0, 1, 4, 6, 7, 9])[1 + (i / 100 + i) % 6] end`;
const SITES = ['default', 'fi', 'no'];
const SITE = `(array[${SITES.map((site) => `'${site}'`).join(', ')}])[1 + i % ${SITES.length}]`;

/** The id of a purchase's nth event. */
export function eventId(purchase: number, sequence: number): string {
  return `evt_${`${purchase}0${sequence}`.padStart(26, '0')}`;
}

/** Fills the database. Nothing is due, and of each purchase the first event was delivered to one subscriber. */
export async function fillArchive(sql: Sql, { purchases, events }: ArchiveSize, say: (line: string) => void): Promise<void> {
  await sql`insert into purchase_watch_internal.sites (name) values ('fi'), ('no') on conflict do nothing`;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, address_hash) values ('archive', 'webhook', 'bench')`;
  for (let from = 0; from < purchases; from += CHUNK) {
    const to = Math.min(from + CHUNK, purchases) - 1;
    if (from % (10 * CHUNK) === 0) say(`${from} of ${purchases} purchases are there`);
    await sql`
      insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since, seen_at, last_polled_at,
        registered_at, polls, sequence, next_poll_at, ended_at, reference)
      select '00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'), ${sql.unsafe(SITE)}, status, state,
        case when state is not null then now() - (${purchases} - i) * interval '1 second' end,
        case when i % 100 = 99 then now() end, now(), now(), now() - (${purchases} - i) * interval '1 second', 7, ${events},
        now() + interval '60 days', case when status in ('settled', 'stopped', 'expired') then now() end, 'ORD-' || i
      from (select i, ${sql.unsafe(STATUS)} as status, ${sql.unsafe(STATE)} as state
        from generate_series(${from}::integer, ${to}::integer) as i) s order by i`;
    await sql`
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select id, type, site, row_id, sequence, nullif(sequence - 1, 0), shard, 6, now(),
        json_build_object('id', id, 'type', type, 'timestamp', now(), 'data', json_build_object('site', site, 'purchaseId', purchase_id,
          'sequence', sequence, 'from', null, 'to', json_build_object('value', 6, 'name', 'WaitingForCardPayments'), 'notBefore', now(),
          'notAfter', now(), 'final', false, 'reference', 'ORD-1', 'metadata', null, 'price', 249.5, 'currency', 'SEK', 'orderReference', 'ORD-1'))::text
      from (select 'evt_' || lpad(number::text || '0' || s.sequence, 26, '0') as id, p.id as row_id, s.sequence, p.shard, p.site, p.purchase_id,
          case when number % 100 = 99 and s.sequence = ${events} then 'purchase.stuck' else 'purchase.state_changed' end as type
        from generate_series(${from}::integer, ${to}::integer) as number
        join purchase_watch.purchases p on p.purchase_id = '00000000-0000-4000-8000-' || lpad(to_hex(number), 12, '0') and p.site in ('default', 'fi', 'no')
        cross join generate_series(1, ${events}::integer) as s (sequence) order by s.sequence, number) e`;
    await sql`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select p.id, s, nullif(s - 1, 0), case when s > 1 then 100 + s - 1 end, 100 + s, now(), now()
      from purchase_watch.purchases p cross join generate_series(1, 3) s
      where p.id > (select max(id) - ${to - from + 1} from purchase_watch.purchases) order by p.id, s`;
    await sql`
      insert into purchase_watch_internal.purchase_details (purchase, fields)
      select id, format('{"Price":%s.50,"CurrencyCode":"SEK","OrderReference":"%s"}', 50 + abs(hashint8(id)) % 900, reference)::json from purchase_watch.purchases
      where id > (select max(id) - ${to - from + 1} from purchase_watch.purchases)`;
    await sql`
      insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status)
      select e.position, e.purchase, now(), now(), s.id, 1, e.shard, case when e.purchase % 1000 = 0 then 'exhausted' else 'delivered' end
      from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s
      where e.sequence = 1 and e.purchase > (select max(id) - ${to - from + 1} from purchase_watch.purchases) order by e.position`;
  }
  say('vacuum');
  for (const table of [
    'purchase_watch.purchases',
    'purchase_watch_internal.purchase_transitions',
    'purchase_watch_internal.events',
    'purchase_watch_internal.purchase_details',
    'purchase_watch_internal.deliveries',
  ]) {
    await sql`vacuum (analyze) ${sql(table)}`;
  }
  await sql`checkpoint`.catch(() => undefined);
}

/** A purchase of the archive, anywhere in it. */
export function anyPurchase({ purchases }: ArchiveSize): { number: number; id: string; site: string } {
  const number = Math.floor(Math.random() * purchases);
  return { number, id: purchaseId(number), site: SITES[number % SITES.length]! };
}
