/** What the last days left beside the archive: counts that charts are made of, long lists, and an open incident with its customers. */
import type { Sql } from '../src/postgres/connection/database.ts';
import { addSnapshots } from '../test/support/full-world/snapshots.ts';

export const OPEN_INCIDENT = 'inc_bench';
export const ENDED_INCIDENT = 'inc_default6000';
/** As long as counts of ends are kept by default. */
const DAYS_OF_TRENDS = 400;

/** Fills the database, after the archive. */
export async function fillRecent(sql: Sql, say: (line: string) => void): Promise<void> {
  say('counts, lists and an incident');
  await fillCounts(sql);
  await fillLists(sql);
  await fillIncident(sql);
  say(`counts of ends of ${DAYS_OF_TRENDS} days`);
  await fillTrends(sql);
  for (const table of [
    'outcome_hours',
    'outcome_hour_sums',
    'outcome_day_sums',
    'waited_hours',
    'delivery_hours',
    'incident_members',
    'transition_counts',
    'snapshots',
    'actions',
    'incidents',
    'silences',
    'attempts',
  ]) {
    await sql`vacuum (analyze) purchase_watch_internal.${sql(table)}`;
  }
}

/** Fifteen days of minutes and transitions, and a fortnight of dwell times and of how purchases stood. */
async function fillCounts(sql: Sql): Promise<void> {
  await addSnapshots(sql, ['default', 'fi', 'no']);
  await sql`
    insert into purchase_watch_internal.activity (site, minute, polls, failed_polls, changes, greatest_lag_ms)
    select name, date_trunc('minute', now()) - n * interval '1 minute', 300 + n % 60, n % 3, 20, 40
    from purchase_watch_internal.sites cross join generate_series(0, 15 * 1440) n`;
  await sql`
    insert into purchase_watch_internal.delivery_activity (minute, subscriber, delivered, failed_attempts)
    select date_trunc('minute', now()) - n * interval '1 minute', 'archive', 40 + n % 20, n % 2 from generate_series(0, 15 * 1440) n`;
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select s.name, date_bin('10 minutes', now(), '2000-01-01') - n * interval '10 minutes', e.from_state, e.to_state, 5 + n % 7
    from purchase_watch_internal.sites s cross join generate_series(0, 15 * 144) n
    cross join (values (null, 0), (0, 1), (1, 4), (1, 6), (1, 9), (4, 2), (6, 2), (6, 5), (9, 2), (1, 8)) e (from_state, to_state)`;
  await sql`
    insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
    select s.name, state, current_date - day, bucket, 10, 10 from purchase_watch_internal.sites s
    cross join unnest(array[0, 1, 4, 6, 9]) state cross join generate_series(0, 14) day cross join generate_series(12, 36) bucket`;
  await sql`
    insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue)
    select s.name, state, current_date - day, true, 500, 10 from purchase_watch_internal.sites s
    cross join unnest(array[0, 1, 4, 6, 9]) state cross join generate_series(0, 14) day`;
}

/** What people did, and incidents and silences that are over; and why deliveries were given up. */
async function fillLists(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.actions (at, key_name, address, via, call, subject, outcome)
    select now() - (100000 - n) * interval '1 minute', 'operator', '10.0.0.7', 'console', 'POST /v1/deliveries/{id}/retry',
      jsonb_build_object('id', 'dlv_' || n), 'done' from generate_series(1, 100000) n`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, since, opened_at, ended_at, quiet_since, count, peak)
    select 'inc_' || s.name || n, 'stuck', s.name, 6, at, at, at + interval '1 hour', at + interval '50 minutes', 0, 9
    from generate_series(1, 6000) n cross join lateral (select now() - (6001 - n) * interval '2 hours' as at) t
    cross join purchase_watch_internal.sites s order by n`;
  await sql`
    insert into purchase_watch_internal.silences (site, reason, created_by, created_at, starts_at, ends_at)
    select 'fi', 'The bank changes its page.', 'Aino', at, at, at + interval '1 hour'
    from generate_series(1, 20000) n cross join lateral (select now() - (20002 - n) * interval '1 hour' as at) t`;
  await sql`
    insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, fault)
    select d.id, n, now() - n * interval '1 minute', 80, 500, 'http_error', 'receiver'
    from purchase_watch_internal.deliveries d cross join generate_series(1, 8) n where d.status = 'exhausted'`;
}

/** An hour in which a quarter of the customers did not get on from the card payment at one site. */
async function fillIncident(sql: Sql): Promise<void> {
  await sql`
    with customer as (
      insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since, seen_at, last_polled_at,
        registered_at, polls, sequence, next_poll_at, ended_at, reference)
      select 'customer-' || n, 'default', case when stuck then 'watching' else 'settled' end, case when stuck then 6 else 2 end,
        at + interval '1 minute', case when stuck then at + interval '16 minutes' end, now(), now(), at, 7, 3,
        case when stuck then now() + interval '60 days' end, case when stuck then null else at + interval '3 minutes' end, 'LATE-' || n
      from (select n, now() - (2020 - n) * interval '3 seconds' as at, n % 4 = 0 and n < 1600 as stuck from generate_series(1, 2000) n) c
      order by n returning id, registered_at, state)
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select id, sequence, nullif(sequence - 1, 0), from_state, to_state, registered_at, registered_at + sequence * interval '30 seconds'
    from customer cross join (values (1, null, 0), (2, 0, 6), (3, 6, 2)) t (sequence, from_state, to_state)
    where sequence < 3 or state = 2 order by id, sequence`;
  const hourAgo = Date.now() - 3_600_000;
  const alarm = {
    ...{ at: hourAgo + 600_000, rule: 'share', since: hourAgo, entrants: 40, overdue: 9 },
    ...{ usualShare: 0.02, perDay: 500, falseAlarmEvery: 5_700 },
  };
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, severity, alarm, since, opened_at, alerted_at, alerted_count, alerted_severity, count, peak)
    values (${OPEN_INCIDENT}, 'stuck', 'default', 6, 0, ${JSON.stringify(alarm)}, now() - interval '1 hour', now() - interval '50 minutes',
      now() - interval '49 minutes', 20, 0, 400, 400)`;
}

