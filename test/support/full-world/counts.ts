/** Counts that charts are made of, and another replica that has all the work: this daemon only shows. */
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { LONG_SITE, SITES, UNBROKEN } from './words.ts';

const ELSEWHERE = 'rep_elsewhere';

/**
 * A replica on another machine that owns every shard and every lease, so that a daemon beside it polls, sends and judges nothing:
 * the world stays as it was written. Before the start of that daemon.
 */
export async function addReplicaElsewhere(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at, lease_ms) values (${ELSEWHERE}, 'elsewhere/1 1 1', now() + interval '1 day', 86400000)`;
  await sql`update purchase_watch_internal.shards set owner = ${ELSEWHERE}`;
  await sql`update purchase_watch_internal.leases set owner = ${ELSEWHERE}`;
}

/** Writes what replicas and the judge count, and what troubles them. */
export async function addCounts(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.activity (site, minute, polls, failed_polls, changes, greatest_lag_ms)
    select name, date_trunc('minute', now()) - n * interval '1 minute', 100 + n % 60, case when n % 700 = 0 then 1 else 0 end, 20, 40 + n % 2000
    from unnest(${[...SITES]}::text[]) as s (name) cross join generate_series(0, 5 * 1440) n`;
  await sql`
    insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
    select s.name, date_bin('10 minutes', now(), '2000-01-01') - n * interval '10 minutes', e.from_state, e.to_state, 5 + n % 7
    from unnest(${[...SITES]}::text[]) as s (name) cross join generate_series(0, 15 * 144) n
    cross join (values (null, 0), (0, 1), (1, 4), (1, 6), (1, 9), (1, 7), (1, 12), (4, 2), (6, 2), (6, 5), (9, 2), (1, 8)) e (from_state, to_state)`;
  await sql`
    insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
    select s.name, state, current_date - day, bucket, 10, 10 from unnest(${[...SITES]}::text[]) as s (name)
    cross join unnest(array[0, 1, 4, 6, 7, 9, 12]) state cross join generate_series(0, 14) day cross join generate_series(12, 36) bucket`;
  await sql`
    insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue)
    select s.name, state, current_date - day, true, 500, 10 from unnest(${[...SITES]}::text[]) as s (name)
    cross join unnest(array[0, 1, 4, 6, 7, 9, 12]) state cross join generate_series(0, 14) day`;
  await sql`
    update purchase_watch_internal.sites set first_success_at = now() - interval '90 days', last_success_at = now(), last_read_at = now(),
      last_error = ${`The service answered 500: ${UNBROKEN}`} where configured`;
  await sql`update purchase_watch_internal.sites set failing_since = now() - interval '40 minutes', failing_reason = 'refused' where name = ${LONG_SITE}`;
  await sql`
    insert into purchase_watch_internal.site_reach (site, replica, last_read_at, failing_since, reason, error)
    values (${LONG_SITE}, ${ELSEWHERE}, now() - interval '40 minutes', now() - interval '40 minutes', 'refused', ${`401 Unauthorized: ${UNBROKEN}`})`;
  await sql`
    insert into purchase_watch_internal.site_calls (site, replica, breaker, breaker_cause, breaker_since, next_probe_at, calls_per_second, ceiling, has_token, token_fetched_at, token_expires_at,
      token_refused_at, token_refusal)
    select name, ${ELSEWHERE}, case when name = ${LONG_SITE} then 'open' else 'closed' end, case when name = ${LONG_SITE} then 'failing' end, now() - interval '40 minutes',
      case when name = ${LONG_SITE} then now() + interval '20 seconds' end, 12.345, 50, true, now() - interval '50 minutes', now() + interval '10 minutes',
      case when name = ${LONG_SITE} then now() end, case when name = ${LONG_SITE} then ${UNBROKEN} end from unnest(${[...SITES]}::text[]) as s (name)`;
  await sql`
    insert into purchase_watch_internal.replica_troubles (replica, reason, host, since, error)
    values (${ELSEWHERE}, 'not_recording', ${'host-'.padEnd(63, 'h')}, now() - interval '12 minutes', ${UNBROKEN})`;
  await sql`insert into purchase_watch_internal.unknown_states (site, state) values ('se', 99), ('fi', 77)`;
}
