/** How everything was at a moment of the last 14 days: what `GET /v1/then` answers, and `status --at` shows. */

import { hourBefore, tenMinutesAt } from '../../domain/flow/flow.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { policyOf } from '../../domain/polling/poll-plan.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { HOUR, type Instant, isoTime, isoTimeOrNull, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { silencesAt } from '../../postgres/incidents/silences.ts';
import { countedEdges, usualEdges } from '../../postgres/reports/flow.ts';
import { type IncidentSpan, incidentSpans, incidentsAt, type PastIncident } from '../../postgres/reports/past-incidents.ts';
import { readSnapshots, type SnapshotHour, type SnapshotRow, snapshotHours } from '../../postgres/reports/snapshots.ts';
import { readActivity } from '../flow/activity.ts';
import { flowBody, type Standing } from '../flow/flow.ts';
import type { StayLimits } from '../flow/stay-limits.ts';
import { silenceBody } from '../incidents/body.ts';
import { placeOf } from '../incidents/words.ts';
import { firstPastMoment } from '../subscribers/moment.ts';
import { type IncidentThen, incidentsThen } from './incidents.ts';
import { keptStates } from './snapshots.ts';

const MINUTES = 60;
const MOST_INCIDENTS = 500;
/** Incidents of the 14 days, the latest ones. */
const MOST_OPENED = 100;

/** Facts of a past moment that are not kept; a page about it says so. */
const NOT_KEPT =
  'Not kept of the past: which replicas ran, how many deliveries waited, how each channel and site was besides its incidents, and what doctor found.';

interface ThenWanted {
  /** As `pastMoment` answered it. */
  readonly at: Instant;
  readonly now: Instant;
  /** Null: all sites. The incidents are those of all sites all the same. */
  readonly site: string | null;
  readonly limits: StayLimits;
  /** For how long ended incidents are kept (`store.retention.events`). */
  readonly incidentsKept: Milliseconds;
}

export type Then = Awaited<ReturnType<typeof readThen>>;

/** Reads how it was at the last whole ten minutes before a moment. Reads what was kept by time, so it costs the same at any size. */
export async function readThen(sql: Sql, { at: given, now, site, limits, incidentsKept }: ThenWanted) {
  const at = tenMinutesAt(given);
  const hour = hourBefore(at);
  const strip = { from: firstPastMoment(now), to: Math.floor(now / HOUR) * HOUR };
  const [counted, usual, rows, silences, activity, hours, spans] = await Promise.all([
    countedEdges(sql, hour, site),
    usualEdges(sql, hour, site),
    incidentsAt(sql, at, MOST_INCIDENTS),
    silencesAt(sql, at),
    readActivity(sql, { site, subscriber: null, minutes: MINUTES, before: at }),
    snapshotHours(sql, strip, site),
    incidentSpans(sql, { since: strip.from, site, limit: MOST_OPENED }),
  ]);
  const places = [...rows.flatMap((row) => row.site ?? []), ...(site === null ? [] : [site])];
  const snapshots = await readSnapshots(sql, at, [...new Set(places)]);
  const noted = notedIn(snapshots);
  const here = noted?.(site) ?? null;
  const stuckIn = (where: string, state: number) => (noted === null ? null : (noted(where).states.get(state)?.stuck ?? 0));
  const all = incidentsThen(rows, { at, stuckIn });
  const incidents =
    now - at > incidentsKept ? null : all.filter(({ parent }) => parent === null || !all.some(({ id }) => id === parent));
  return {
    at: isoTime(at),
    site,
    ...sentenceOf(incidents, here),
    notKept: NOT_KEPT,
    purchases: here === null ? null : { watching: here.watching, stuck: here.stuck },
    incidents,
    silences: silences.map((row) => silenceBody(row, at)),
    flow:
      here === null
        ? null
        : flowBody({
            at,
            site,
            hour,
            counted,
            usual,
            incidents: mapIncidents(rows, all, site),
            notSeenYet: [...here.states.values()].reduce((left, { watching }) => left - watching, here.watching),
            there: [...here.states.keys()],
            standing: (state) =>
              here.states.get(state) ?? { ...NOBODY, final: policyOf(limits.policyFor(site ?? ''), state).final },
          }),
    activity,
    hours: stripHours(hours, strip),
    opened: spans.map(spanBody),
  };
}

/** The incidents that the map of a site marks; one in which nothing was wrong any more has an end to come. */
function mapIncidents(rows: readonly PastIncident[], all: readonly IncidentThen[], site: string | null) {
  return rows.flatMap((row) => {
    const then = all.find(({ id }) => id === row.id);
    if (then === undefined || row.kind !== 'stuck' || (site !== null && row.site !== site)) return [];
    return [{ ...row, endsAt: then.quiet ? row.quietSince : null }];
  });
}

const NOBODY: Omit<Standing, 'final'> = { watching: 0, stuck: 0, usual: null, limits: [], ages: null };

/** How the purchases of a site, or of all sites (null), stood; null where nothing was noted. A site without a row of its own had no purchases. */
function notedIn(rows: readonly SnapshotRow[]) {
  if (rows.length === 0) return null;
  const bySite = new Map(rows.map((row) => [row.site, { ...row, states: keptStates(row) }]));
  return (site: string | null) => bySite.get(site) ?? { watching: 0, stuck: 0, states: new Map<number, Standing>() };
}

/** Each hour by its end; null: nothing was noted in it. */
function stripHours(found: readonly SnapshotHour[], { from, to }: { from: Instant; to: Instant }) {
  const known = new Map(found.map((hour) => [hour.to, hour]));
  return Array.from({ length: (to - from) / HOUR }, (_, place) => {
    const end = from + (place + 1) * HOUR;
    const { came = null, stuck = null } = known.get(end) ?? {};
    return { to: isoTime(end), came, stuck };
  });
}

function spanBody(span: IncidentSpan) {
  const { id, openedAt, endedAt } = span;
  return {
    id,
    where: placeOf({ ...span, parts: [] }),
    severity: levelOf(span),
    openedAt: isoTime(openedAt),
    endedAt: isoTimeOrNull(endedAt),
  };
}

/** One sentence about the worst, and a second one about the rest; nothing in them says how it is now. */
function sentenceOf(
  incidents: readonly IncidentThen[] | null,
  purchases: { readonly watching: number; readonly stuck: number } | null,
) {
  const stuck =
    purchases === null
      ? 'How many purchases were watched and stuck is not kept.'
      : purchases.watching === 0
        ? 'No purchase was watched.'
        : `${grouped(purchases.stuck)} of ${counted(purchases.watching, 'watched purchase')} ${purchases.stuck === 1 ? 'was' : 'were'} stuck.`;
  const open = (incidents ?? []).filter(({ quiet }) => !quiet);
  const worst = open.find(({ severity }) => severity === 'critical') ?? open[0];
  if (worst !== undefined) {
    const more = open.length > 1 ? ` ${counted(open.length - 1, 'more incident was', 'more incidents were')} open.` : '';
    return { severity: worst.severity, sentence: `${worst.where}: ${worst.what}.`, rest: `${stuck}${more}` };
  }
  const none = nothingOpen(incidents, purchases !== null);
  const [sentence, rest] = purchases !== null && purchases.stuck > 0 ? [stuck, none] : [none, stuck];
  return { severity: null, sentence, rest };
}

/** The sentence for a moment at which no incident was wrong. */
function nothingOpen(incidents: readonly IncidentThen[] | null, isNoted: boolean): string {
  if (incidents === null) return 'Incidents of that time are not kept.';
  const quiet = incidents.length;
  // Where no daemon noted the moment, none may have run, so that no incident is no good sign.
  if (quiet === 0) return isNoted ? 'No incident was open.' : 'Whether anything was wrong is not known.';
  return `Nothing was wrong any more in the ${quiet === 1 ? 'incident' : `${quiet} incidents`} that ${quiet === 1 ? 'was' : 'were'} open.`;
}
