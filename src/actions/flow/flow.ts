/** The flow of purchases as it is now: the last hour's transitions beside the usual ones, and what waits in each state. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { stuckClock } from '../../domain/explain/poll.ts';
import {
  agesOf,
  edgesOf,
  type FlowHour,
  hourUntil,
  type SiteEdge,
  type SiteUsual,
  showsAges,
  type WaitingPurchase,
} from '../../domain/flow/flow.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { policyOf } from '../../domain/polling/poll-plan.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { dwellBody, shownLimit } from '../../domain/stays/dwell.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type IncidentRow, listIncidents } from '../../postgres/incidents/list.ts';
import { purchaseTotals, type Total } from '../../postgres/reports/counts.ts';
import { countedEdges, longestWaiting, usualEdges, type WaitingRow } from '../../postgres/reports/flow.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { StayLimits } from '../../postgres/stays/limits.ts';

/** Purchases of which the ages are read in one state over all sites; and of each site, however many there are, at least this number. */
const MOST_READ = 500;
const LEAST_READ = 10;
/** There is one open incident at most for each state of a site. */
const MOST_INCIDENTS = 500;

export interface FlowWanted {
  /** Null: all sites. */
  readonly site: string | null;
  /** Read lately; see `learnedLimits`. */
  readonly limits: StayLimits;
}

export type Flow = Awaited<ReturnType<typeof readFlow>>;

/** Reads the flow of all sites or of one, as programs and people are shown it. */
export async function readFlow(sql: Sql, { site, limits }: FlowWanted) {
  const now = await databaseNow(sql);
  const hour = hourUntil(now);
  const open = { status: 'open', kind: 'stuck', ...(site === null ? {} : { site }) } as const;
  const [counted, usual, totals, incidents] = await Promise.all([
    countedEdges(sql, hour, site),
    usualEdges(sql, hour, site),
    purchaseTotals(sql),
    listIncidents(sql, { filter: open, before: null, limit: MOST_INCIDENTS }),
  ]);
  const watched = totals.filter((each) => each.status === 'watching' && (site === null || each.site === site));
  const sites = site === null ? [...new Set(totals.map((each) => each.site))].sort() : [site];
  const waiting = await readWaiting(sql, { watched, limits, now });
  return flowBody({
    at: now,
    site,
    hour,
    counted,
    usual,
    incidents,
    notSeenYet: sumOf(watched.filter(({ state }) => state === null)),
    there: watched.flatMap(({ state }) => state ?? []),
    standing: (state) => standingOf(state, { site, sites, limits, watched, waiting }),
  });
}

/** An open incident as far as the map shows it. */
type MapIncident = Pick<IncidentRow, 'id' | 'kind' | 'site' | 'state' | 'severity' | 'since' | 'endsAt' | 'parent'>;

/** The transitions of an hour beside the usual ones, and how each state stands: those `there`, those of transitions and of incidents. */
export function flowBody({
  at,
  site,
  hour,
  counted,
  usual,
  incidents,
  notSeenYet,
  there,
  standing,
}: {
  readonly at: Instant;
  readonly site: string | null;
  readonly hour: FlowHour;
  readonly counted: readonly SiteEdge[];
  readonly usual: readonly SiteUsual[];
  readonly incidents: readonly MapIncident[];
  readonly notSeenYet: number;
  readonly there: readonly number[];
  standing(state: number): Standing;
}) {
  const edges = edgesOf(counted, usual);
  const states = new Set([
    ...edges.flatMap(({ from, to }) => (from === null ? [to] : [from, to])),
    ...there,
    ...incidents.flatMap(({ state }) => state ?? []),
  ]);
  return {
    at: isoTime(at),
    site,
    from: isoTime(hour.from),
    to: isoTime(hour.to),
    usualDays: usual.length === 0 ? null : Math.min(...usual.map(({ days }) => days)),
    notSeenYet,
    edges: edges.map(({ from, to, ...edge }) => ({ from: stateOrNull(from), to: namedState(to), ...edge })),
    states: [...states]
      .sort((a, b) => a - b)
      .map((state) => ({
        state: namedState(state),
        ...standing(state),
        came: edges.reduce((sum, edge) => sum + (edge.to === state ? edge.count : 0), 0),
        incidents: incidents.filter((each) => each.state === state).flatMap(incidentHere),
      })),
  };
}

