/**
 * The records of a past time, for a rehearsal: stays in states, times in which no replica could ask a site, silences, messages
 * to people, and how many purchases were flagged. Reads only.
 */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { Silence } from '../../domain/incidents/incident.ts';
import type { RecordedPayment } from '../../domain/rehearsal/rehearsed-payments.ts';
import type { RecordedOutage, RecordedStay } from '../../domain/stays/recorded-stay.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Fragment, Queries, Sql } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import { customerOf } from './customer.ts';
import { paidByAnotherAt } from './evidence.ts';
import { isOfFirstLoad } from './first-load.ts';
import { isOldPayment, paymentsOfOrder } from './order-payments.ts';

/** A stretch of time, from its first moment to its last. */
export interface Span {
  readonly from: Instant;
  readonly to: Instant;
}

/** The states that are read: those listed, or (`others`) all but those listed. */
export interface StateChoice {
  readonly listed: readonly number[];
  readonly others: boolean;
}

export interface StaysWanted extends Span {
  readonly states: StateChoice;
  /** Null: all sites of the present settings. */
  readonly site: string | null;
  /** For stays of at least this length the database looks up whether their order was paid by another purchase. */
  readonly long: Milliseconds;
  /** Whether of these it looks up what decides about `purchase.at_risk`, too. */
  readonly risks: boolean;
}

/** The bounds of reading; without them it takes as much as it needs. */
export interface ReadBounds {
  /** Stays fetched at a time; memory holds no more rows than these. */
  readonly batch?: number;
  /** How long one statement may take, on one core of the database; a longer one is ended with the code 57014. */
  readonly within?: Milliseconds;
}

/** A message about an incident that the judge wrote in that time. */
export interface RecordedMessage {
  readonly at: Instant;
  readonly type: string;
  /** The names of the channels for people that got the message. */
  readonly channels: readonly string[];
  /** The event's body, from which the text of the message is made. */
  readonly body: string;
}

const BATCH = 5_000;
/** Memory for sorting: reading a long time sorts many rows, and with the default few megabytes the database would sort on disk. */
const SORT_MEMORY = '64MB';

/**
 * Runs the work in one read-only transaction that sees the database as it is at this moment, whatever a daemon writes meanwhile.
 */
export function readingPast<T>(sql: Sql, work: (past: Queries) => Promise<T>, { within }: ReadBounds = {}): Promise<T> {
  return sql.begin('isolation level repeatable read read only', async (past) => {
    await past`select set_config('work_mem', ${SORT_MEMORY}, true), set_config('cursor_tuple_fraction', '1', true)`;
    if (within !== undefined)
      await past`select set_config('statement_timeout', ${`${within}`}, true), set_config('max_parallel_workers_per_gather', '0', true)`;
    return work(past);
  }) as Promise<T>;
}

/**
 * The stays that touch a time, in the order in which they began. There is no index by time: all transitions are read once,
 * sorted by the database and handed over in batches.
 */
export async function* recordedStays(
  past: Queries,
  { from, to, states, site, long, risks }: StaysWanted,
  { batch = BATCH }: ReadBounds = {},
): AsyncGenerator<readonly RecordedStay[]> {
  const chosen = past`t.to_state = any(${`{${states.listed.join()}}`}::integer[])`;
  // A session keeps the columns of a statement that it has run, so other columns need another statement that fetches.
  const cursor = risks ? 'recorded_stays_with_risks' : 'recorded_stays';
  const isLong = past`coalesce(n.not_after, p.seen_at) - t.not_after >= ${long}::float8 * interval '1 ms'`;
  await past`
    declare ${past(cursor)} no scroll cursor for select p.site, t.to_state as state,
      ${customerOf(past)}::text as customer,
      t.not_after as entered_at, coalesce(n.not_before, p.seen_at, t.not_after) as seen_at,
      n.not_after as left_at, n.to_state,
      case when n.purchase is null then p.ended_at end as unwatched_at,
      case when ${isLong} then ${paidByAnotherAt(past)} end as paid_at,
      ${risks ? past`${riskColumns(past, isLong)},` : past``}
      t.from_sequence is null and ${isOfFirstLoad(past, past`f.at`)} as first_sight
    from purchase_watch_internal.purchase_transitions t
    join purchase_watch.purchases p on p.id = t.purchase
    join purchase_watch_internal.sites s on s.name = p.site and s.configured
    left join (${firstAnswers(past)}) f on f.site = p.site
    left join purchase_watch_internal.purchase_transitions n on n.purchase = t.purchase and n.from_sequence = t.sequence
    where ${states.others ? past`not ${chosen}` : chosen}
      and t.not_after < ${to}::timestamptz
      and coalesce(n.not_after, p.ended_at, 'infinity') >= ${from}::timestamptz
      and ${site === null ? past`true` : past`p.site = ${site}`}
    order by t.not_after, t.purchase, t.sequence`;
  yield* fetched<RecordedStay>(past, cursor, batch);
}

