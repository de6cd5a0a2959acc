/** Who was stuck in two incidents: more than are drawn one by one in an open one, and in an ended one with every end and a loss. */
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { UNBROKEN } from './words.ts';

/** Incidents and purchases must be there. */
export async function addMembers(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.incident_members (incident, purchase, customer, site, state, came, stuck_at)
    select 'inc_se_cards', id, id, site, state, state_since, stuck_since from purchase_watch.purchases
    where site = 'se' and state = 6 and stuck_since is not null order by id limit 700`;
  await sql`
    insert into purchase_watch_internal.incident_members (incident, purchase, customer, site, state, came, stuck_at)
    select i.id, p.id, p.id, i.site, 6, i.since + p.n * interval '20 seconds', i.since + interval '9 minutes' + p.n * interval '20 seconds'
    from purchase_watch_internal.incidents i cross join lateral (
      select id, row_number() over (order by id) as n from (
        (select id from purchase_watch.purchases where site = i.site and status = 'settled' order by id limit 90)
        union all (select id from purchase_watch.purchases where site = i.site and status <> 'settled' order by id limit 12)) q) p
    where i.id = 'inc_ended_246'`;
  await sql`
    insert into purchase_watch_internal.incident_members (incident, customer, site, state, came, stuck_at, outcome, amount, currency)
    select 'inc_ended_246', -n, site, 6, since, since + interval '9 minutes', (array['paid', 'not_paid'])[1 + n % 2], 1234567890.45, 'SEK'
    from purchase_watch_internal.incidents cross join generate_series(1, 8) n where id = 'inc_ended_246'`;
  await sql`
    insert into purchase_watch_internal.marks (at, text, site)
    select since + n * interval '5 minutes', case when n = 0 then ${UNBROKEN.slice(0, 200)} else 'deploy ' || n end, case when n % 2 = 0 then site end
    from purchase_watch_internal.incidents cross join generate_series(-9, 3) n where id = 'inc_ended_246'`;
  const came = ['SEK', 'NOK', 'EUR'].map((currency) => ({
    ...{ currency, customers: 136, paid: 72, open: 2 },
    ...{ priced: 64, sum: 64 * 1_234_567, squares: 64 * 1_234_567 ** 2 },
  }));
  const usual = Array.from({ length: 14 }, () => ({ customers: 492, paid: 429 }));
  const counts = [{ site: 'se', states: [6], from: 0, until: 3_600_000, isComplete: true, came, usual }];
  await sql`
    insert into purchase_watch_internal.aftermaths (incident, counted_at, counts) values ('inc_ended_246', now(), ${JSON.stringify(counts)})`;
}
