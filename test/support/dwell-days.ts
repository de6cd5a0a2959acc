/** Days of dwell times and stays as the judge leaves them. */
import { bucketOf } from '../../src/domain/stays/dwell.ts';
import type { Queries } from '../../src/postgres/connection/database.ts';

interface Exits {
  readonly site: string;
  readonly state: number;
  /** The day's number before today, in UTC. */
  readonly daysAgo?: number;
  readonly exits: number;
  /** How long each stayed; the longest that polls allow is the same when it is not given. */
  readonly dwell: number;
  readonly longest?: number;
}

/** Adds good exits to a day. */
export async function addExits(sql: Queries, now: number, given: readonly Exits[]): Promise<void> {
  for (const { site, state, daysAgo = 1, exits, dwell, longest = dwell } of given) {
    for (const [column, length] of [
      ['shortest', dwell],
      ['longest', longest],
    ] as const) {
      await sql`
        insert into purchase_watch_internal.dwell_days as d (site, state, day, bucket, ${sql(column)})
        values (${site}, ${state}, ${dayOf(now, daysAgo)}::date, ${bucketOf(length)}, ${exits})
        on conflict (site, state, day, bucket) do update set ${sql(column)} = d.${sql(column)} + excluded.${sql(column)}`;
    }
  }
}

/** `2026-11-20`, in UTC. */
export function dayOf(now: number, daysAgo: number): string {
  return new Date(now - daysAgo * 86_400_000).toISOString().slice(0, 10);
}
