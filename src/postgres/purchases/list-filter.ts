/** The filter of a list of purchases, as conditions of SQL on a purchase `p` and on a group of the counters. */
import { PAID_STATES, type PurchaseOutcome } from '../../domain/purchases/outcome.ts';
import { LISTED_ENDS, type ListedEnd } from '../../domain/trends/ends.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { beginsAs, ORDER } from './search-key.ts';

/** The fields of a filter; a purchase must match all that are given. */
export interface PurchaseFilter {
  readonly site?: string | undefined;
  readonly status?: string | undefined;
  readonly state?: number | undefined;
  readonly stuck?: boolean | undefined;
  readonly outcome?: PurchaseOutcome | undefined;
  /** The registered reference as a whole. */
  readonly reference?: string | undefined;
  /** How the id, the registered reference or the service's order reference begins, in any case. */
  readonly text?: string | undefined;
  /** Registered since, and before. */
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  /** Decimals: the least and the most price. They and an order by amount need the currency. */
  readonly least?: string | undefined;
  readonly most?: string | undefined;
  readonly currency?: string | undefined;
  /** Counted in an hour since, and before: see outcome_hours. */
  readonly endedFrom?: Instant | undefined;
  readonly endedTo?: Instant | undefined;
  /** Counted in one of these hours of UTC; `endedFrom` is given then. */
  readonly endedHours?: readonly Instant[] | undefined;
  readonly end?: ListedEnd | undefined;
  /** The state that it waited in last before it ended; null: no poll showed one. */
  readonly lastWaited?: number | null | undefined;
  /** Whether a poll found it stuck at some time, of one that ended. */
  readonly wasStuck?: boolean | undefined;
}

/** Stands for no state in indexes and counters. */
export const NO_STATE = -2147483648;

/** Purchases that wait in a state, all others, or both. */
export type ListPart = 'waiting' | 'rest' | 'all';

/** Whether the counters' groups (site, status, state, stuck) say more of the filter than its site. */
export const isGrouped = ({ status, state, stuck, outcome }: PurchaseFilter, part: ListPart): boolean =>
  part !== 'all' || [status, state, stuck, outcome].some((value) => value !== undefined);

/** Whether the filter asks for what no group of the counters shows: whether a purchase was ever stuck. */
export const asksForLate = ({ outcome }: PurchaseFilter): boolean => outcome === 'paid' || outcome === 'paid_late';

/** Whether the filter asks for how a purchase is counted among those that ended. */
export const asksForEnd = ({ endedFrom, endedTo, end, lastWaited, wasStuck }: PurchaseFilter): boolean =>
  [endedFrom, endedTo, end, lastWaited, wasStuck].some((value) => value !== undefined);

/** The condition for how a purchase is counted, of its row `o` of outcomes, but for the hour. */
export const endMatches = (sql: Queries, { end, lastWaited, wasStuck }: PurchaseFilter): Fragment => sql`
  ${end === undefined ? sql`o.outcome is not null` : sql`o.outcome = any (${[...LISTED_ENDS[end]]}::text[])`}
  and ${lastWaited === undefined ? sql`true` : sql`o.way is not distinct from ${lastWaited}::integer`}
  and ${wasStuck === undefined ? sql`true` : sql`o.was_stuck = ${wasStuck}`}`;

export const hourMatches = (sql: Queries, { endedFrom, endedTo, endedHours }: PurchaseFilter): Fragment => sql`
  ${endedFrom === undefined ? sql`true` : sql`o.hour >= ${endedFrom}::timestamptz`}
  and ${endedTo === undefined ? sql`true` : sql`o.hour < ${endedTo}::timestamptz`}
  and ${endedHours === undefined ? sql`true` : sql`o.hour = any (${endedHours.map(isoTime)}::timestamptz[])`}`;

/** The groups that the filter lets through, of the counters `g`. */
export const groupMatches = (
  sql: Queries,
  { site, status, state, stuck, outcome }: PurchaseFilter,
  part: ListPart,
): Fragment => sql`
  ${site === undefined ? sql`true` : sql`g.site = ${site}`}
  and ${status === undefined ? sql`true` : sql`g.status = ${status}`}
  and ${state === undefined ? sql`true` : sql`g.state = ${state}`}
  and ${stuck === undefined ? sql`true` : sql`g.stuck = ${stuck}`}
  and ${outcome === undefined ? sql`true` : outcomeIs(sql, outcome)}
  and ${part === 'all' ? sql`true` : sql`(g.status = 'watching' and g.state is not null) = ${part === 'waiting'}`}`;

