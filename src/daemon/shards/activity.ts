/** Writes to the database how much this replica did, for the other replicas; a daemon with nothing to do writes nothing. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { type Activity, addActivity, addDeliveryActivity, type DeliveryActivity } from '../../postgres/shards/activity.ts';
import { POLL_OUTCOMES, type SiteMeter, type SubscriberMeter } from '../../runtime/meters.ts';
import type { Deps } from '../deps.ts';

const EVERY: Milliseconds = 10_000;

interface ActivityOptions extends Pick<Deps, 'sql' | 'meters'> {
  /** Writes how this replica calls each site, which has the same rhythm. */
  writeSites?(): Promise<void>;
}

/** A tick that adds what was done since the last one that was written. */
export function createActivity({ sql, meters, writeSites }: ActivityOptions): { tick(): Promise<Milliseconds> } {
  let polled: ReadonlyMap<string, Activity> = new Map();
  let delivered: ReadonlyMap<string, DeliveryActivity> = new Map();

  const writePolls = async (): Promise<void> => {
    const now = new Map([...meters.sites()].map(([site, meter]) => [site, activityOf(site, meter)]));
    const fresh = [...now.values()]
      .map((sums) => ({ ...activitySince(polled.get(sums.site), sums), greatestLag: meters.sites().get(sums.site)!.takeLag() }))
      .filter(({ polls, changes }) => polls > 0 || changes > 0);
    if (fresh.length > 0) {
      await addActivity(sql, fresh).catch((error: unknown) => {
        for (const { site, greatestLag } of fresh) meters.sites().get(site)?.began(greatestLag);
        throw error;
      });
    }
    // Only now: what could not be written is written with the next.
    polled = now;
  };

  const writeDeliveries = async (): Promise<void> => {
    const now = new Map([...meters.subscribers()].map(([name, meter]) => [name, deliveriesOf(name, meter)]));
    const fresh = [...now.values()]
      .map((sums) => deliveriesSince(delivered.get(sums.subscriber), sums))
      .filter((sums) => sums.delivered > 0 || sums.failedAttempts > 0);
    if (fresh.length > 0) await addDeliveryActivity(sql, fresh);
    delivered = now;
  };

  return {
    tick: async () => {
      await writePolls();
      await writeDeliveries();
      await writeSites?.();
      return EVERY;
    },
  };
}

function activityOf(site: string, { polls, changes }: SiteMeter): Activity {
  const all = POLL_OUTCOMES.reduce((sum, outcome) => sum + polls[outcome], 0);
  return { site, polls: all, failedPolls: all - polls.seen - polls.same, changes };
}

function activitySince(before: Activity | undefined, { site, polls, failedPolls, changes }: Activity): Activity {
  return {
    site,
    polls: polls - (before?.polls ?? 0),
    failedPolls: failedPolls - (before?.failedPolls ?? 0),
    changes: changes - (before?.changes ?? 0),
  };
}

function deliveriesOf(subscriber: string, { attempts }: SubscriberMeter): DeliveryActivity {
  const { delivered, failed, exhausted, gone } = attempts;
  return { subscriber, delivered, failedAttempts: failed + exhausted + gone };
}

function deliveriesSince(before: DeliveryActivity | undefined, now: DeliveryActivity): DeliveryActivity {
  // The meter of a subscriber that was deleted and added again begins at zero.
  const isNew = before === undefined || now.delivered < before.delivered || now.failedAttempts < before.failedAttempts;
  if (isNew) return now;
  return {
    subscriber: now.subscriber,
    delivered: now.delivered - before.delivered,
    failedAttempts: now.failedAttempts - before.failedAttempts,
  };
}
