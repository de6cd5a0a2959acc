/** Erases a purchase with the person's data, and leaves a line that records the erasure without naming the purchase. */

import { createHash } from 'node:crypto';
import { withoutPurchase } from '../../domain/events/erased-event.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic } from '../../runtime/time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { holderAmong, type LockHolder } from '../connection/lock-holder.ts';
import { firstValue, onlyRow } from '../connection/rows.ts';
import { lockingWhole } from './lock-whole.ts';

/** How many rows of each kind are erased. `mentions` are events of the site and of incidents whose text holds the id: they stay without it. */
export interface ErasedCounts {
  readonly transitions: number;
  readonly events: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly mentions: number;
  /** Deliveries of the purchase's events that are still pending. */
  readonly pending: number;
}

/** A purchase to be erased. */
export interface Erasable {
  /** The row's id. */
  readonly id: number;
  readonly site: string;
  readonly purchaseId: string;
}

/** When and by whom a purchase was erased. */
export interface Erasure {
  readonly at: Instant;
  readonly site: string;
  readonly by: string;
  readonly counts: ErasedCounts;
}

/** A hash in place of the id: it can be compared, and the id cannot be read from it. */
export function fingerprint(site: string, purchaseId: string): string {
  return createHash('sha256').update(`${site}/${purchaseId}`).digest('hex');
}

/**
 * Events without a purchase whose body names this one; events about several sites have no site. Looks for the id as JSON writes
 * it, in its quotes.
 */
const mentioning = (sql: Queries, { site, purchaseId }: Pick<Erasable, 'site' | 'purchaseId'>) => sql`
  e.purchase is null and e.site in (${site}, '') and (e.type in ('site.unknown_state', 'order.paid_twice') or e.type like 'incident.%')
  and strpos(e.body, ${JSON.stringify(purchaseId)}) > 0`;

/** How much there is to erase. */
export const countErasable = (sql: Queries, purchase: Erasable) =>
  onlyRow(sql<ErasedCounts[]>`
    with mention as (select e.position from purchase_watch_internal.events e where ${mentioning(sql, purchase)}),
    event as (select position from purchase_watch_internal.events where purchase = ${purchase.id}),
    delivery as (
      select d.id, d.status, d.took_ms from event e join purchase_watch_internal.deliveries d on d.event = e.position)
    select (select count(*) from purchase_watch_internal.purchase_transitions where purchase = ${purchase.id}) as transitions,
      (select count(*) from event) as events, (select count(*) from delivery) as deliveries,
      ((select count(*) from delivery d join purchase_watch_internal.attempts a on a.delivery = d.id)
        -- The delivery's own row holds the attempt that delivered.
        + (select count(*) from delivery where status = 'delivered' and took_ms is not null))::float8 as attempts,
      (select count(*) from mention) as mentions,
      (select count(*) from delivery where status = 'pending') as pending`);

/** The condition that the row `p` is still this purchase's: a database that went back may have given its id to another one. */
const sameRow = (sql: Queries, { id, site, purchaseId }: Erasable) => sql`
  p.id = ${id} and p.site = ${site} and p.purchase_id = ${purchaseId}`;

/** The rest between two tries: a statement that works on a purchase locks the purchase's rows while it runs. */
const LOOK_AGAIN: Milliseconds = 50;
const MENTIONS_WITHIN: Milliseconds = 2_000;

/**
 * Erases a purchase with all rows that belong to it, and its id from those that name it, records the erasure in one line, and wakes the daemons to drop
 * the purchase from memory; one statement. Answers when, or null when nothing was erased: other statements had the purchase
 * locked at each try, or the purchase is gone.
 */
