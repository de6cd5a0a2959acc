/** Single stuck checkouts of which people are alerted one by one: reads them and how they ended, and writes the alerts. */

import type { SingleReason } from '../../domain/incidents/stuck-checkouts.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue, firstValues } from '../connection/rows.ts';
import { announcing, type NewEvent } from '../events/events.ts';
import { holding, type Lease } from '../shards/leases.ts';
import { paidByAnother } from '../stays/evidence.ts';
import { isOfFirstLoad } from '../stays/first-load.ts';
import { AMOUNT } from '../stays/money.ts';
import type { StoredStay } from '../stays/stays.ts';

/** Checkouts that one look reads; further ones wait for the next look. */
const MOST = 2_000;

/** A stuck checkout of which people are yet to be alerted, or one of which they were alerted and that is over. */
export interface StoredCheckout {
  readonly id: number;
  readonly site: string;
  readonly state: number;
  readonly since: Instant;
  readonly stuckAt: Instant;
  /** Why the purchase cannot be read, in a word and in a sentence; null: it is stuck. */
  readonly unreadable: string | null;
  readonly lastError: string | null;
  /** Whether its first poll found it there, and it came with the first load of its site. */
  readonly firstSight: boolean;
  /** Row ids of the subscribers that were alerted; null before. */
  readonly alerted: readonly number[] | null;
  /** When the stay was over; null while the customer is stuck. */
  readonly overAt: Instant | null;
  /** The state after the stay; null while there is none. */
  readonly toState: number | null;
  /** Whether the purchase's order was paid by another purchase. */
  readonly isPaid: boolean;
  readonly status: string;
  readonly purchaseId: string;
  /** The merchant's own name, from the registration. */
  readonly reference: string | null;
  /** The service's name of the order; the merchant's own where the service's is not stored. */
  readonly orderReference: string | null;
  /** The amount's exact digits. */
  readonly price: string | null;
  readonly currency: string | null;
}

/** The condition that the stay of the alert `a` is over, given its purchase `p`. */
const IS_OVER = `case when a.unreadable is not null then p.status <> 'unreadable'
  else p.stuck_since is null or p.state_since <> a.state_since or p.status in ('stopped', 'expired') end`;

/** The part of a statement that writes stays that became stuck, for alerts one by one; `held` as in `saveVerdicts`. */
export function notingStuck(sql: Queries, stays: readonly StoredStay[]) {
  const stuck = stays.flatMap(({ outcome, purchase, ...stay }) =>
    outcome === 'overdue' && purchase !== null ? [{ ...stay, purchase }] : [],
  );
  return sql`
    noted as (
      insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight)
      select p.id, s.site, s.state, s.entered_at, s.at, s.first_sight
      from ${columns(sql, stuck, 's', 'id bigint, customer bigint, purchase bigint, site text, state integer, entered_at timestamptz, at timestamptz, first_sight boolean')}
      join purchase_watch.purchases p on p.id = s.purchase
      where exists (select from held) and exists (select from purchase_watch_internal.stays t where t.id = s.id and t.customer = s.customer)
      on conflict do nothing)`;
}

/** Stuck checkouts of which people were not alerted yet, and alerted ones that are over, the oldest first. Reads open alerts only. */
export const checkoutsToAlert = (sql: Queries) => sql<StoredCheckout[]>`
    select a.id, a.site, a.state, a.first_sight, p.status, p.purchase_id,
      case when a.unreadable is null then a.state_since when p.status = 'unreadable' then coalesce(p.seen_at, p.watched_since) else a.stuck_at end as since,
      a.stuck_at, a.unreadable, p.last_error,
      case when a.alerted_at is not null then a.alerted end as alerted, m.to_state,
      case when ${sql.unsafe(IS_OVER)} then coalesce(case when a.unreadable is null then m.not_after end, p.ended_at, p.last_polled_at, a.stuck_at) end as over_at,
      ${paidByAnother(sql)} as is_paid,
      p.reference, coalesce(nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'OrderReference')), ''), p.reference) as order_reference,
      ${sql.unsafe(AMOUNT)}
    from purchase_watch_internal.stuck_alerts a
    join purchase_watch_internal.sites s on s.name = a.site and s.configured
    join purchase_watch.purchases p on p.id = a.purchase
    left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    left join lateral (
      select t.to_state, t.not_after from purchase_watch_internal.purchase_transitions t
      where t.purchase = a.purchase and t.from_state = a.state and t.not_after > a.state_since order by t.sequence limit 1) m on true
    where a.ended_at is null and (a.alerted_at is null or ${sql.unsafe(IS_OVER)})
    order by a.id limit ${MOST}`;

/** Names of the sites that have more than `most` stuck purchases of their first load. */
export const sitesWithBacklog = (sql: Queries, sites: readonly string[], most: number) =>
  firstValues<string>(sql`
    select s.name as site from purchase_watch_internal.sites s
    cross join lateral (
      select count(*) as count from (
        select from purchase_watch.purchases p
        where p.stuck_since is not null and p.site = s.name
          and ${isOfFirstLoad(sql)} limit ${most + 1}) found) b
    where s.name = any(${sites}::text[]) and b.count > ${most}`);

