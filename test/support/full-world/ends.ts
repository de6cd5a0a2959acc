/** Half a year of counted ends at each site, as folding leaves them: each hour of the last fifteen days, and two hours of each day before the sixteenth; and a mark. */
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { LONG_SITE, SITES, UNBROKEN } from './words.ts';

/** Steps from 0 to 1 without a pattern, the same in each run. */
const WAVE = `((hashint4(n * 131 + way * 17 + length(site)) & 1023) / 1023.0)`;
/** Customers of an hour: few at night, most in the evening. */
const PROFILE =
  '(array[2, 1, 0, 0, 0, 1, 6, 14, 22, 28, 34, 38, 40, 36, 34, 36, 40, 46, 56, 70, 76, 62, 38, 12])[1 + hour_of_day]';

export async function addEnds(sql: Sql): Promise<void> {
  await sql.unsafe(`
    with hours as (
      select n, date_trunc('hour', now()) - n * interval '1 hour' as hour, extract(hour from now() - n * interval '1 hour')::integer as hour_of_day, 1 as weight from generate_series(1, 15 * 24) n
      union all
      select 400 + n, date_bin('1 day', now(), 'epoch') - (16 + n / 2) * interval '1 day' + (12 + n % 2 * 7) * interval '1 hour', 12 + n % 2 * 7, 8 from generate_series(0, 340) n),
    counted as (
      select hour, site, currency, nullif(way, -1) as way, round(${PROFILE} * weight * size * often * (0.8 + 0.4 * ${WAVE})) as came,
        share * case when way = 6 and site = '${SITES[0]}' and n between 30 and 33 then 0.6 else 1 end * (0.94 + 0.12 * ${WAVE}) as share, late
      from hours cross join (values ('${SITES[0]}', 'SEK', 1.0), ('${SITES[1]}', 'EUR', 0.3), ('${SITES[2]}', 'NOK', 0.5)) s (site, currency, size)
      cross join (values (6, 1.0, 0.86, 0.02), (12, 0.36, 0.89, 0), (4, 0.33, 0.83, 0.02), (7, 0.2, 0.77, 0), (9, 0.12, 0.86, 0.01), (10, 0.1, 0.69, 0), (14, 0.06, 0.73, 0), (1, 0.05, 0.2, 0), (-1, 0.03, 0.1, 0)) w (way, often, share, late)),
    parts as (
      select hour, site, currency, way, p.outcome, p.was_stuck, round(p.customers) as customers from counted cross join lateral (values
        ('paid', false, came * least(share, 1) * (1 - late)), ('paid', true, came * least(share, 1) * late), ('not_paid', false, came * (1 - least(share, 1)) * 0.9),
        ('not_paid', true, came * (1 - least(share, 1)) * 0.1 * sign(late)), ('paid_by_another', true, came * 0.02 * sign(late)), ('open', false, came * 0.004)) p (outcome, was_stuck, customers))
    insert into purchase_watch_internal.outcome_hours (hour, customers, amount, way, was_stuck, outcome, site, currency)
    select hour, customers, customers * 678.5, way, was_stuck, outcome, site, currency from parts where customers > 0`);
  await sql.unsafe(`
    insert into purchase_watch_internal.waited_hours (site, hour, way, bucket, customers)
    select site, hour, way, bucket, greatest(1, round(sum(customers) * weight)) from purchase_watch_internal.outcome_hours
    cross join (values (19, 0.2), (21, 0.3), (23, 0.25), (26, 0.15), (30, 0.07), (38, 0.03)) b (bucket, weight)
    where way is not null and outcome in ('paid', 'not_paid') group by site, hour, way, bucket, weight`);
  await sql`
    insert into purchase_watch_internal.marks (at, text, site)
    values (now() - interval '30 hours', 'deploy 4.2 of the checkout page, with the new card form', ${SITES[0]})`;
  await sql`
    insert into purchase_watch_internal.marks (at, text, site)
    select now() - n * interval '31 days', ${UNBROKEN.slice(0, 200)}, ${LONG_SITE} from generate_series(4, 15) n`;
  await sql`
    insert into purchase_watch_internal.delivery_hours (subscriber, hour, delivered, status_class, bucket, attempts)
    select s.id, date_trunc('hour', now()) - n * interval '6 hours', d.delivered, d.status, d.bucket + s.id % 9, d.attempts + n % 40
    from purchase_watch_internal.subscribers s cross join generate_series(1, 380) n
    cross join (values (true, 2, 14, 900), (true, 2, 18, 300), (false, 5, 30, 3)) d (delivered, status, bucket, attempts)
    where d.delivered or (s.id % 3 = 0 and n % 11 < 3)`;
}
