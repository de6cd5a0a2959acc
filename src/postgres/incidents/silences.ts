/** Silences: times in which people want no alerts about some incidents. */

import type { Silence } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';

export interface SilenceRow extends Silence {
  readonly id: number;
  readonly reason: string;
  readonly by: string;
  readonly createdAt: Instant;
}

const COLUMNS = `
  id, kind, site, state, subscriber, reason, created_by as by, created_at, starts_at, ends_at`;

/** Silences that hold at a moment. */
export const silencesAt = (sql: Queries, now: Instant) => sql<SilenceRow[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.silences
    where ends_at > ${now}::timestamptz and starts_at <= ${now}::timestamptz order by id`;

/** A page of silences, newest first: those that hold now or later, those that are over, or all. */
export async function listSilences(
  sql: Queries,
  { status, before, limit }: { status: 'current' | 'over' | 'all'; before: number | null; limit: number },
): Promise<SilenceRow[]> {
  const over = { current: sql`ends_at > now()`, over: sql`ends_at <= now()`, all: sql`true` }[status];
  // Orders by the table's column: `id` alone would be the column of the answer, for which there is no index.
  return sql<SilenceRow[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.silences s
    where ${over} and ${before === null ? sql`true` : sql`id < ${before}`} order by s.id desc limit ${limit}`;
}

/** A silence by its id, or null. */
export const findSilence = (sql: Queries, id: number) =>
  firstRow(sql<SilenceRow[]>`select ${sql.unsafe(COLUMNS)} from purchase_watch_internal.silences where id = ${id}`);

export interface NewSilence {
  readonly kind: IncidentKind | null;
  readonly site: string | null;
  readonly state: number | null;
  readonly subscriber: string | null;
  readonly reason: string;
  readonly by: string;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

/** Adds a silence and wakes the judge. */
export async function addSilence(sql: Queries, silence: NewSilence): Promise<SilenceRow> {
  const { kind, site, state, subscriber, reason, by, startsAt, endsAt } = silence;
  const [row] = await sql<[SilenceRow]>`
    with added as (
      insert into purchase_watch_internal.silences (kind, site, state, subscriber, reason, created_by, starts_at, ends_at)
      values (${kind}, ${site}, ${state}, ${subscriber}, ${reason}, ${by}, ${startsAt}::timestamptz, ${endsAt}::timestamptz)
      returning *),
    woken as (select pg_notify('purchase_watch_wake', 'judge') from added)
    select ${sql.unsafe(COLUMNS)}, (select count(*) from woken) as woken from added`;
  return row;
}

/** Ends a silence now; a silence that is over is not changed. Answers whether there is such a silence. */
export async function endSilence(sql: Queries, id: number): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    with ended as (
      update purchase_watch_internal.silences set ends_at = now(), starts_at = least(starts_at, now()) where id = ${id} and ends_at > now() returning id),
    woken as (select pg_notify('purchase_watch_wake', 'judge') from ended)
    select true as found, (select count(*) from woken) from purchase_watch_internal.silences where id = ${id}`;
  return row !== undefined;
}
