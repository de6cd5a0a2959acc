/** Writes to the database how much this replica did, for the other replicas; a daemon with nothing to do writes nothing. */
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type Activity, addActivity } from '../../postgres/shards/activity.ts';
import { type Meters, POLL_OUTCOMES, type SiteMeter } from '../../runtime/meters.ts';

const EVERY: Milliseconds = 10_000;

/** A tick that adds what was done since the last one that was written. */
export function createActivity({ sql, meters }: { sql: Sql; meters: Pick<Meters, 'sites'> }): { tick(): Promise<Milliseconds> } {
  const written = new Map<string, Activity>();
  return {
    tick: async () => {
      const now = [...meters.sites()].map(([site, meter]) => sumsOf(site, meter));
      const fresh = now
        .map((sums) => since(written.get(sums.site), sums))
        .filter(({ polls, changes }) => polls > 0 || changes > 0);
      if (fresh.length > 0) await addActivity(sql, fresh);
      // Only now: what could not be written is written with the next.
      for (const sums of now) written.set(sums.site, sums);
      return EVERY;
    },
  };
}

function sumsOf(site: string, { polls, changes }: SiteMeter): Activity {
  const all = POLL_OUTCOMES.reduce((sum, outcome) => sum + polls[outcome], 0);
  return { site, polls: all, failedPolls: all - polls.seen - polls.same, changes };
}

function since(before: Activity | undefined, { site, polls, failedPolls, changes }: Activity): Activity {
  return {
    site,
    polls: polls - (before?.polls ?? 0),
    failedPolls: failedPolls - (before?.failedPolls ?? 0),
    changes: changes - (before?.changes ?? 0),
  };
}
