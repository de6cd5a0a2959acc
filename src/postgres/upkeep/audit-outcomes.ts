/** The statements of the audit that count again how purchases ended. */

import type { Queries } from '../connection/database.ts';
import { outcomesOf } from '../trends/outcomes.ts';
import { ofSite, type Range, type Report, report, within } from './audit-checks.ts';

/**
 * Compares how each purchase is counted with what its rows say. Of an order of which another purchase was deleted since, the outcome
 * stays as it was counted; purchases of which a change is not folded yet are left out.
 */
export const checkOutcomes = (sql: Queries, range: Range) => sql<Report[]>`
    with pending as materialized (select exists (select from purchase_watch_internal.outcome_changes) as is_some),
    subject as materialized (
      select p.id from purchase_watch.purchases p
      where ${within(sql, 'p.id', range)} and ${ofSite(sql, 'p.site', range.site)} and p.status not in ('watching', 'unreadable')
        and not exists (select from purchase_watch_internal.outcome_changes c where c.purchase = p.id)),
    found as materialized (${outcomesOf(sql)}),
    wrong as (
      select f.site, p.purchase_id, null::integer as sequence,
        case when o.outcome is null then format('ended as %s and is not counted', f.outcome)
          else format('is counted as %s, waited last in %s, %s; its rows say %s, %s, %s', o.outcome, o.way, o.hour, f.outcome, f.way, f.hour) end as detail
      from found f join purchase_watch.purchases p on p.id = f.purchase
      left join purchase_watch_internal.outcomes o on o.purchase = f.purchase
      where o.outcome is null
        or (o.hour, o.site, o.was_stuck) <> (f.hour, f.site, f.was_stuck) or o.way is distinct from f.way or o.waited is distinct from f.waited
        or (o.outcome <> f.outcome and not (o.outcome in ('again', 'paid_by_another') and f.outcome = 'not_paid')
          and not ((select is_some from pending) and o.outcome in ('not_paid', 'again', 'paid_by_another') and f.outcome in ('not_paid', 'again', 'paid_by_another')))
        or (o.method is distinct from '*' and ((o.method, o.country, o.currency) is distinct from (f.method, f.country, f.currency) or o.amount is distinct from f.amount)))
    ${report(sql, 'outcomes', { checked: 'found', gap: 'wrong' })}`;

/** Compares the counts by hour with the purchases that they count, in one snapshot. */
export const checkOutcomeHours = (sql: Queries, site: string | null) => sql<Report[]>`
    with compared as materialized (
      select site, hour, outcome, way, sum(counted) as counted, sum(rows) as rows, sum(gone) as gone, sum(amount) as amount, sum(amounts) as amounts
      from (
        select site, hour, outcome, way, was_stuck, method, country, currency, customers - gone as counted, 0 as rows, gone, amount, 0 as amounts
        from purchase_watch_internal.outcome_hours where ${ofSite(sql, 'site', site)}
        union all
        select site, hour, outcome, way, was_stuck, method, country, currency, 0, count(*), 0, 0, coalesce(sum(amount), 0)
        from purchase_watch_internal.outcomes
        -- The counts of earlier hours may have been deleted by age, with the purchases still there.
        where outcome is not null and hour >= (select min(hour) from purchase_watch_internal.outcome_hours) and ${ofSite(sql, 'site', site)} group by 1, 2, 3, 4, 5, 6, 7, 8
        union all
        select site, hour, outcome, way, was_stuck, method, country, currency, -1, 0, 1, 0, 0
        from purchase_watch_internal.outcomes_gone where ${ofSite(sql, 'site', site)}) every
      group by site, hour, outcome, way, was_stuck, method, country, currency),
    wrong as (
      select site, null::text as purchase_id, null::integer as sequence,
        format('the hour of %s, %s, waited last in %s: the count says %s (amount %s), and there are %s (amount %s)', hour, outcome, way, counted, amount, rows, amounts) as detail
      from compared where counted <> rows or (gone = 0 and amount <> amounts))
    ${report(sql, 'outcome_hours', { checked: 'compared', gap: 'wrong' })}`;

/** The columns that tell the sums of a day apart. */
const DAY_KEY = 'site, at, way, was_stuck, outcome, currency';

/** Compares the sums that trends read with the counts by hour that they are sums of, in one snapshot. */
export const checkOutcomeSums = (sql: Queries, site: string | null) => sql<Report[]>`
    with counted as materialized (
      select site, hour, way, was_stuck, outcome, currency, customers, gone, amount
      from purchase_watch_internal.outcome_hours where ${ofSite(sql, 'site', site)}),
    compared as materialized (
      select 'hour' as length, site, at, outcome, null::integer as way, sum(said) as said, sum(counts) as counts, sum(gone) as gone, 0 as amount
      from (
        select site, hour as at, outcome, customers as said, 0 as counts, gone from purchase_watch_internal.outcome_hour_sums where ${ofSite(sql, 'site', site)}
        union all select site, hour, outcome, 0, customers, -gone from counted) hours
      group by site, at, outcome
      union all
      select 'day', site, at, outcome, way, sum(said), sum(counts), sum(gone), sum(amount)
      from (
        select site, day as at, way, was_stuck, outcome, currency, customers as said, 0 as counts, gone, amount
        from purchase_watch_internal.outcome_day_sums where ${ofSite(sql, 'site', site)}
        union all select site, date_bin('1 day', hour, 'epoch'), way, was_stuck, outcome, currency, 0, customers, -gone, -amount from counted) days
      group by ${sql.unsafe(DAY_KEY)}),
    wrong as (
      select site, null::text as purchase_id, null::integer as sequence,
        format('the sum of the %s of %s, %s%s: says %s, and its counts add up to %s%s%s', length, at, outcome, ', waited last in ' || way, said, counts,
          case when gone <> 0 then format('; %s too many are deleted', gone) end, case when amount <> 0 then format('; the amount is too large by %s', amount) end) as detail
      from compared where said <> counts or gone <> 0 or amount <> 0)
    ${report(sql, 'outcome_sums', { checked: 'compared', gap: 'wrong' })}`;