/** Each hour's ends by five ways and two methods, how long they waited, the attempts of one subscriber, and a mark a day. */
async function fillTrends(sql: Sql): Promise<void> {
  const hours = DAYS_OF_TRENDS * 24;
  await sql`
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, method, country, currency)
    select date_bin('1 hour', now(), 'epoch') - n * interval '1 hour', customers + n % 7, (customers + n % 7) * 249.5, way, was_stuck, outcome, s.name, method, 'SE', 'SEK'
    from generate_series(1, ${hours}::integer) n cross join purchase_watch_internal.sites s cross join unnest(array[4, 6, 7, 9, 12]) way
    cross join unnest(array['1', '5']) method
    cross join (values ('paid', false, 40), ('not_paid', false, 5), ('not_paid', true, 1)) o (outcome, was_stuck, customers)`;
  await sql`
    insert into purchase_watch_internal.waited_hours (site, hour, way, bucket, customers)
    select s.name, date_bin('1 hour', now(), 'epoch') - n * interval '1 hour', way, bucket, 10
    from generate_series(1, ${hours}::integer) n cross join purchase_watch_internal.sites s cross join unnest(array[4, 6, 7, 9, 12]) way
    cross join unnest(array[16, 20, 22, 25, 28, 34]) bucket`;
  await sql`
    insert into purchase_watch_internal.delivery_hours (subscriber, hour, delivered, status_class, bucket, attempts)
    select s.id, date_bin('1 hour', now(), 'epoch') - n * interval '1 hour', d.delivered, d.status, d.bucket, d.attempts
    from purchase_watch_internal.subscribers s cross join generate_series(1, ${hours}::integer) n
    cross join (values (true, 2, 14, 900), (true, 2, 18, 300), (false, 5, 30, 3)) d (delivered, status, bucket, attempts)`;
  await sql`
    insert into purchase_watch_internal.marks (at, text, site)
    select now() - n * interval '1 day', 'deploy ' || n, null from generate_series(1, ${DAYS_OF_TRENDS}::integer) n`;
  await sql`
    insert into purchase_watch_internal.incident_members (incident, purchase, customer, site, state, came, stuck_at)
    select ${ENDED_INCIDENT}, id, id, site, 6, registered_at, registered_at + interval '16 minutes'
    from purchase_watch.purchases where purchase_id like 'customer-%' and site = 'default'`;
}