/** When people were last alerted of purchases that cannot be read, of those that still are; null: of none. */
export const unreadableAlertedAt = (sql: Queries) =>
  firstValue<Instant | null>(sql`
    select max(alerted_at) as at from purchase_watch_internal.stuck_alerts where ended_at is null and unreadable is not null`);

/** A state of a site of which people were alerted checkout by checkout. */
export interface SinglePlace {
  readonly site: string;
  readonly state: number;
  /** The row id of the last alert of a single checkout. */
  readonly id: number;
}

/** The places whose last alert in mode `auto` did not say that incidents take over. */
export async function singlePlaces(
  sql: Queries,
  places: readonly { readonly site: string; readonly state: number }[],
): Promise<SinglePlace[]> {
  if (places.length === 0) return [];
  const rows = await sql<(SinglePlace & { readonly isLast: boolean })[]>`
    select w.site, w.state, l.id, l.is_last
    from (select distinct * from ${columns(sql, places, 'r', 'site text, state integer')}) w
    cross join lateral (
      select id, is_last from purchase_watch_internal.stuck_alerts a
      where a.site = w.site and a.state = w.state and a.alerted_at is not null and a.mode = 'auto'
      order by a.alerted_at desc, a.id desc limit 1) l`;
  return rows.filter(({ isLast }) => !isLast);
}

/** The part of a statement that writes that incidents took over from single alerts; `held` as in `saveVerdicts`. */
export const notingTakenOver = (sql: Queries, rows: readonly number[]) => sql`
    taken_over as (
      update purchase_watch_internal.stuck_alerts set is_last = true
      where id = any(${`{${rows.join()}}`}::bigint[]) and exists (select from held))`;

export interface CheckoutResults {
  /** The checkouts that the results rest on. */
  readonly read: readonly StoredCheckout[];
  readonly stuck: readonly { readonly id: number; readonly alerted: readonly number[]; readonly reason: SingleReason }[];
  /** Row ids of checkouts of whose end people are alerted (`over`), and of those of which people are not alerted at all (`dropped`). */
  readonly over: readonly number[];
  readonly dropped: readonly number[];
  readonly events: readonly NewEvent[];
}

/**
 * Writes of which checkouts people are alerted, and the events, all or nothing; false when the judge's lease belongs to another
 * replica by now, or when one of the checkouts was written meanwhile, as by an earlier statement whose answer was lost, or is
 * another one, to which a database that went back gave the id.
 */
export async function saveCheckouts(
  sql: Queries,
  { read, stuck, over, dropped, events, now, lease }: CheckoutResults & { now: Instant; lease: Lease },
): Promise<boolean> {
  const alerted = stuck.map(({ id, alerted, reason }) => ({ ...reason, id, alerted: `{${alerted.join()}}` }));
  const fresh = [...stuck.map(({ id }) => id), ...dropped];
  const rows = await sql<{ saved: boolean | null }[]>`
    with ${holding(sql, lease)},
    ready as materialized (
      select a.id from purchase_watch_internal.stuck_alerts a
      join ${columns(sql, read, 'r', {
        id: ['bigint', ({ id }) => id],
        purchase: ['text', ({ site, purchaseId }) => `${site}/${purchaseId}`],
      })} on r.id = a.id
      join purchase_watch.purchases p on p.id = a.purchase and p.site || '/' || p.purchase_id = r.purchase
      where exists (select from held) and a.ended_at is null
        and (a.id = any(${`{${fresh.join()}}`}::bigint[]) and a.alerted_at is null
          or a.id = any(${`{${over.join()}}`}::bigint[]) and a.alerted_at is not null)
      order by a.id for update of a),
    whole as materialized (select where exists (select from held) and (select count(*) from ready) = ${fresh.length + over.length}),
    alerted as (
      update purchase_watch_internal.stuck_alerts a set alerted_at = ${now}::timestamptz, alerted = r.alerted::integer[],
        mode = r.mode, counted_stays = r.counted, stays_per_day = r.per_day, is_last = r.is_last
      from ${columns(sql, alerted, 'r', 'id bigint, alerted text, mode text, counted integer, per_day real, is_last boolean')}
      where a.id = r.id and exists (select from whole)),
    alerted_over as (
      update purchase_watch_internal.stuck_alerts set ended_at = ${now}::timestamptz
      where id = any(${`{${over.join()}}`}::bigint[]) and exists (select from whole)),
    dropped as (
      delete from purchase_watch_internal.stuck_alerts where id = any(${`{${dropped.join()}}`}::bigint[]) and exists (select from whole)),
    ${announcing(sql, events, sql`exists (select from whole)`)}
    select true as saved from whole union all select null from notified`;
  return rows.some(({ saved }) => saved);
}