export async function erase(
  sql: Queries,
  purchase: Erasable,
  { by, counts, within }: { by: string; counts: ErasedCounts; within: Milliseconds },
): Promise<Instant | null> {
  const deadline = monotonic() + within;
  for (;;) {
    const [row] = await eraseFree(sql, purchase, { by, counts, mentions: await mentionsOf(sql, purchase) });
    if (row !== undefined) return row.at;
    const [there] = await sql`select from purchase_watch.purchases p where ${sameRow(sql, purchase)}`;
    if (there === undefined || monotonic() > deadline) return null;
    await delay(LOOK_AGAIN);
  }
}

const eraseFree = (
  sql: Queries,
  purchase: Erasable,
  { by, counts, mentions }: { by: string; counts: ErasedCounts; mentions: readonly Mention[] },
) => sql<{ at: Instant }[]>`
    with candidate as materialized (
      select id from purchase_watch.purchases p where ${sameRow(sql, purchase)} for update skip locked),
    ${lockingWhole(sql)},
    ${lockingMentions(sql, purchase, mentions)},
    -- The judge deletes a stay, and may then wait for the purchase. The table of stays is nearly empty: its rows last for seconds.
    stay as materialized (
      select s.id from candidate c join purchase_watch_internal.stays s on s.purchase = c.id for update of s skip locked),
    free as materialized (
      select id from candidate c where not exists (select from busy) and not exists (select from mention_busy)
        and not exists (select from purchase_watch_internal.stays s where s.purchase = c.id and s.id not in (select id from stay))),
    removed as (delete from purchase_watch.purchases p using free f where p.id = f.id returning p.id),
    ${rewritingMentions(sql, purchase, sql`exists (select from free)`)},
    -- A nudge of a bulk registration is of the rows behind it, too.
    nudge_removed as (delete from purchase_watch_internal.nudges n using free f where n.purchase = f.id and n.slot is null),
    stay_unnamed as (update purchase_watch_internal.stays s set purchase = null from free f where s.purchase = f.id),
    action_unnamed as (
      update purchase_watch_internal.actions set subject = subject - 'id'
      where subject ->> 'id' = ${purchase.purchaseId}::text and coalesce(subject ->> 'site', ${purchase.site}::text) = ${purchase.site}::text
        and exists (select from removed)),
    noted as (
      insert into purchase_watch_internal.forgotten (site, sha256, by, counts, purchase)
      select ${purchase.site}, ${fingerprint(purchase.site, purchase.purchaseId)}, ${by} || ', role ' || current_user,
        ${JSON.stringify(counts)}::text::jsonb, id from removed
      returning at)
    select at,
      pg_notify('purchase_watch_wake', 'forgotten ' || ${purchase.id}::bigint), pg_notify('purchase_watch_wake', 'judge')
    from noted`;

/** The session that has locked a row of a purchase, so that the purchase cannot be erased; null when none has by now. */
export function eraseHolder(sql: Queries, { id }: Pick<Erasable, 'id'>): Promise<LockHolder | null> {
  return holderAmong(
    sql,
    sql`select xmax from purchase_watch.purchases where id = ${id} union all select xmax from purchase_watch_internal.events where purchase = ${id}
    union all select xmax from purchase_watch_internal.stays where purchase = ${id}
    union all select d.xmax from purchase_watch_internal.events e join purchase_watch_internal.deliveries d on d.event = e.position where e.purchase = ${id}`,
  );
}

/** The number of the latest erasure; 0 when there was none. */
export const lastErasure = (sql: Queries) =>
  firstValue<number>(sql`select coalesce(max(id), 0) as id from purchase_watch_internal.forgotten`);

/** Erasures after a number, in order: each with the row id of its purchase, null where an older version wrote the line. */
export const erasedAfter = (sql: Queries, id: number, most: number) => sql<{ id: number; purchase: number | null }[]>`
    select id, purchase from purchase_watch_internal.forgotten where id > ${id}::bigint order by id limit ${most}`;

/** An event that names a purchase, with its body and the body without the purchase. */
interface Mention {
  readonly position: number;
  readonly body: string;
  readonly rewritten: string;
}

