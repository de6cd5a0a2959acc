/** Writes the results of attempts in batches, only for shards that the writing replica still owns. */

import type { Holding } from '../../domain/replicas/ownership.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Columns, columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { countingAttempts } from '../trends/delivery-hours.ts';
import { keepingAnswers, keptAnswers } from './answers.ts';
import { type DueDelivery, LONGEST_LANE, putOff, type Rank, REPLAYED } from './deliveries.ts';

/** An attempt that ended, and what follows for its delivery. */
export interface Settlement {
  readonly delivery: Pick<DueDelivery, 'id' | 'mark' | 'subscriber' | 'lane' | 'position' | 'shard' | 'rank' | 'attemptsBefore'>;
  /** The number of this attempt, from 1. */
  readonly number: number;
  readonly status: 'pending' | 'delivered' | 'exhausted';
  /** When the delivery is tried again; has a meaning only while the delivery is pending. */
  readonly dueAt: Instant;
  /** The delivery's rank from now on. */
  readonly rank: Rank;
  readonly at: Instant;
  readonly tookMs: number;
  readonly httpStatus: number | null;
  /** `delivered`, or the stable word for what went wrong. */
  readonly outcome: string;
  /** On whose side the attempt failed; null when it delivered. The schedule does not count a failure on the daemon's side (`ours`). */
  readonly fault: 'receiver' | 'ours' | null;
  /** Whether the schedule does not count this attempt, on whichever side it failed. */
  readonly isUncounted?: boolean;
  readonly error: string | null;
  readonly excerpt: string | null;
  /** The whole answer to an attempt that failed. */
  readonly answer?: string | null;
}

/** The replica that writes, and the shards that it holds. */
export interface Writer {
  readonly replica: string;
  readonly holdings: readonly Holding[];
}

/** The part `held` of a statement: those of the writer's shards that it still holds, locked against a takeover until the transaction ends. */
export const held = (sql: Queries, { replica, holdings }: Writer): Fragment => sql`
  held as materialized (
    select s.id from purchase_watch_internal.shards s
    join ${columns(sql, holdings, 'h', 'shard smallint, epoch bigint')} on h.shard = s.id and h.epoch = s.epoch
    where s.owner = ${replica} order by s.id for share of s)`;

/*
 * Rows are found by their id, and `settled_at is null` asks whether they are pending: for `status = 'pending'` the planner
 * would read the whole index of pending deliveries, because its statistics are of a moment when that index was nearly empty.
 */

/**
 * Writes attempts and the new status of their deliveries. A failure puts the deliveries behind it in its lane off to the same
 * moment; a lane that is free again is due at once. Answers the ids written. Not written are attempts in shards that this
 * replica does not hold any more, attempts that do not follow the last one written, as of a statement that runs late, and those
 * of a delivery that the database lost, when it went back and gave the id to another one.
 */
export async function settle(sql: Queries, batch: readonly Settlement[], writer: Writer): Promise<Set<number>> {
  await freeFollowers(sql, batch.filter(freeing));
  const delivered = batch.filter(({ status }) => status === 'delivered');
  const failed = batch.filter(({ status }) => status !== 'delivered');
  const written = new Set<number>();
  if (delivered.length > 0) for (const id of await settleDelivered(sql, delivered, writer)) written.add(id);
  if (failed.length > 0) for (const id of await settleFailed(sql, failed, writer)) written.add(id);
  const waiting = failed.filter(({ status, delivery }) => status === 'pending' && written.has(delivery.id));
  await putOff(
    sql,
    waiting.map(({ delivery: { id: head, subscriber, lane, position }, rank, dueAt }) => {
      const isReplayed = rank === REPLAYED;
      return { head, subscriber, lane, position, isReplayed, dueAt, rank };
    }),
  );
  return written;
}

/** Whether a result makes the deliveries behind it due. */
export const freeing = ({ status, number }: Settlement): boolean => status !== 'pending' && number > 1;

const DELIVERY: Columns<Settlement> = {
  id: ['bigint', (s) => s.delivery.id],
  subscriber: ['integer', (s) => s.delivery.subscriber],
  shard: ['smallint', (s) => s.delivery.shard],
  mark: ['integer', (s) => s.delivery.mark],
};

/** The condition that the attempt `r` is the next one of the pending delivery `d`, and not of one that had its id before. */
const FOLLOWS = `d.settled_at is null and d.attempts = r.number - 1 and d.subscriber = r.subscriber
        and d.mark is not distinct from r.mark`;