/** SQL: of a long stay, when its purchase was registered, the amount, and how the purchase ended. */
const riskColumns = (past: Queries, isLong: Fragment): Fragment => past`
      case when ${isLong} then p.registered_at end as registered_at,
      case when ${isLong} then (select purchase_watch_internal.stored_number(fields, 'Price')::float8
        from purchase_watch_internal.purchase_details where purchase = p.id) end as amount,
      case when ${isLong} then (select purchase_watch_internal.stored_text(fields, 'CurrencyCode')
        from purchase_watch_internal.purchase_details where purchase = p.id) end as currency,
      case when ${isLong} then (select case when outcome = 'paid' then 'paid' when outcome in ('not_paid', 'again') then 'lost' end
        from purchase_watch_internal.outcomes where purchase = p.id) end as "end"`;

/**
 * The purchases whose order is known and that became Completed within a time, and still are, in that order; `place` is which payment of
 * its order it was, from 1.
 */
export async function* recordedPayments(
  past: Queries,
  { from, to, site }: Span & { readonly site: string | null },
  { batch = BATCH }: ReadBounds = {},
): AsyncGenerator<readonly RecordedPayment[]> {
  await past`
    declare recorded_payments no scroll cursor for
    select p.site, p.state_since as at, m.place::float8 as place, coalesce(${isOldPayment(past, past`f.at`)}, false) as is_old
    from purchase_watch.purchases p join purchase_watch_internal.sites s on s.name = p.site and s.configured
    left join (${firstAnswers(past)}) f on f.site = p.site
    cross join lateral (
      select count(*) filter (where (o.state_since, o.id) <= (p.state_since, p.id)) as place from (${paymentsOfOrder(past)}) o) m
    where p.state = ${COMPLETED} and p.state_since >= ${from}::timestamptz and p.state_since < ${to}::timestamptz and m.place > 0
      and ${site === null ? past`true` : past`p.site = ${site}`}
    order by p.state_since, p.id`;
  yield* fetched<RecordedPayment>(past, 'recorded_payments', batch);
}

/** The rows of a cursor, in batches. By statements of their own: the server's limit of time is then for each batch, and not for all of them. */
async function* fetched<Row extends object>(past: Queries, cursor: string, batch: number): AsyncGenerator<readonly Row[]> {
  for (;;) {
    const some = await past<Row[]>`fetch forward ${past.unsafe(String(batch))} from ${past(cursor)}`;
    if (some.length === 0) break;
    yield some;
  }
  await past`close ${past(cursor)}`;
}

/** SQL: when each site first answered: as stored, or by the oldest observation where that is earlier, as in databases of earlier versions. */
const firstAnswers = (past: Queries) => past`
    select s.name as site, least(s.first_success_at, f.at) as at
    from purchase_watch_internal.sites s left join (
      select p.site, min(t.not_after) as at
      from purchase_watch_internal.purchase_transitions t join purchase_watch.purchases p on p.id = t.purchase
      where t.from_sequence is null group by p.site) f on f.site = s.name`;

/** When sites could not be asked, by the incidents of kind `unreachable`. */
export const recordedOutages = (past: Queries, { from, to, site }: Span & { site: string | null }) => past<RecordedOutage[]>`
    select i.site, i.severity, i.since, i.opened_at as noticed_at,
      coalesce(i.quiet_since, i.ended_at) as until
    from purchase_watch_internal.incidents i join purchase_watch_internal.sites s on s.name = i.site and s.configured
    where i.kind = 'unreachable' and i.since < ${to}::timestamptz
      and coalesce(i.quiet_since, i.ended_at, 'infinity') >= ${from}::timestamptz
      and ${site === null ? past`true` : past`i.site = ${site}`}
    order by i.since, i.id`;

/** Silences that held at some moment of a time. A silence counts from its creation, even when its start is earlier. */
export const recordedSilences = (past: Queries, { from, to }: Span) => past<Silence[]>`
    select kind, site, state, subscriber, greatest(starts_at, created_at) as starts_at, ends_at
    from purchase_watch_internal.silences
    where ends_at > ${from}::timestamptz and greatest(starts_at, created_at) < ${to}::timestamptz
      and ends_at > created_at
    order by id`;

/** Messages about incidents of sites that were written within a time, the oldest first. */
export const recordedMessages = (past: Queries, { from, to }: Span) => past<RecordedMessage[]>`
    select e.type, e.created_at as at, e.body, array(
        select s.name from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
        where d.event = e.position and s.audience = 'people' order by s.id) as channels
    from purchase_watch_internal.events e
    where e.purchase is null and e.type in ('incident.opened', 'incident.reopened', 'incident.grew', 'incident.reminder', 'incident.ended', 'incident.checkouts', 'incident.paid_twice')
      and e.created_at >= ${from}::timestamptz and e.created_at < ${to}::timestamptz
    order by e.position`;

/** How many purchases polls flagged as stuck within a time. */
export const recordedStuck = (past: Queries, { from, to, site }: Span & { site: string | null }) =>
  firstValue<number>(past`
    select count(*) from purchase_watch_internal.events
    where type = 'purchase.stuck' and created_at >= ${from}::timestamptz and created_at < ${to}::timestamptz
      and ${site === null ? past`true` : past`site = ${site}`}`);
