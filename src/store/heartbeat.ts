/** The dead man's switch, as the database knows it: whether somebody can be told, and when it was called. */
import type { Instant } from '../core/purchase.ts';
import type { Queries } from './database.ts';
import { hearingChannels } from './subscriber-symptoms.ts';

/** How many channels for people there are, and how many of them take messages, as far as is known. */
export async function channelsForPeople(sql: Queries, now: Instant): Promise<{ all: number; hearing: number }> {
  const hearing = await hearingChannels(sql, now);
  const [row] = await sql<[{ all: number }]>`
    select count(*)::float8 as all from purchase_watch.subscribers where configured and kind = 'slack'`;
  return { all: row.all, hearing: hearing.length };
}

/** Notes that the switch was called. */
export async function noteHeartbeat(sql: Queries, at: Instant): Promise<void> {
  await sql`update purchase_watch.leases set done_at = to_timestamp(${at}::float8 / 1000) where name = 'heartbeat'`;
}

/** When the switch was called last; null while it never was. */
export async function lastHeartbeat(sql: Queries): Promise<Instant | null> {
  const [row] = await sql<{ at: Instant | null }[]>`
    select (extract(epoch from done_at) * 1000)::float8 as at from purchase_watch.leases where name = 'heartbeat'`;
  return row?.at ?? null;
}
