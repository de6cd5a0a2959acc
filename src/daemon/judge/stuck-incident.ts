/** The data of an event about stuck purchases: where, how many, since when, how it was noticed, why it may be. */

import { readPeopleEvent } from '../../domain/events/people-event-types.ts';
import { exitsTogether, rankCauses } from '../../domain/incidents/causes.ts';
import type { Alarm, Detection } from '../../domain/incidents/detection.ts';
import type { Incident } from '../../domain/incidents/incident.ts';
import type { IncidentVerdict, StuckCount } from '../../domain/incidents/judgement.ts';
import { greatest, whereOf } from '../../domain/incidents/slice.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { readStory, StoryPlace } from '../../postgres/incidents/story.ts';
import type { Deps } from '../deps.ts';

interface StuckContext extends Pick<Deps, 'sessionLength'> {
  readonly overdue: readonly StuckCount[];
  readonly detections: readonly Detection[];
}

/** Parts of a parent that an event holds at most, the largest first. */
const MOST_PARTS = 50;

const leavesOf = ({ incident, parts }: IncidentVerdict): readonly Incident[] => (parts.length > 0 ? parts : [incident]);

/** The states of sites that an incident is made of. */
export const placesOf = (verdict: IncidentVerdict): StoryPlace[] =>
  leavesOf(verdict).map(({ site, state, alarm, since, count }) => ({
    site: site ?? '',
    state: state ?? 0,
    since: alarm?.since ?? since,
    count,
  }));

/** The data of the event, but for what every incident's has. */
export function stuckData(
  verdict: IncidentVerdict,
  { limit, oldest, money, evidence, around, left, last, earlier, became }: Awaited<ReturnType<typeof readStory>>,
  { overdue, detections, sessionLength }: StuckContext,
) {
  const { incident, parts } = verdict;
  const leaves = leavesOf(verdict);
  const places = placesOf(verdict);
  const isOurs = (one: Pick<StuckCount, 'site' | 'state'>): boolean =>
    places.some(({ site, state }) => one.site === site && one.state === state);
  const ofIncident = detections.filter(isOurs);
  const alerted = alertedData(last);
  const toldCauses = alerted?.kind === 'stuck' ? alerted.causes : [];
  const causes =
    evidence === null
      ? toldCauses
      : rankCauses({ ...evidence, ...exitsTogether(ofIncident.map(({ exits }) => exits)), sessionLength });
  const alarm = incident.alarm ?? earliest(leaves);
  const waitingSince = overdue.filter(isOurs).flatMap(({ since }) => since ?? []);
  return {
    // The customer who waits longest now: the first one may have left.
    ...(waitingSince.length === 0 ? {} : { since: isoTime(Math.min(...waitingSince)) }),
    state: incident.state === null ? null : namedState(incident.state),
    count: left?.reduce((sum, { count }) => sum + count, 0) ?? incident.count,
    peak: incident.peak,
    parts: leaves
      .toSorted((a, b) => b.count - a.count)
      .slice(0, MOST_PARTS)
      .map(({ site, state, count, peak, quietSince, endedAt }) => ({
        site: site ?? '',
        state: namedState(state ?? 0),
        count,
        peak,
        ended: quietSince !== null || endedAt !== null,
      })),
    limitMs: limit?.ms ?? null,
    dwell:
      limit?.dwell == null
        ? null
        : { usualMs: limit.dwell.usual, p95Ms: limit.dwell.p95, purchases: limit.dwell.purchases, source: limit.source },
    alarm: alarm === null ? null : shown(alarm),
    lately: latelyAt(ofIncident),
    noticedAfterMs: alarm === null ? null : Math.max(alarm.at - alarm.since, 0),
    purchases: oldest.map(({ purchaseId }) => purchaseId),
    waiting: [...money.waiting],
    unpriced: money.unpriced,
    atLeast: money.atLeast,
    ...whereOf(around, {
      usualShare: greatest(leaves.map((leaf) => leaf.alarm?.usualShare ?? null)),
      since: alarm?.since ?? incident.since,
    }),
    causes: causes.map((each) => ({ ...each })),
    earlier:
      earlier === null
        ? null
        : {
            cause: earlier.cause,
            note: earlier.note,
            by: earlier.by,
            at: isoTime(earlier.at),
            site: earlier.site,
            state: earlier.state === null ? null : namedState(earlier.state),
          },
    became,
    movedOn: incident.endedAt !== null ? leaves.reduce((sum, leaf) => sum + leaf.movedOn, 0) : null,
    includes: parts.map(({ id }) => id),
  };
}

/** The data of a message to people; null when there is no message, or none that can be read. */
export const alertedData = (last: { readonly body: string } | null) =>
  last === null ? null : (readPeopleEvent(last.body)?.data ?? null);

/** How many came since it began, and how many of them did not get on, all places together; null where no alarm is on. */
function latelyAt(detections: readonly Detection[]): { readonly entrants: number; readonly overdue: number } | null {
  const runs = detections.flatMap(({ alarm, run }) => (alarm !== null && run !== null ? [run] : []));
  if (runs.length === 0) return null;
  const sum = (value: (run: (typeof runs)[number]) => number): number => runs.reduce((all, run) => all + value(run), 0);
  return { entrants: sum(({ entrants }) => entrants), overdue: sum(({ overdue }) => overdue) };
}

/** The alarm that came first. */
function earliest(leaves: readonly Incident[]): Alarm | null {
  const alarms = leaves.flatMap(({ alarm }) => (alarm === null ? [] : [alarm]));
  return alarms.toSorted((a, b) => a.at - b.at)[0] ?? null;
}

function shown({ at, since, ...rest }: Alarm) {
  return { ...rest, at: isoTime(at), since: isoTimeOrNull(since) };
}