function outcomeIs(sql: Queries, outcome: PurchaseOutcome): Fragment {
  const paid = sql`coalesce(g.state = any (${PAID_STATES}::integer[]), false)`;
  if (outcome === 'stuck') return sql`g.stuck`;
  if (outcome === 'waiting') return sql`g.status = 'watching' and not g.stuck`;
  if (outcome === 'paid' || outcome === 'paid_late') return sql`g.status = 'settled' and not g.stuck and ${paid}`;
  if (outcome === 'not_paid') return sql`g.status = 'settled' and not g.stuck and not ${paid}`;
  return sql`g.status = ${outcome} and not g.stuck`;
}

/** The currency of stored fields `d`, and their price with the sign turned, as the index of amounts has them. */
export const CURRENCY = `left(nullif(btrim(purchase_watch_internal.stored_text(d.fields, 'CurrencyCode')), ''), 20)`;
export const MINUS_PRICE = `(-purchase_watch_internal.stored_number(d.fields, 'Price'))`;

/** The condition for amounts of a currency from the least to the most, of stored fields `d`, as the index of amounts has it. */
export const amountMatches = (sql: Queries, { least, most, currency = '' }: PurchaseFilter): Fragment => sql`
  ${sql.unsafe(CURRENCY)} = ${currency} and purchase_watch_internal.stored_number(d.fields, 'Price') is not null
  and ${least === undefined ? sql`true` : sql`${sql.unsafe(MINUS_PRICE)} <= -(${least}::numeric)`}
  and ${most === undefined ? sql`true` : sql`${sql.unsafe(MINUS_PRICE)} >= -(${most}::numeric)`}`;

/** The whole filter, of a purchase `p`. The parts with `limit 1` are asked row by row: a join would read the other table through. */
export const matches = (sql: Queries, filter: PurchaseFilter, part: ListPart): Fragment => {
  const { reference, text, from, to, currency, outcome } = filter;
  return sql`
  exists (select from (select p.site, p.status, p.state, p.stuck_since is not null as stuck) g where ${groupMatches(sql, filter, part)})
  and ${!asksForLate(filter) ? sql`true` : sql`exists (select from purchase_watch_internal.events e where e.purchase = p.id and e.type = 'purchase.stuck') = ${outcome === 'paid_late'}`}
  and ${!asksForEnd(filter) ? sql`true` : sql`coalesce((select true from purchase_watch_internal.outcomes o where o.purchase = p.id and ${hourMatches(sql, filter)} and ${endMatches(sql, filter)} limit 1), false)`}
  and ${reference === undefined ? sql`true` : sql`p.reference = ${reference}`}
  and ${text === undefined ? sql`true` : textMatches(sql, text)}
  and ${from === undefined ? sql`true` : sql`p.registered_at >= ${from}::timestamptz`}
  and ${to === undefined ? sql`true` : sql`p.registered_at < ${to}::timestamptz`}
  and ${currency === undefined ? sql`true` : sql`coalesce((select true from purchase_watch_internal.purchase_details d where d.purchase = p.id and ${currencyMatches(sql, filter)} limit 1), false)`}`;
};

/** A filter by currency alone also lets purchases through whose price is not known. */
function currencyMatches(sql: Queries, filter: PurchaseFilter): Fragment {
  const { least, most, currency = '' } = filter;
  return least === undefined && most === undefined ? sql`${sql.unsafe(CURRENCY)} = ${currency}` : amountMatches(sql, filter);
}

const textMatches = (sql: Queries, text: string): Fragment => sql`
  (${beginsAs(sql, 'p.purchase_id', text)} or p.reference is not null and ${beginsAs(sql, 'p.reference', text)}
    or coalesce((select true from purchase_watch_internal.purchase_details d where d.purchase = p.id and ${beginsAs(sql, ORDER, text)} limit 1), false))`;