async function mentionsOf(sql: Queries, purchase: Erasable): Promise<Mention[]> {
  const rows = await sql<Omit<Mention, 'rewritten'>[]>`
    select e.position, e.body from purchase_watch_internal.events e where ${mentioning(sql, purchase)}`;
  return rows.map((row) => ({ ...row, rewritten: withoutPurchase(row.body, purchase) }));
}

/**
 * The same as `lockingWhole`, for events without a purchase that name this one. One that is new, or of which another erasure has
 * changed the body meanwhile, counts as busy.
 */
const lockingMentions = (sql: Queries, purchase: Erasable, mentions: readonly Mention[]) => sql`
    found as materialized (select e.position from purchase_watch_internal.events e where ${mentioning(sql, purchase)}),
    mention as materialized (
      select e.position, r.rewritten
      from ${columns(sql, mentions, 'r', 'position bigint, body text, rewritten text')}
      join purchase_watch_internal.events e on e.position = r.position and e.body = r.body for update of e skip locked),
    mention_delivery as materialized (
      select d.id from mention m join purchase_watch_internal.deliveries d on d.event = m.position for update of d skip locked),
    mention_busy as (
      select f.position from found f where not exists (select from mention m where m.position = f.position)
      union all select m.position from mention m join purchase_watch_internal.deliveries d on d.event = m.position
      where not exists (select from mention_delivery l where l.id = d.id))`;

/** Writes the bodies without the purchase, and drops answers of receivers that repeat its id. What people were alerted of stays. */
const rewritingMentions = (sql: Queries, { purchaseId }: Erasable, condition: Fragment) => sql`
    mention_rewritten as (
      update purchase_watch_internal.events e set body = m.rewritten from mention m
      where e.position = m.position and ${condition} returning e.position),
    mention_answer as (
      update purchase_watch_internal.deliveries d set excerpt = null, last_error = null from mention_delivery l
      where d.id = l.id and strpos(concat(d.excerpt, ' ', d.last_error), ${purchaseId}) > 0 and ${condition}),
    mention_attempt as (
      update purchase_watch_internal.attempts a set excerpt = null from mention_delivery l
      where a.delivery = l.id and strpos(a.excerpt, ${purchaseId}) > 0 and ${condition}),
    mention_whole as (
      delete from purchase_watch_internal.receiver_answers a using mention_delivery l
      where a.delivery = l.id and strpos(a.answer, ${purchaseId}) > 0 and ${condition})`;

/**
 * Erases the id from events that came to name a purchase during its erasure, because the judge had read it just before. Answers
 * how many; tries again for a while where other statements have them locked.
 */
export async function eraseMentions(sql: Queries, purchase: Erasable, within: Milliseconds = MENTIONS_WITHIN): Promise<number> {
  const deadline = monotonic() + within;
  for (;;) {
    const mentions = await mentionsOf(sql, purchase);
    if (mentions.length === 0) return 0;
    const rows = await sql`
      with ${lockingMentions(sql, purchase, mentions)},
      ${rewritingMentions(sql, purchase, sql`not exists (select from mention_busy)`)}
      select from mention_rewritten`;
    if (rows.length > 0 || monotonic() > deadline) return rows.length;
    await delay(LOOK_AGAIN);
  }
}

/** When purchases of this id were erased, at one site or at any, the latest first. */
export async function erasures(
  sql: Queries,
  { purchaseId, site }: { purchaseId: string; site: string | null },
): Promise<Erasure[]> {
  const names = await sql<{ name: string }[]>`
    select name from purchase_watch_internal.sites where ${site === null ? sql`true` : sql`name = ${site}`}`;
  const hashes = names.map(({ name }) => fingerprint(name, purchaseId));
  return sql<Erasure[]>`
    select at, site, by, counts from purchase_watch_internal.forgotten
    where sha256 = any(${hashes}::text[]) order by at desc`;
}
