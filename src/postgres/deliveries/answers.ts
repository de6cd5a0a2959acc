/** Whole answers of receivers to attempts that failed: the last of a delivery, in a ring for each subscriber. */

import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';

/** Places in the ring of a subscriber; the table has the same limit. */
const RING = 64;
/** Of one batch, so many of a subscriber are kept: one that refuses thousands of events a second must not fill the log of the database. */
const KEPT_AT_ONCE = 8;

/** A failed attempt, as far as its answer goes. */
interface Answered {
  readonly delivery: { readonly subscriber: number };
  readonly answer?: string | null;
}

/** The failed attempts of a batch whose answers are kept: the last of each subscriber. */
export function keptAnswers<Each extends Answered>(batch: readonly Each[]): ReadonlySet<Each> {
  const answered = batch.filter(({ answer }) => answer !== null && answer !== undefined);
  const groups = Map.groupBy(answered, ({ delivery }) => delivery.subscriber);
  return new Set([...groups.values()].flatMap((all) => all.slice(-KEPT_AT_ONCE)));
}

/** The part of the statement that settles failures, after its parts `result` and `settled`. All statements write in one order, so that two never wait for each other. */
export const keepingAnswers = (sql: Queries): Fragment => sql`
    answered as (
      insert into purchase_watch_internal.receiver_answers as a (subscriber, slot, delivery, number, at, answer)
      select distinct on (r.subscriber, r.id % ${sql.unsafe(String(RING))}) r.subscriber, r.id % ${sql.unsafe(String(RING))}, r.id, r.number, r.at, r.answer
      from result r join settled s on s.id = r.id and s.mark is not distinct from r.mark where r.answer is not null
      order by r.subscriber, r.id % ${sql.unsafe(String(RING))}, r.at desc, r.id desc
      on conflict (subscriber, slot) do update
      set delivery = excluded.delivery, number = excluded.number, at = excluded.at, answer = excluded.answer)`;

/** An answer, and the attempt that it was given to. */
export interface ReceiverAnswer {
  readonly delivery: number;
  readonly number: number;
  readonly at: Instant;
  /** Status line, headers and body, in lines. */
  readonly text: string;
}

const COLUMNS = 'delivery, number, at, answer as text';

/** The answer to the last failed attempt of a delivery; null when it is not kept any more. */
export const answerOf = (sql: Queries, delivery: number) =>
  firstRow(sql<ReceiverAnswer[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.receiver_answers where delivery = ${delivery}`);

/** The answer of a subscriber to the last attempt that failed; null when no answer is kept. */
export const lastAnswer = (sql: Queries, subscriber: number) =>
  firstRow(sql<ReceiverAnswer[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.receiver_answers
    where subscriber = ${subscriber} order by at desc, delivery desc limit 1`);
