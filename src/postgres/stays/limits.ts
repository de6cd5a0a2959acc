/** When stays become stuck, by site: limits that the settings name, and limits that are learned from customers who got on. */

import { type PollPolicy, policyOf, policyOfSite } from '../../domain/polling/poll-plan.ts';
import { autoLimit, configuredLimit, type Dwell, dwellOf, mostLimit, type StuckLimit } from '../../domain/stays/dwell.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Clock } from '../../runtime/clock.ts';
import { wall } from '../../runtime/time.ts';
import type { Queries } from '../connection/database.ts';
import { type DwellRow, readDwell } from './dwell.ts';

export type StayLimits = ReturnType<typeof createStayLimits>;

/** The time over which exits count: long enough for sparse sites, short enough to follow a page that has changed. */
const WINDOW: Milliseconds = 14 * 86_400_000;
const REFRESH_EVERY: Milliseconds = 5 * 60_000;

/** Limits by the settings. Until the first refresh, automatic limits have their defaults. */
export function createStayLimits({ sql, clock, policy }: { sql: Queries; clock: Pick<Clock, 'now'>; policy: PollPolicy }) {
  const most = mostLimit(policy.sessionLength);
  const isAuto = [policy, ...(policy.bySite?.values() ?? [])].some(
    ({ fallback, states }) => fallback.auto || [...states.values()].some(({ auto }) => auto),
  );
  let own: ReadonlyMap<string, Dwell> = new Map();
  let pooled: ReadonlyMap<number, Dwell> = new Map();
  /** The sites' plans: each is made when it is first used, and again after each reading. */
  let policies = new Map<string, PollPolicy>();
  let readAt = Number.NEGATIVE_INFINITY;

  const limitOf = (site: string, state: number): StuckLimit => {
    const { stuckAfter, auto } = policyOf(policyOfSite(policy, site), state);
    const ofSite = own.get(keyOf(site, state)) ?? null;
    if (!auto || stuckAfter === null) return configuredLimit(stuckAfter, ofSite, state);
    return autoLimit({ own: ofSite, pooled: pooled.get(state) ?? null, fallback: stuckAfter, most });
  };

  const withLimits = (site: string): PollPolicy => {
    const ofSite = policyOfSite(policy, site);
    const states = new Map(ofSite.states);
    // States that the settings do not list share one plan; each has a limit of its own once customers of the state are known.
    if (ofSite.fallback.auto) for (const state of pooled.keys()) states.set(state, policyOf(ofSite, state));
    for (const [state, ofState] of states) {
      if (ofState.auto) states.set(state, { ...ofState, stuckAfter: limitOf(site, state).ms });
    }
    return { ...ofSite, states };
  };

  const refresh = async (): Promise<void> => {
    const now = clock.now();
    const rows = await readDwell(sql, now - WINDOW);
    own = dwellsBy(rows, ({ site, state }) => keyOf(site, state));
    pooled = dwellsBy(rows, ({ state }) => state);
    policies = new Map();
    readAt = now;
  };

  return {
    /** Reads the learned dwell times. Rejects when the database fails; the earlier dwell times are then kept. */
    refresh,
    /** Refreshes when the last reading is old enough; answers how long the next reading may wait. */
    tick: async (): Promise<Milliseconds> => {
      const passed = clock.now() - readAt;
      // The time since the last reading is negative when the clock was set back.
      if (passed < 0 || passed >= REFRESH_EVERY) await refresh();
      return Math.max(readAt + REFRESH_EVERY - clock.now(), 1);
    },
    /** The plan for a site, with its learned limits in it. */
    policyFor: (site: string): PollPolicy => {
      if (!isAuto) return policyOfSite(policy, site);
      const made = policies.get(site) ?? withLimits(site);
      policies.set(site, made);
      return made;
    },
    /** The limit of a state at a site, with the dwell times that it rests on. */
    limitOf,
    /** How long customers who got on stayed in a state of a site, or of all sites (null), from however few customers; null when none is known. */
    dwellIn: (site: string | null, state: number): Dwell | null =>
      (site === null ? pooled.get(state) : own.get(keyOf(site, state))) ?? null,
  };
}

/** Limits as a command shows them: read once, by the machine's clock. */
export async function learnedLimits(sql: Queries, policy: PollPolicy): Promise<StayLimits> {
  const limits = createStayLimits({ sql, clock: { now: wall }, policy });
  await limits.refresh();
  return limits;
}

/** The name of a site holds no slash. */
const keyOf = (site: string, state: number): string => `${site}/${state}`;

/** Merges the rows of each key into one histogram: rows of several sites may hold the same bucket more than once. */
const dwellsBy = <Key>(rows: readonly DwellRow[], keyOfRow: (row: DwellRow) => Key): Map<Key, Dwell> =>
  new Map(
    [...Map.groupBy(rows, keyOfRow)].flatMap(([key, counts]) => {
      const dwell = dwellOf(counts);
      return dwell === null ? [] : [[key, dwell] as const];
    }),
  );
