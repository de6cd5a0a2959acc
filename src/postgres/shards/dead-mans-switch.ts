/** The database's part of the dead man's switch: whether channels for people take messages in time, and when the switch was called. */

import { type ChannelQueue, MESSAGES_WITHIN, type People } from '../../domain/replicas/dead-mans-switch.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstValue } from '../connection/rows.ts';
import { messagesTaken } from '../deliveries/channel-lane.ts';
import { RANKS } from '../deliveries/deliveries.ts';
import { SITE_SHARD } from '../events/events.ts';
import { LEASES } from '../migrations/names.ts';
import { hearingChannels } from '../subscribers/symptoms.ts';

/** The state of the channels for people; `ceilings`: how many messages an hour each may get, by the channel's name. */
export async function channelsForPeople(sql: Queries, now: Instant, ceilings: ReadonlyMap<string, number>): Promise<People> {
  const hearing = await hearingChannels(sql, now);
  const [row] = await sql<[{ all: number }]>`
    select count(*) as all from purchase_watch_internal.subscribers where configured and audience = 'people'`;
  return { all: row.all, hearing: hearing.length, queues: await queues(sql, now, ceilings) };
}

/** The oldest due delivery of each channel that is on, not paused and reached. */
async function queues(sql: Queries, now: Instant, ceilings: ReadonlyMap<string, number>): Promise<ChannelQueue[]> {
  const rows = await sql<{ id: number; channel: string; dueAt: Instant }[]>`
    select s.id, s.name as channel, min(front.due_at) as due_at
    from purchase_watch_internal.subscribers s
    left join purchase_watch_internal.subscriber_health h on h.subscriber = s.id
    cross join unnest(${RANKS}::smallint[]) as k (rank)
    cross join lateral (
      select d.due_at from purchase_watch_internal.deliveries d
      where d.subscriber = s.id and d.shard = ${SITE_SHARD} and d.rank = k.rank and d.status = 'pending'
        and d.due_at <= ${now}::timestamptz
      order by d.due_at, d.event limit 1) front
    where s.configured and s.audience = 'people' and s.status = 'active' and h.paused_until is null and h.our_failing_since is null
    group by s.id, s.name order by s.id`;
  const found: ChannelQueue[] = [];
  for (const { id, channel, dueAt } of rows) {
    const maxPerHour = ceilings.get(channel) ?? null;
    const messages =
      maxPerHour === null
        ? []
        : await messagesTaken(sql, { subscriber: id, since: now - MESSAGES_WITHIN, now, most: maxPerHour });
    found.push({ channel, dueAt, messages, maxPerHour });
  }
  return found;
}

/** Notes that the switch was called. */
export async function noteSwitchCall(sql: Queries, at: Instant): Promise<void> {
  await sql`update purchase_watch_internal.leases set done_at = ${at}::timestamptz where name = ${LEASES.deadMansSwitch}`;
}

/** When the switch was called last; null while it never was. */
export const lastSwitchCall = (sql: Queries) =>
  firstValue<Instant | null>(sql`
    select done_at as at from purchase_watch_internal.leases where name = ${LEASES.deadMansSwitch}`);