/** Writes the attempt that delivered into the delivery's own row: most deliveries need one attempt, and a row for each would double the cost. */
async function settleDelivered(sql: Queries, batch: readonly Settlement[], writer: Writer): Promise<number[]> {
  // Answers one row with all ids: a row for each id costs more than writing the delivery.
  const [row] = await sql<[{ ids: string | null }]>`
    with ${held(sql, writer)},
    result as (
      select r.* from ${columns(sql, batch, 'r', {
        ...DELIVERY,
        number: ['integer', (s) => s.number],
        at: ['timestamptz', (s) => s.at],
        took: ['integer', (s) => Math.round(s.tookMs)],
        http_status: ['smallint', (s) => s.httpStatus],
        excerpt: ['text', (s) => s.excerpt],
      })}
      join held on held.id = r.shard),
    settled as (
      update purchase_watch_internal.deliveries d set status = 'delivered', attempts = r.number, settled_at = r.at,
        took_ms = r.took, http_status = r.http_status, excerpt = r.excerpt, last_error = null
      from result r where d.id = r.id and ${sql.unsafe(FOLLOWS)}
      returning d.id, r.at, r.took, r.http_status, d.subscriber, true as delivered),
    ${countingAttempts(sql)}
    select string_agg(id::text, ',') as ids from settled`;
  return row.ids?.split(',').map(Number) ?? [];
}

async function settleFailed(sql: Queries, batch: readonly Settlement[], writer: Writer): Promise<number[]> {
  const kept = keptAnswers(batch);
  const rows = await sql<{ id: number }[]>`
    with ${held(sql, writer)},
    result as (
      select r.* from ${columns(sql, batch, 'r', {
        ...DELIVERY,
        number: ['integer', (s) => s.number],
        status: ['text', (s) => s.status],
        due: ['timestamptz', (s) => s.dueAt],
        rank: ['smallint', (s) => s.rank],
        at: ['timestamptz', (s) => s.at],
        took: ['integer', (s) => Math.round(s.tookMs)],
        http_status: ['integer', (s) => s.httpStatus],
        outcome: ['text', (s) => s.outcome],
        fault: ['text', (s) => s.fault],
        error: ['text', (s) => s.error],
        excerpt: ['text', (s) => s.excerpt],
        answer: ['text', (s) => (kept.has(s) ? s.answer : null)],
        before: ['integer', (s) => s.delivery.attemptsBefore],
        uncounted: ['integer', (s) => (s.fault === 'ours' || s.isUncounted === true ? 1 : 0)],
      })}
      join held on held.id = r.shard),
    -- A delivery that was sent again while an attempt was under way gets another attempt, at the moment that was asked for.
    settled as (
      update purchase_watch_internal.deliveries d set attempts = r.number, last_error = r.error,
        due_at = case when d.attempts_before > r.before then d.due_at else r.due end,
        rank = case when d.attempts_before > r.before then d.rank else r.rank end,
        attempts_before = d.attempts_before + r.uncounted,
        status = case when r.status = 'exhausted' and d.attempts_before > r.before then 'pending' else r.status end,
        settled_at = case when r.status = 'pending' or r.status = 'exhausted' and d.attempts_before > r.before then null
          else r.at end
      from result r where d.id = r.id and ${sql.unsafe(FOLLOWS)} 
      returning d.id, d.mark, r.at, r.took, r.http_status, d.subscriber, false as delivered),
    ${countingAttempts(sql)},
    attempt as (
      insert into purchase_watch_internal.attempts (delivery, number, at, took_ms, http_status, outcome, fault, excerpt)
      select r.id, r.number, r.at, r.took, r.http_status, r.outcome, r.fault, r.excerpt
      from result r join settled s on s.id = r.id and s.mark is not distinct from r.mark on conflict do nothing),
    ${keepingAnswers(sql)}
    select id from settled`;
  return rows.map(({ id }) => id);
}

/**
 * Makes the deliveries that were put off in a lane due, now that the lane's first delivery is through. Only a lane that failed
 * before can hold such deliveries. Runs before the first delivery is settled: after a crash in between, they are put off once
 * more; in the other order nothing would show any more that they must become due.
 */
async function freeFollowers(sql: Queries, freed: readonly Settlement[]): Promise<void> {
  if (freed.length === 0) return;
  await sql`
    update purchase_watch_internal.deliveries d set due_at = least(d.due_at, r.at), rank = case d.rank when 2 then 2 else 0 end
    from ${columns(sql, freed, 'r', {
      subscriber: ['integer', (s) => s.delivery.subscriber],
      lane: ['bigint', (s) => s.delivery.lane],
      at: ['timestamptz', (s) => s.at],
    })}
    cross join lateral (
      select f.id from purchase_watch_internal.deliveries f
      where f.subscriber = r.subscriber and f.lane = r.lane and f.status = 'pending'
        and (f.due_at > r.at or f.rank = 1)
      order by f.rank = 2, f.event limit ${LONGEST_LANE}) waiting
    where d.id = waiting.id and d.settled_at is null`;
}
