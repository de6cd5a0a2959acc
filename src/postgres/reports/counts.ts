/** How many purchases there are: counters, whose changes every transaction writes that changes a purchase, and their folding. */

import type { PurchaseStatus } from '../../domain/purchases/purchase.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';

/** Changes that one statement folds at most; further ones wait for the next statement. */
const FOLDED_AT_ONCE = 20_000;

/**
 * Adds the changes written since the last call to the counters; answers how many there were. Any replica may call this at any
 * time: a change is added and deleted in one statement, and a change that another statement has locked is skipped.
 */
export const foldCounts = (sql: Queries) =>
  firstValue<number>(sql`
    with taken as materialized (select ctid as at from purchase_watch_internal.count_changes limit ${FOLDED_AT_ONCE} for update skip locked),
    change as (
      delete from purchase_watch_internal.count_changes where ctid = any(array(select at from taken))
      returning site, status, state, stuck, change),
    added as (
      insert into purchase_watch_internal.purchase_counts as c (site, status, state, stuck, count)
      select site, status, state, stuck, sum(change) from change group by site, status, state, stuck having sum(change) <> 0
      -- All statements use this order, so that two never wait for each other.
      order by site, status, state, stuck
      on conflict (site, status, state, stuck) do update set count = c.count + excluded.count)
    select count(*) as folded from change`);

/** Deletes counters that are zero: those of states that no purchase is in any more. */
export async function dropEmptyCounts(sql: Queries): Promise<void> {
  await sql`delete from purchase_watch_internal.purchase_counts where count = 0`;
}

export interface Total {
  readonly site: string;
  readonly status: PurchaseStatus;
  readonly state: number | null;
  readonly stuck: boolean;
  readonly count: number;
}

/** All counters that are not zero. */
export const purchaseTotals = (sql: Queries) => sql<Total[]>`
    select site, status, state, stuck, count::float8 as count from purchase_watch.purchase_totals order by site, status, state, stuck`;

/** Purchases of one site, status and state. */
export interface PurchaseCount {
  readonly site: string;
  readonly status: PurchaseStatus;
  readonly state: number | null;
  readonly count: number;
  readonly stuck: number;
  /** When the purchase that has been longest in this state came to it; null for purchases that are not watched. */
  readonly oldest: Instant | null;
}

/** Purchases by site, status and state. Reads the counters, and one row for each state of watched purchases. */
export const countPurchases = (sql: Queries): Promise<PurchaseCount[]> => sql<PurchaseCount[]>`
    select g.site, g.status, g.state, g.count, g.stuck, o.state_since as oldest
    from (
      select site, status, state, sum(count)::float8 as count, coalesce(sum(count) filter (where stuck), 0)::float8 as stuck
      from purchase_watch.purchase_totals group by site, status, state) g
    left join lateral (
      select p.state_since from purchase_watch.purchases p
      where p.site = g.site and p.state = g.state and p.state is not null and p.status = 'watching' and g.status = 'watching'
      order by p.state_since limit 1) o on true
    order by g.site, g.status, g.state`;

/** How many purchases of a site are still polled. Reads them all, by an index. */
export const countPolled = (sql: Queries, site: string) =>
  firstValue<number>(sql`
    select count(*) from purchase_watch.purchases where site = ${site} and due_slot is not null`);
