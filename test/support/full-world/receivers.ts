/** Deliveries of the full world: one subscriber is paused with 9 520 parked, one was switched off, others fail, and channels were sent the longest messages. */
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { LONG_ANSWER, LONG_PERSON, OFF, PAUSED, UNBROKEN } from './words.ts';

const PARKED = 9_520;
const SUBSCRIBERS = 44;

/** What the API is asked to add; the first two are those in trouble. */
export function newSubscribers(url: string): readonly Record<string, unknown>[] {
  return Array.from({ length: SUBSCRIBERS }, (_, number) => ({
    name:
      number === 0 ? PAUSED : number === 1 ? OFF : number % 4 === 0 ? `warehouse_${number}_`.padEnd(63, 'w') : `shop-${number}`,
    url: `${url}/${number % 3 === 0 ? UNBROKEN : number}`,
    description: number % 2 === 0 ? UNBROKEN : null,
    headers: number % 5 === 0 ? { 'x-tenant': 'one', [`x-${'tenant-'.repeat(8)}y`]: 'two' } : null,
    types: number % 3 === 0 ? ['purchase.state_changed', 'purchase.stuck', 'order.paid_twice'] : null,
    states: number === 0 ? ['WaitingForCardPayments', 'Completed'] : null,
  }));
}

/** Writes health, deliveries and attempts as notifiers leave them; purchases and subscribers must be there. */
export async function addDeliveries(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error, cause)
    select id, 57, 9, now() - interval '5 hours', now() + interval '14 minutes', ${`500 Internal Server Error: ${UNBROKEN}`}, 'http_500'
    from purchase_watch_internal.subscribers where name in (${PAUSED}, 'shop-3', 'shop-5')
    union all
    select id, 2, 0, now() - interval '2 minutes', null, ${UNBROKEN}, 'timeout' from purchase_watch_internal.subscribers where name in ('shop-7', 'shop-9')
    on conflict (subscriber) do update set failures = excluded.failures`;
  await sql`
    update purchase_watch_internal.subscribers set status = 'off', failed_at = now() - interval '2 days', status_reason = ${`Its receiver answered 410: ${UNBROKEN}`}
    where name in (${OFF}, 'shop-11')`;
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status, rank, http_status, took_ms, last_error, excerpt)
    select e.position, e.purchase, e.created_at + interval '1 minute', case when d.status <> 'pending' then e.created_at + interval '1 minute' end, s.id, d.attempts, e.shard, d.status, 0,
      d.http_status, 312, case when d.status <> 'delivered' and d.attempts > 0 then ${`500 Internal Server Error: ${UNBROKEN}`} end, case when d.attempts > 0 and d.status <> 'delivered' then ${LONG_ANSWER} end
    from (values
      (${PAUSED}, 'pending', ${PARKED}, 1, 500), ('default', 'delivered', 3000, 1, 200), ('shop-13', 'exhausted', 260, 8, 500), (${OFF}, 'suppressed', 412, 0, null::integer), ('shop-3', 'pending', 240, 2, 503)
    ) d (name, status, count, attempts, http_status)
    join purchase_watch_internal.subscribers s on s.name = d.name and s.configured
    join purchase_watch_internal.events e on e.position <= d.count order by e.position`;
  await sql`
    insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, fault, excerpt)
    select d.id, n, now() - (9 - n) * interval '20 minutes', 20000 + n, case when n % 4 = 3 then null else 500 end, case when n % 4 = 3 then 'timeout' else 'http_500' end, 'receiver',
      case when n % 4 <> 3 then ${LONG_ANSWER} end
    from purchase_watch_internal.deliveries d cross join lateral generate_series(1, d.attempts) n
    where d.status <> 'delivered' and (d.status <> 'pending' or d.event < 300)`;
  await sql`
    insert into purchase_watch_internal.delivery_activity (minute, subscriber, delivered, failed_attempts)
    select date_trunc('minute', now()) - n * interval '1 minute', name, 40 + n % 20, case when n % 400 = 0 then 1 else 0 end
    from (values ('default'), (${PAUSED})) s (name) cross join generate_series(0, 5 * 1440) n`;
}

/** Writes what channels for people were sent: the longest messages that there are, of which some were refused. */
export async function addAlerts(sql: Sql): Promise<void> {
  const events = [...Array(30)].flatMap((_, round) =>
    exampleEvents(Date.now() - (40 - round) * 600_000, round % 2 === 0 ? 'longest' : 'typical').map((event) => ({
      ...event,
      round,
    })),
  );
  for (const { type, body, round } of events) {
    const id = `evt_alert_${round}_${type}`;
    await sql`
      with event as (
        insert into purchase_watch_internal.events (id, type, site, shard, incident, created_at, body)
        values (${id}, ${type}, 'se', 0, ${round % 2 === 0 ? 'inc_sites' : 'inc_long'}, now() - ${40 - round} * interval '10 minutes', ${body.replace(/evt_test_\w+/, id)})
        returning position, created_at)
      insert into purchase_watch_internal.deliveries (event, lane, due_at, settled_at, subscriber, attempts, shard, status, http_status, took_ms, last_error, excerpt)
      select position, 0, event.created_at, event.created_at, s.id, 1, 0, case when ${round} % 4 = 3 then 'exhausted' else 'delivered' end, case when ${round} % 4 = 3 then 404 else 200 end, 312,
        case when ${round} % 4 = 3 then ${`404 no_service: ${UNBROKEN}`} end, case when ${round} % 4 = 3 then ${LONG_ANSWER} else 'ok' end
      from event cross join purchase_watch_internal.subscribers s where s.audience = 'people' and s.configured`;
  }
  await sql`
    insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, fault, excerpt)
    select d.id, 1, d.settled_at, 312, d.http_status, 'http_404', 'receiver', ${LONG_ANSWER} from purchase_watch_internal.deliveries d
    join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.audience = 'people' and d.status = 'exhausted'`;
  await sql`
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, alerted_at, mode, counted_stays, stays_per_day)
    select id, site, state, state_since, stuck_since, false, stuck_since, 'auto', 14, 5 from purchase_watch.purchases where stuck_since is not null and site <> 'se'`;
  await sql`
    insert into purchase_watch_internal.forgotten (site, sha256, by, counts) select 'se', md5(n::text), ${LONG_PERSON}, '{"events": 3}' from generate_series(1, 20) n`;
}
