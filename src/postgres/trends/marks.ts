/** Marks: moments that people and programs named, such as deploys. */

import type { Period } from '../../domain/trends/period.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';

export interface MarkRow {
  readonly id: number;
  readonly at: Instant;
  readonly text: string;
  /** Null: it is about all sites. */
  readonly site: string | null;
}

/** Marks in one answer; of more the latest are answered. */
export const MOST_MARKS = 500;

const about = (sql: Queries, site: string | null): Fragment =>
  site === null ? sql`true` : sql`(site is null or site = ${site})`;

export const addMark = (sql: Queries, { at, text, site }: Omit<MarkRow, 'id'>) =>
  onlyRow(sql<MarkRow[]>`
    insert into purchase_watch_internal.marks (at, text, site) values (${at}::timestamptz, ${text}, ${site})
    returning id, at, text, site`);

/** A page of the marks of all sites, or of those that are about one, the last added first. */
export const listMarks = (
  sql: Queries,
  { site, before, limit }: { site: string | null; before: number | null; limit: number },
) => sql<MarkRow[]>`
    select id, at, text, site from purchase_watch_internal.marks
    where ${about(sql, site)} and ${before === null ? sql`true` : sql`id < ${before}`} order by id desc limit ${limit}`;

/** Deletes a mark; answers whether there was one. */
export async function deleteMark(sql: Queries, id: number): Promise<boolean> {
  const { count } = await sql`delete from purchase_watch_internal.marks where id = ${id}`;
  return count > 0;
}

/** The marks of a time that are about all sites or this one, in order. */
export async function marksIn(sql: Queries, { from, to }: Period, site: string | null): Promise<MarkRow[]> {
  const rows = await sql<MarkRow[]>`
    select id, at, text, site from purchase_watch_internal.marks
    where at >= ${from}::timestamptz and at < ${to}::timestamptz and ${about(sql, site)} order by at desc, id desc limit ${MOST_MARKS}`;
  return rows.toReversed();
}
