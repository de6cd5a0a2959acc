/** How the watched purchases stand, noted every ten minutes for pages about the past. */

import { tenMinutesBefore } from '../../domain/flow/flow.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { purchaseTotals } from '../../postgres/reports/counts.ts';
import { countedEdges } from '../../postgres/reports/flow.ts';
import { type SnapshotRow, writeSnapshots } from '../../postgres/reports/snapshots.ts';
import { readWaiting, type Standing, standingOf, sumOf } from '../flow/flow.ts';
import type { StayLimits } from '../flow/stay-limits.ts';

/** Ages that are noted one by one in each state; the others are in buckets. */
const MOST_SINGLE = 12;
/** Of all sites' limits it matters whether they differ. */
const MOST_LIMITS = 2;

/** Counts the watched purchases of all sites together and of each, as of a moment that has just passed. */
export async function takeSnapshots(
  sql: Sql,
  { at, now, limits }: { at: Instant; now: Instant; limits: StayLimits },
): Promise<void> {
  const [totals, edges] = await Promise.all([purchaseTotals(sql), countedEdges(sql, tenMinutesBefore(at), null)]);
  const watched = totals.filter(({ status }) => status === 'watching');
  const waiting = await readWaiting(sql, { watched, limits, now });
  const sites = [...new Set(totals.map(({ site }) => site))];
  const bySite = {
    watched: Map.groupBy(watched, siteOf),
    waiting: Map.groupBy(waiting, siteOf),
    edges: Map.groupBy(edges, siteOf),
  };
  const row = (site: string | null): SnapshotRow => {
    const here = site === null ? watched : (bySite.watched.get(site) ?? []);
    const came = (site === null ? edges : (bySite.edges.get(site) ?? [])).filter(({ from }) => from === null);
    const found = {
      site,
      sites: site === null ? sites : [site],
      limits,
      watched: here,
      waiting: site === null ? waiting : (bySite.waiting.get(site) ?? []),
      most: MOST_SINGLE,
    };
    const states = [...new Set(here.flatMap(({ state }) => state ?? []))].map((state) => kept(state, standingOf(state, found)));
    return {
      site,
      came: sumOf(came),
      watching: sumOf(here),
      stuck: sumOf(here.filter(({ stuck }) => stuck)),
      states: JSON.stringify(states),
    };
  };
  await writeSnapshots(sql, at, [null, ...sites].map(row));
}

const siteOf = ({ site }: { readonly site: string }): string => site;

function kept(number: number, { limits, ...standing }: Standing): readonly [number, Standing] {
  const different = limits.filter(
    ({ limit }, place) => limits.findIndex((each) => each.limit.limitMs === limit.limitMs) === place,
  );
  return [number, { ...standing, limits: different.slice(0, MOST_LIMITS) }];
}

/** The states of a snapshot, by their numbers. */
export const keptStates = ({ states }: SnapshotRow): ReadonlyMap<number, Standing> =>
  new Map(JSON.parse(states) as [number, Standing][]);
