/** Facts about stuck purchases beyond their number: which orders were paid after all, and evidence of the cause. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { CauseEvidence, CausePart } from '../../domain/incidents/causes.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';

/** A state of a site in which purchases are stuck. */
export interface StuckPlace {
  readonly site: string;
  readonly state: number;
  /** Counts only purchases that came to the state since this moment; all when left out. */
  readonly since?: Instant;
}

/** A reference that more purchases have names no order: it is a word that a shop sends for all purchases, or a customer's number. */
export const MOST_OF_ONE_ORDER = 50;
/** A payment that was seen longer than this before a purchase began belongs to an earlier order with the same reference. */
const PAID_BEFORE: Milliseconds = 24 * 3_600_000;
/** Stuck purchases of each part that are counted. */
const MOST_COUNTED = 10_000;
/** Stuck purchases looked at for a cause, and purchases that were completed lately: over all parts. */
const EXAMINED = 600;
/** Stuck purchases of each part that are looked at in any case. */
const EXAMINED_OF_PART = 30;
/** The time before the last customer who got on, in which other customers who got on are counted. */
const LATELY: Milliseconds = 3_600_000;

/** SQL: a number that all purchases of one order share; `p` is the purchase and `d` its details. Null when the order is not known. */
export const orderOf = (sql: Queries): Fragment =>
  sql`coalesce(hashtextextended(p.reference, 0), purchase_watch_internal.order_key(d.fields))`;

/**
 * SQL: the ids of the purchases that share the reference of the purchases row `p`, or the OrderReference that the service names, the
 * row itself included; `sharing` is how many share it. Reads a few index entries for each row, however large the tables are.
 */
export const sharersOfOrder = (sql: Queries): Fragment => sql`
    select q.id, count(*) over () as sharing
    from (select id from purchase_watch.purchases where reference = p.reference order by id desc limit ${MOST_OF_ONE_ORDER + 1}) q
    union all
    select q.id, count(*) over ()
    from (
      select d.purchase as id from purchase_watch_internal.purchase_details own
      join purchase_watch_internal.purchase_details d on purchase_watch_internal.order_key(d.fields) = purchase_watch_internal.order_key(own.fields)
      where own.purchase = p.id limit ${MOST_OF_ONE_ORDER + 1}) q`;

/** SQL: other purchases of the order of the purchases row `p` at the same site. */
export const othersOfOrder = (sql: Queries): Fragment => sql`
    select o.state, o.state_since, o.registered_at, o.status
    from (${sharersOfOrder(sql)}) s
    join purchase_watch.purchases o on o.id = s.id
    where s.sharing between 2 and ${MOST_OF_ONE_ORDER} and o.id <> p.id and o.site = p.site`;

/**
 * The condition on a purchases row `p` that its order was paid by another purchase, so that its customer does not wait any more:
 * another purchase of the same order and site is Completed, and was not Completed already a day before this one was registered.
 */
export const paidByAnother = (sql: Queries): Fragment => sql`exists (
    select from (${othersOfOrder(sql)}) o
    where o.state = ${COMPLETED} and o.state_since > p.registered_at - ${PAID_BEFORE} * interval '1 ms')`;

/** SQL: when the order of the purchases row `p` was paid by another purchase; null when it was not. */
export const paidByAnotherAt = (sql: Queries): Fragment => sql`(
    select min(o.state_since) from (${othersOfOrder(sql)}) o
    where o.state = ${COMPLETED} and o.state_since > p.registered_at - ${PAID_BEFORE} * interval '1 ms')`;

/** SQL: places as rows `g (site, state, since, place)`; `place` is the position in the list. */
export const listed = (sql: Queries, places: readonly StuckPlace[]): Fragment =>
  columns(
    sql,
    places.map(({ site, state, since = 0 }) => ({ site, state, since })),
    'g',
    'site text, state integer, since timestamptz',
    'place',
  );

/** The part of a cause's evidence that the database holds. */
export type StoredEvidence = Pick<CauseEvidence, 'parts' | 'sites' | 'orders' | 'begunAgain'>;

/**
 * The database's evidence of the cause of an incident. `since` is when the incident's first customer came; purchases that came
 * earlier are left out. Reads a bounded number of rows, the latest ones.
 */
export async function causeEvidence(
  sql: Queries,
  { parts, since }: { parts: readonly (StuckPlace & { readonly count: number })[]; since: Instant },
): Promise<StoredEvidence> {
  const [changes, orders, [watched]] = await Promise.all([
    changesOf(sql, parts),
    ordersOf(sql, { parts, since }),
    sql<[{ count: number }]>`select count(*) from purchase_watch_internal.sites where configured`,
  ]);
  return { parts: parts.map((part, index) => ({ ...part, ...changes[index]! })), sites: watched.count, ...orders };
}

