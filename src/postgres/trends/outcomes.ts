/**
 * How purchases ended, and the counts of it by hour. Whatever ends a purchase, or changes an end, appends the purchase's id to a
 * table in its own transaction; folding reads how these purchases stand and puts the difference into the counts.
 */

import { FINAL_STATES, PAID_STATES } from '../../domain/purchases/outcome.ts';
import { LAST_BUCKET, PER_DOUBLING } from '../../domain/stays/dwell.ts';
import { HOUR, type Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstValue, onlyRow } from '../connection/rows.ts';
import { sliced } from '../stays/customer.ts';
import { othersOfOrder, paidByAnother, sharersOfOrder } from '../stays/evidence.ts';

/** Purchases that one statement looks at, without others of their orders; further ones wait for the next statement. */
const FOLDED_AT_ONCE = 1_000;
/** Combinations of method, country and currency that are kept apart at each site. */
const MOST_SLICES = 64;
/** A purchase that was registered so much later than another one of its order ended is another errand of the customer. */
const AGAIN_WITHIN: Milliseconds = 24 * HOUR;

const KEY = 'hour, way, was_stuck, outcome, site, method, country, currency';

/** SQL: the bucket of src/domain/stays/dwell.ts of a number of seconds. */
const bucketOf = (sql: Queries, seconds: Fragment): Fragment =>
  sql`case when ${seconds} < 1 then 0 else least(1 + floor(ln(${seconds}) / ln(2::float8) * ${PER_DOUBLING}::float8), ${LAST_BUCKET}::float8) end::smallint`;

/**
 * SQL: rows `(purchase, hour, way, waited, was_stuck, outcome, site, method, country, currency, amount)` of the purchases whose ids a
 * part of the statement, `subject (id)`, has; `outcome` is null where a purchase has not ended. Reads a few rows for each.
 */
export const outcomesOf = (sql: Queries): Fragment => sql`
    select p.id as purchase, date_bin('1 hour', coalesce(f.not_after, p.ended_at, p.state_since, p.registered_at), 'epoch') as hour,
      w.to_state as way, ${bucketOf(sql, sql`extract(epoch from f.not_after - w.not_after)::float8`)} as waited,
      exists (select from purchase_watch_internal.events e where e.purchase = p.id and e.type = 'purchase.stuck') as was_stuck,
      case
        when p.status in ('expired', 'stopped') then 'open'
        when p.status <> 'settled' then null
        when p.state = any(${PAID_STATES}::integer[]) then 'paid'
        when ${paidByAnother(sql)} then 'paid_by_another'
        when exists (select from (${othersOfOrder(sql)}) o where o.registered_at > p.registered_at
          and o.registered_at < p.ended_at + ${AGAIN_WITHIN} * interval '1 ms' and o.status in ('settled', 'expired', 'stopped')) then 'again'
        else 'not_paid' end as outcome,
      purchase_watch_internal.present_site(p.site) as site, ${sliced(sql, 'PaymentMethod')} as method, ${sliced(sql, 'CountryCode')} as country, ${sliced(sql, 'CurrencyCode')} as currency,
      purchase_watch_internal.stored_number(d.fields, 'Price') as amount
    from subject
    join purchase_watch.purchases p on p.id = subject.id
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    left join lateral (
      select not_after, sequence from purchase_watch_internal.purchase_transitions
      where purchase = p.id and to_state = any(${FINAL_STATES}::integer[]) order by sequence limit 1) f on true
    left join lateral (
      select to_state, not_after from purchase_watch_internal.purchase_transitions
      where purchase = p.id and sequence < coalesce(f.sequence, 2147483647) and to_state <> all(${FINAL_STATES}::integer[])
      order by sequence desc limit 1) w on true`;

/** Rows of purchases that one statement looks at for those that ended before their ends were counted. */
const FILLED_AT_ONCE = 5_000;

/** Notes a batch of the purchases that ended before this version; answers how many rows were looked at, 0 at the end. */
export const fillOutcomes = (sql: Queries) =>
  firstValue<number>(sql`
    with page as materialized (
      select id, ended_at from purchase_watch.purchases
      where id > (select filled_to from purchase_watch_internal.outcome_folds) order by id limit ${FILLED_AT_ONCE}),
    noted as (insert into purchase_watch_internal.outcome_changes (purchase) select id from page where ended_at is not null),
    moved as (update purchase_watch_internal.outcome_folds set filled_to = (select max(id) from page))
    select count(*) as looked from page`);

/**
 * Counts the purchases whose outcome changed since the last call; answers how many there were. Any replica may call this at any time:
 * of two that begin together one does nothing.
 */
