/** Numbers of all replicas together, for /metrics: read at most every ten seconds, and never waited for long. */

import { periodsOf } from '../../domain/trends/period.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { countOpenIncidents } from '../../postgres/incidents/incidents.ts';
import { LEASES } from '../../postgres/migrations/names.ts';
import { listSites, presentSites } from '../../postgres/polling/sites.ts';
import { purchaseTotals } from '../../postgres/reports/counts.ts';
import { databaseMoment, dueLag, waitingDeliveries, waitingOf } from '../../postgres/reports/overview.ts';
import { lastSwitchCall } from '../../postgres/shards/dead-mans-switch.ts';
import { livingReplicas } from '../../postgres/shards/living-replicas.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { hearingChannels } from '../../postgres/subscribers/symptoms.ts';
import { endedAmountsAtSites, endedAtSites } from '../../postgres/trends/read.ts';
import { doneAt } from '../../postgres/upkeep/retention.ts';
import { zoneOf } from '../../runtime/loops/schedule.ts';
import { delay, monotonic } from '../../runtime/time.ts';
import { together } from './together.ts';

/** Numbers of all replicas together. Times are by the database's clock. */
export type DatabaseNumbers = Awaited<ReturnType<typeof read>>;

/** However many ask, the database is asked so often. */
const FRESH: Milliseconds = 10_000;
const ANSWER_WITHIN: Milliseconds = 2_000;

export interface DatabaseReading {
  /** Whether the database answers: a locked table may keep numbers back all the same. */
  readonly answers: boolean;
  /** Null while they cannot be read, or not in time. */
  readonly numbers: DatabaseNumbers | null;
}

/** Reads the numbers, or takes those just read. */
export function databaseNumbers(sql: Sql): () => Promise<DatabaseReading> {
  let last: { readonly numbers: DatabaseNumbers; readonly readAt: Milliseconds } | null = null;
  let underWay: Promise<DatabaseNumbers | null> | null = null;
  let answers = false;
  const begin = async (): Promise<DatabaseNumbers | null> => {
    answers = false;
    try {
      const moment = await databaseMoment(sql);
      answers = true;
      const numbers = await read(sql, moment);
      last = { numbers, readAt: monotonic() };
      return numbers;
    } catch {
      return null;
    } finally {
      underWay = null;
    }
  };
  return async () => {
    if (last !== null && monotonic() - last.readAt < FRESH) return { answers: true, numbers: last.numbers };
    // One at a time: a database that is silent must not collect questions.
    underWay ??= begin();
    const numbers = await Promise.race([underWay, delay(ANSWER_WITHIN, null, { ref: false })]);
    return { answers, numbers };
  };
}

async function read(sql: Sql, moment: Awaited<ReturnType<typeof databaseMoment>>) {
  const lastDay = periodsOf('24h', moment.at, zoneOf('UTC')).present;
  const { sites, subscribers, waiting, replicas, ...numbers } = await together({
    totals: purchaseTotals(sql),
    lags: dueLag(sql),
    sites: listSites(sql),
    incidents: countOpenIncidents(sql),
    subscribers: readSubscribers(sql),
    waiting: waitingDeliveries(sql),
    replicas: livingReplicas(sql),
    /** The channels for people that take messages, by name. */
    hearing: hearingChannels(sql, moment.at),
    /** Purchases that ended in the hours of `trends --range 24h`, and their amounts. */
    ended: endedAtSites(sql, lastDay),
    endedAmounts: endedAmountsAtSites(sql, lastDay),
    /** When the dead man's switch was called last; null while it never was. */
    deadMansSwitchAt: lastSwitchCall(sql),
    /** When the last whole run of retention began; null before the first. */
    retentionAt: doneAt(sql, LEASES.upkeep),
  });
  return {
    ...moment,
    ...numbers,
    /** Sites that are configured. */
    sites: presentSites(sites),
    subscribers: subscribers.map((each) => ({ ...each, ...waitingOf(waiting, each.id) })),
    replicas: replicas.length,
  };
}