export const sumOf = (totals: readonly { readonly count: number }[]): number => totals.reduce((sum, { count }) => sum + count, 0);

interface Found {
  readonly site: string | null;
  /** The site asked for, or all that have purchases. */
  readonly sites: readonly string[];
  readonly limits: StayLimits;
  readonly watched: readonly Total[];
  readonly waiting: readonly WaitingHere[];
  /** How many ages are given one by one at most; see `agesOf`. */
  readonly most?: number;
}

export type Standing = ReturnType<typeof standingOf>;

/** How the watched purchases of a state stand. */
export function standingOf(state: number, { site, sites, limits, watched, waiting, most }: Found) {
  const here = watched.filter((each) => each.state === state);
  const count = sumOf(here);
  const ages = waiting.filter((each) => each.state === state);
  const dwell = limits.dwellIn(site, state);
  return {
    final: policyOf(limits.policyFor(here[0]?.site ?? sites[0] ?? ''), state).final,
    watching: count,
    stuck: sumOf(here.filter(({ stuck }) => stuck)),
    usual: dwellBody(dwell),
    limits: (here.length === 0 ? sites : [...new Set(here.map((each) => each.site))]).flatMap((name) => {
      const limit = shownLimit(limits.limitOf(name, state), null);
      return limit === null ? [] : [{ site: name, limit }];
    }),
    ages: ages.length === 0 ? null : shownAges(agesOf(ages, count, most)),
  };
}

function shownAges({ oldest, buckets, unread }: ReturnType<typeof agesOf>) {
  return {
    oldest: oldest.map(({ age, share, stuck }) => ({
      ageMs: Math.round(age),
      share: share === null ? null : Math.round(share * 1_000) / 1_000,
      stuck,
    })),
    buckets: buckets === null ? null : [...buckets],
    unread,
  };
}

interface WaitingHere extends WaitingPurchase {
  readonly site: string;
  readonly state: number;
}

/** The purchases that wait in states whose ages are shown, as far as they are read. */
export async function readWaiting(
  sql: Sql,
  { watched, limits, now }: { watched: readonly Total[]; limits: StayLimits; now: Instant },
): Promise<WaitingHere[]> {
  const places = new Map(
    watched.flatMap(({ site, state }) => {
      if (state === null) return [];
      const { stuckAfter, final } = policyOf(limits.policyFor(site), state);
      const isShown = showsAges({ state, final, hasLimit: stuckAfter !== null });
      return isShown ? [[`${site}/${state}`, { site, state }] as const] : [];
    }),
  );
  const sites = new Set([...places.values()].map(({ site }) => site)).size;
  const most = Math.max(Math.floor(MOST_READ / Math.max(sites, 1)), LEAST_READ);
  const rows = await longestWaiting(sql, [...places.values()], most);
  return rows.map((row) => ({ site: row.site, state: row.state, ...waitingOf(row, { limits, now }) }));
}

function waitingOf(row: WaitingRow, { limits, now }: { limits: StayLimits; now: Instant }): WaitingPurchase {
  const clock = stuckClock({ purchase: row, now }, limits.policyFor(row.site));
  const stuck = row.stuckSince !== null;
  if (clock === null) return { age: Math.max(now - row.stateSince - row.excused, 0), share: null, stuck };
  return { age: clock.counted, share: clock.counted / clock.limit, stuck };
}

/** An open incident in the state that it is about; an incident of several sites appears by its parts. */
function incidentHere(incident: MapIncident) {
  const { id, site, since, endsAt, parent } = incident;
  if (site === null) return [];
  return [{ id, site, severity: levelOf(incident), since: isoTime(since), endsAt: isoTimeOrNull(endsAt), parent }];
}
