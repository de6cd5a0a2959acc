/** Checks whether the dead man's switch is called. It is not called from here: that would say that all is well. */

import { lateChannel, type People } from '../../domain/replicas/dead-mans-switch.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { channelsForPeople, lastSwitchCall } from '../../postgres/shards/dead-mans-switch.ts';
import type { Finding, Reporter } from '../overview/finding.ts';

/** Called every minute; one that is late by another is not. */
const CALLED_WITHIN: Milliseconds = 2 * 60_000;

/** `ceilings`: how many messages an hour each channel for people may get, by its subscriber's name. */
export async function checkDeadMansSwitch(report: Reporter, sql: Sql, ceilings: ReadonlyMap<string, number>): Promise<Finding[]> {
  const now = await databaseNow(sql);
  const [at, people] = [await lastSwitchCall(sql), await channelsForPeople(sql, now, ceilings)];
  const ago = at === null ? null : Math.max(Math.round(now - at), 0);
  if (ago !== null && ago <= CALLED_WITHIN) return [report.ok(`it was called ${humanDuration(ago)} ago`)];
  const found = ago === null ? 'it was never called' : `it was called ${humanDuration(ago)} ago for the last time`;
  return [report.warning(found, todoFor(people, now))];
}

function todoFor({ all, hearing, queues }: People, now: Instant): string {
  if (all > 0 && hearing === 0) return 'no channel for people takes messages, so it is held back: mend one of them';
  const late = lateChannel(queues, now);
  return late === null
    ? 'see that a daemon runs with the same settings; why it is not called is in its log (dead_mans_switch.withheld, dead_mans_switch.failed)'
    : `deliveries to ${late} do not leave, so the call is held back: see that a daemon with the same settings runs, and restart it`;
}
