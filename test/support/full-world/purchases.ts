/** Purchases of the full world with what polls recorded of them: the longest ids and texts, several currencies, 1 200 of them stuck. */
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { LONG_SITE, UNBROKEN } from './words.ts';

const PURCHASES = 4_000;
/** Of those: at the card payment provider of one site alone. */
const STUCK_AT_CARDS = 1_000;

/** Site, state and status by number: the first 1 200 are stuck, a few cannot be read, the others are watched or over. */
const PLACES = `
  case when i <= 1100 then 'se' when i <= 1160 then '${LONG_SITE}' when i <= 1200 then 'fi' else (array['se', 'fi', '${LONG_SITE}'])[1 + i % 3] end as site,
  case when i <= ${STUCK_AT_CARDS} then 6 when i <= 1100 then 4 when i <= 1160 then 6 when i <= 1200 then 9
    when i <= 1800 then (array[0, 1, 4, 6, 7, 9, 10, 12, 14, 99])[1 + i % 10] when i <= 1850 then null
    when i % 20 < 2 then 6 else (array[2, 2, 2, 3, 5, 8, 11, 13])[1 + i % 8] end as state,
  case when i <= 1800 then 'watching' when i <= 1850 then 'unreadable' when i % 20 = 0 then 'expired' when i % 20 = 1 then 'stopped' else 'settled' end as status,
  i <= 1200 as stuck, (5000 - i) * interval '7 seconds' as age`;

/** The longest id, at a place of its own. */
export const longId = (number: number): string => `purchase-${number}-`.padEnd(200, 'w');
/** A purchase whose every text is the longest: stuck, with metadata, and with a long order. */
export const LONGEST = 7 * 3 * 5 * 4;
const ID = `case when i % 7 = 0 then rpad('purchase-' || i || '-', 200, 'w') else md5(i::text)::uuid::text end`;
/** Some orders were paid by two purchases; some have the longest reference. */
const ORDER = `case when i % 13 = 0 or i = ${LONGEST} then rpad('ORDER-' || i || '-', 200, 'M') when i > 1850 and i % 9 < 2 then 'TWICE-' || i / 9 else 'ORD-' || (100000 + i) end`;

/** Writes purchases, transitions, events and details as the recorder leaves them. */
export async function addPurchases(sql: Sql): Promise<void> {
  await sql.unsafe(`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since, seen_at, last_polled_at, registered_at,
      watched_since, polls, sequence, next_poll_at, ended_at, reference, metadata, registered_by, failures, last_error, invoice)
    select ${ID}, site, status, state, case when state is not null then now() - age + interval '1 minute' end,
      case when stuck then now() - age + interval '9 minutes' end, case when state is not null then now() - interval '5 seconds' end, now() - interval '5 seconds',
      now() - age, now() - age, 1 + i % 1000, case when state is null then 0 when stuck or status <> 'watching' then 3 when state = 0 then 1 else 2 end,
      case when status in ('watching', 'unreadable') then now() + interval '60 days' end,
      case when status in ('settled', 'expired', 'stopped') then now() - age + interval '3 minutes' end,
      case when i % 5 = 0 then rpad('reference-' || i || '-', 200, 'r') when i % 11 <> 0 then 'CART-' || i end,
      case when i % 3 = 0 then jsonb_build_object('cart', i, 'note', '${UNBROKEN}') end,
      case when i % 4 = 0 then rpad('sql: ', 200, 'role') else 'api' end, case when status = 'unreadable' then 90 else 0 end,
      case when status = 'unreadable' then 'The service answered 500: ${UNBROKEN}' end, case when i % 40 = 2 then 'ready' when i % 40 = 3 then 'wanted' end
    from (select i, ${PLACES} from generate_series(1, ${PURCHASES}) i) s order by i`);
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select id, step, nullif(step - 1, 0), lag(to_state) over (partition by id order by step), to_state,
      case when step > 1 then registered_at + (step - 2) * interval '50 seconds' end, registered_at + (step - 1) * interval '50 seconds'
    from (select p.id, p.registered_at, step,
        case when step = 1 then 0 when step = last then p.state when p.state = 6 then 4 else 6 end as to_state
      from (select *, case when stuck_since is null then sequence else 2 end as last from purchase_watch.purchases) p
      cross join generate_series(1, 3) step where step <= last) s order by id, step`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    select id, type, site, row_id, sequence, nullif(sequence - 1, 0), shard, state, at, json_build_object('id', id, 'type', type, 'timestamp', at,
      'data', json_build_object('site', site, 'purchaseId', purchase_id, 'sequence', sequence, 'from', json_build_object('value', 0, 'name', 'New'),
        'to', json_build_object('value', 6, 'name', 'WaitingForCardPayments'), 'notBefore', at, 'notAfter', at, 'final', false, 'reference', reference,
        'metadata', metadata, 'price', 249.5, 'currency', 'SEK', 'orderReference', 'ORD-1'))::text
    from (select 'evt_' || lpad(p.id || '0' || s, 26, '0') as id, p.id as row_id, s as sequence, p.shard, p.site, p.purchase_id, p.state, p.reference, p.metadata,
        p.registered_at + s * interval '50 seconds' as at, case when p.stuck_since is not null and s = p.sequence then 'purchase.stuck' else 'purchase.state_changed' end as type
      from purchase_watch.purchases p cross join generate_series(1, 3) s where s <= p.sequence order by s, p.id) e`;
  await sql.unsafe(`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select p.id, json_build_object('Price', case when i % 17 = 0 then 1234567890123.45 else 99.5 + i % 4000 end, 'CurrencyCode', (array['SEK', 'NOK', 'EUR', 'DKK'])[1 + i % 4],
      'OrderReference', ${ORDER}, 'SiteCode', 'SHOP-SE', 'CountryCode', (array['SWE', 'NOR', 'FIN'])[1 + i % 3], 'PaymentMethod', i % 12,
      'Description', case when i % 2 = 0 then '${UNBROKEN}' end)
    from (select id, row_number() over (order by id) as i from purchase_watch.purchases) p where i % 25 <> 0`);
  await sql`
    insert into purchase_watch_internal.order_payments (purchase, paid_at, announced_at)
    select p.id, p.ended_at, now() from purchase_watch.purchases p join purchase_watch_internal.purchase_details d on d.purchase = p.id
    where p.state = 2 and d.fields ->> 'OrderReference' like 'TWICE-%'`;
  await sql`insert into purchase_watch_internal.order_counts (site, paid, repeated) values ('se', 142000, 31), ('fi', 900, 400)`;
}