/** For each part: when the last customer got on, how many got on in the hour before that, and how many who came after that are stuck. */
async function changesOf(
  sql: Queries,
  parts: readonly StuckPlace[],
): Promise<Pick<CausePart, 'lastWellAt' | 'wellBefore' | 'stuckSinceThen'>[]> {
  const each = examinedOf(parts);
  // Reads the newest purchases by registration, from the index of lists by site. The condition is written so that only this index
  // has the order: in another one the planner would search a small site's rows among those of large sites. Completed purchases
  // that are to be polled once more have the status `watching`.
  return sql`
    select w.last_at as last_well_at, w.before as well_before, o.since as stuck_since_then
    from ${listed(sql, parts)}
    cross join lateral (
      select max(e.at) as last_at, count(*) filter (where e.at >= e.latest - ${LATELY} * interval '1 ms') as before
      from (
        select t.at, max(t.at) over () as latest
        from (values ('settled', false), ('watching', false)) s (status, stuck)
        cross join lateral (
          select id from purchase_watch.purchases p
          where p.site = any(array[g.site]) and p.status = s.status and coalesce(p.state, -2147483648) = ${COMPLETED}
            and (p.stuck_since is not null) = s.stuck
          order by p.site, -p.id limit ${each}) c
        cross join lateral (
          select not_after as at from purchase_watch_internal.purchase_transitions
          where purchase = c.id and to_state = g.state order by sequence desc limit 1) t) e) w
    cross join lateral (
      select count(*) as since
      from (
        select from purchase_watch.purchases p
        where p.stuck_since is not null and p.site = g.site and p.state = g.state and p.state_since > w.last_at
        order by p.state_since desc limit ${MOST_COUNTED}) q) o
    order by g.place`;
}

/** Orders of stuck purchases, and how many of them have a purchase that was registered later. */
const ordersOf = (sql: Queries, { parts, since }: { parts: readonly StuckPlace[]; since: Instant }) =>
  onlyRow(sql<{ orders: number; begunAgain: number }[]>`
    select count(*) as orders, count(*) filter (where again) as begun_again
    from (
      select p.site, ${orderOf(sql)} as key,
        bool_or(exists (select from (${othersOfOrder(sql)}) o where o.registered_at > p.registered_at)) as again
      from ${listed(sql, parts)}
      cross join lateral (
        select id, site, reference, registered_at from purchase_watch.purchases p
        where p.stuck_since is not null and p.site = g.site and p.state = g.state and p.state_since >= ${since}::timestamptz
        order by p.state_since desc limit ${examinedOf(parts)}) p
      left join purchase_watch_internal.purchase_details d on d.purchase = p.id
      group by 1, 2) k
    where key is not null`);

const examinedOf = (parts: readonly StuckPlace[]): number =>
  Math.max(EXAMINED_OF_PART, Math.ceil(EXAMINED / Math.max(parts.length, 1)));

/** A person's answer what the cause of an earlier incident was. */
export interface EarlierAnswer {
  readonly cause: string;
  readonly note: string | null;
  readonly by: string;
  readonly at: Instant;
  /** Null: the incident was about several sites. */
  readonly site: string | null;
  /** Null: the incident was about several states. */
  readonly state: number | null;
}

const ANSWER = `answer_cause as cause, answer_note as note, answered_by as by,
  answered_at as at, site, state`;

/**
 * The latest answer about stuck purchases: of the same site and state, else of the same site, else of several sites, else, for
 * a parent of several, of any of its sites. Null when there is none. `site` and `state` are null as they are for a parent;
 * `except` is the incident whose message shows the answer, and `sites` are the sites of its parts.
 */
export async function earlierAnswer(
  sql: Queries,
  {
    site,
    state,
    except = null,
    sites = [],
  }: { site: string | null; state: number | null; except?: string | null; sites?: readonly string[] },
): Promise<EarlierAnswer | null> {
  const atSite = site === null ? sql`site is null` : sql`site = ${site}`;
  const inState = state === null ? sql`state is null` : sql`state = ${state}`;
  const latest = (condition: Fragment, order: Fragment): Fragment => sql`
    (select ${sql.unsafe(ANSWER)} from purchase_watch_internal.incidents
    where kind = 'stuck' and answered_at is not null and id is distinct from ${except} and ${condition} order by ${order} desc limit 1)`;
  // Asks for all columns of the index's order: the planner does not take "is null" for a fixed value.
  const [row] = await sql<EarlierAnswer[]>`
    select cause, note, by, at, site, state from (
      select 1 as place, a.* from ${latest(sql`${atSite} and ${inState}`, sql`site desc, state desc, answered_at`)} a
      union all select 2, a.* from ${latest(atSite, sql`site desc, answered_at`)} a
      union all select 3, a.* from ${latest(sql`site is null`, sql`site desc, answered_at`)} a
      union all select 4, a.* from unnest(${site === null ? [...new Set(sites)] : []}::text[]) s (name)
        cross join lateral ${latest(sql`site = s.name`, sql`site desc, answered_at`)} a) found
    order by place, at desc limit 1`;
  return row ?? null;
}
