/** Everything that the database knows of how the product is doing, read once for the overview, the headline and doctor. */
import { completionsOf, edgesOf, hourUntil } from '../../domain/flow/flow.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { listIncidents } from '../../postgres/incidents/list.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { countPurchases } from '../../postgres/reports/counts.ts';
import { firstPolls } from '../../postgres/reports/first-polls.ts';
import { countedEdges, usualEdges } from '../../postgres/reports/flow.ts';
import { unownedShards } from '../../postgres/reports/inspect.ts';
import { databaseMoment, dueLag, longestStuck, unreadablePurchases, waitingDeliveries } from '../../postgres/reports/overview.ts';
import { shownChanges } from '../../postgres/shards/database-changes.ts';
import { daemonSilence } from '../../postgres/shards/living-replicas.ts';
import { unnamedSubscribers } from '../../postgres/shards/named.ts';
import { replicaTroubles } from '../../postgres/shards/replica-troubles.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { lostDeliveries } from '../../postgres/subscribers/trouble.ts';
import { livingDaemons } from '../running-daemons.ts';
import { wallClockAt } from './finding.ts';

/** Open incidents that are read; a site has one at most for each state, and one for itself. */
const MOST_INCIDENTS = 500;
/** Stuck purchases that are named. */
const MOST_STUCK = 5;

export type OverviewFacts = Awaited<ReturnType<typeof readFacts>>;

/** Reads counters and the fronts of queues and indexes: the cost is the same however many purchases there are. */
export async function readFacts(sql: Sql) {
  const [clock, { notificationQueue }, daemons, silence, unowned, sites, counts, lags, firsts] = await Promise.all([
    readClock(sql),
    databaseMoment(sql),
    livingDaemons(sql),
    daemonSilence(sql),
    unownedShards(sql),
    listSites(sql),
    countPurchases(sql),
    dueLag(sql),
    firstPolls(sql),
  ]);
  const { now } = clock;
  const hour = hourUntil(now);
  const [counted, usual, incidents, subscribers, waiting, troubles, changes, unnamed, unreadable, stuck, lost] =
    await Promise.all([
      countedEdges(sql, hour, null),
      usualEdges(sql, hour, null),
      listIncidents(sql, { filter: { status: 'open' }, before: null, limit: MOST_INCIDENTS + 1 }),
      readSubscribers(sql),
      waitingDeliveries(sql),
      replicaTroubles(sql),
      shownChanges(sql),
      unnamedSubscribers(sql),
      unreadablePurchases(sql, undefined),
      longestStuck(sql, { site: undefined, most: MOST_STUCK }),
      lostDeliveries(sql),
    ]);
  return {
    now,
    /** By how much the clock of this machine is ahead of the database's. */
    clockOffset: wallClockAt(clock.readAt) - now,
    notificationQueue,
    stuck,
    lost,
    daemons,
    silence,
    unowned,
    sites,
    counts,
    lags,
    firsts,
    incidents,
    subscribers,
    waiting,
    troubles,
    changes,
    unnamed,
    unreadable,
    completions: completionsOf(edgesOf(counted, usual), usual.length > 0),
  };
}
