/** The records of a shop whose page was broken for a while. */
import type { Sql } from '../../src/postgres/connection/database.ts';

const HOUR = 3_600_000;

/** From `T` on a customer every two minutes for four hours; in the third hour the page of the site is broken for half an hour. */
export async function brokenPage(sql: Sql, T: number, site = 'se'): Promise<void> {
  await sql`alter table purchase_watch.purchases disable trigger user`;
  await sql`update purchase_watch_internal.sites set first_success_at = to_timestamp(${T - HOUR} / 1000.0)`;
  await sql`
    with customer as (
      select n, to_timestamp(${T} / 1000.0) + n * interval '2 minutes' as at, n between 60 and 74 as lost from generate_series(0, 119) n),
    bought as (
      insert into purchase_watch.purchases (purchase_id, site, registered_at, state, state_since, seen_at, shard, sequence, status, ended_at)
      select 'p-' || n, ${site}, at, case when lost then 5 else 2 end, at, at, 0, 2, 'settled', at + interval '25 minutes' from customer
      returning id, registered_at as at, state),
    came as (
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
      select id, 1, null, null, 6, null, at from bought)
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select id, 2, 1, 6, state, at + case when state = 5 then interval '20 minutes' else interval '30 seconds' end,
      at + case when state = 5 then interval '21 minutes' else interval '35 seconds' end from bought`;
}