export async function foldOutcomes(sql: Queries): Promise<number> {
  const number = await firstValue<number>(sql`select number from purchase_watch_internal.outcome_folds`);
  const { folded } = await onlyRow(sql<{ folded: number }[]>`
    with turn as materialized (
      update purchase_watch_internal.outcome_folds set number = number + 1 where number = ${number} returning number),
    taken as materialized (
      select ctid as at from purchase_watch_internal.outcome_changes
      where exists (select from turn) limit ${FOLDED_AT_ONCE} for update skip locked),
    changed as materialized (
      delete from purchase_watch_internal.outcome_changes where ctid = any(array(select at from taken)) returning purchase),
    -- The end of one purchase of an order changes what became of the customer of the others.
    subject as materialized (
      select distinct id from (
        select purchase as id from changed
        union all
        select s.id from changed c join purchase_watch.purchases p on p.id = c.purchase cross join lateral (${sharersOfOrder(sql)}) s) every),
    found as materialized (${outcomesOf(sql)}),
    before as materialized (
      select o.* from subject join purchase_watch_internal.outcomes o on o.purchase = subject.id for update of o),
    slice as materialized (
      select site, method, country, currency from found group by 1, 2, 3, 4
      except select site, method, country, currency from purchase_watch_internal.outcome_slices),
    kept as (
      insert into purchase_watch_internal.outcome_slices (site, method, country, currency)
      select site, method, country, currency from (
        select *, row_number() over (partition by site order by method, country, currency)
          + (select count(*) from purchase_watch_internal.outcome_slices k where k.site = slice.site) as place from slice) numbered
      where place <= ${MOST_SLICES} on conflict do nothing returning site, method, country, currency),
    apart as materialized (
      select site, method, country, currency from purchase_watch_internal.outcome_slices union all select * from kept),
    now as materialized (
      select f.purchase, f.hour, f.way, f.waited, f.was_stuck, f.outcome, f.site,
        case when a.site is null then '*' else f.method end as method, case when a.site is null then '*' else f.country end as country,
        case when a.site is null then '*' else f.currency end as currency, case when a.site is null then null else f.amount end as amount
      from found f left join apart a on a.site = f.site and a.method is not distinct from f.method
        and a.country is not distinct from f.country and a.currency is not distinct from f.currency
      where f.outcome is not null or exists (select from before b where b.purchase = f.purchase)),
    written as (
      insert into purchase_watch_internal.outcomes (purchase, hour, way, waited, was_stuck, outcome, site, method, country, currency, amount)
      select purchase, hour, way, waited, was_stuck, outcome, site, method, country, currency, amount from now
      on conflict (purchase) do update set hour = excluded.hour, way = excluded.way, waited = excluded.waited, was_stuck = excluded.was_stuck,
        outcome = excluded.outcome, site = excluded.site, method = excluded.method, country = excluded.country,
        currency = excluded.currency, amount = excluded.amount),
    difference as materialized (
      select ${sql.unsafe(KEY)}, waited, 1 as count, coalesce(amount, 0) as amount from now where outcome is not null
      union all
      select ${sql.unsafe(KEY)}, waited, -1, -coalesce(amount, 0) from before where outcome is not null),
    deleted as materialized (
      delete from purchase_watch_internal.outcomes_gone where exists (select from turn) returning ${sql.unsafe(KEY)}),
    counted as (
      insert into purchase_watch_internal.outcome_hours as h (${sql.unsafe(KEY)}, customers, gone, amount)
      select ${sql.unsafe(KEY)}, sum(count), sum(gone), sum(amount) from (
        select ${sql.unsafe(KEY)}, count, 0 as gone, amount from difference union all select ${sql.unsafe(KEY)}, 0, 1, 0 from deleted) every
      group by ${sql.unsafe(KEY)} having sum(count) <> 0 or sum(gone) <> 0 or sum(amount) <> 0
      on conflict (site, hour, way, was_stuck, outcome, method, country, currency) do update set
        customers = h.customers + excluded.customers, gone = h.gone + excluded.gone, amount = h.amount + excluded.amount),
    waited as (
      insert into purchase_watch_internal.waited_hours as h (site, hour, way, bucket, customers)
      select site, hour, way, waited, sum(count) from difference where way is not null and waited is not null
      group by 1, 2, 3, 4 having sum(count) <> 0
      on conflict (site, hour, way, bucket) do update set customers = h.customers + excluded.customers)
    select count(*) as folded from changed`);
  return folded;
}
