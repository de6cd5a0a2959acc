/** The data of an event about stuck purchases: where, how many, since when, how it was noticed, why it may be. */

import { readPeopleEvent } from '../../domain/events/people-event-types.ts';
import { type CauseEvidence, exitsTogether, rankCauses } from '../../domain/incidents/causes.ts';
import type { Alarm, Detection } from '../../domain/incidents/detection.ts';
import type { Incident } from '../../domain/incidents/incident.ts';
import type { IncidentVerdict, StuckCount } from '../../domain/incidents/judgement.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { stuckPurchases } from '../../postgres/incidents/customers.ts';
import { countStuck } from '../../postgres/incidents/incidents.ts';
import { lastMessage } from '../../postgres/incidents/messages.ts';
import { causeEvidence, earlierAnswer } from '../../postgres/stays/evidence.ts';
import { moneyWaiting } from '../../postgres/stays/money.ts';
import type { Deps } from '../deps.ts';

interface StuckContext extends Pick<Deps, 'sql' | 'limits' | 'sessionLength'> {
  readonly overdue: readonly StuckCount[];
  readonly detections: readonly Detection[];
}

/** Purchases named at most. */
const NAMED = 5;
/** Parts of a parent that an event holds at most, the largest first. */
const MOST_PARTS = 50;

/** The data of the event, but for what every incident's has. */
export async function stuckData(verdict: IncidentVerdict, context: StuckContext) {
  const { incident, parts } = verdict;
  const { sql, limits } = context;
  const leaves = parts.length > 0 ? parts : [incident];
  const places = leaves.map((leaf) => ({
    site: leaf.site ?? '',
    state: leaf.state ?? 0,
    since: leaf.alarm?.since ?? leaf.since,
  }));
  const single = places.length === 1 ? places[0]! : null;
  const oldest = await stuckPurchases(sql, { places, limit: NAMED });
  const [money] = await moneyWaiting(sql, [places]);
  const isOver = incident.endedAt !== null;
  const causes = isOver ? await causesAlerted(sql, incident.id) : rankCauses(await evidenceOf(leaves, context));
  // Who is stuck when it is over is counted once more: the alarm is off, and some may have left.
  const left = isOver ? (await countStuck(sql, places)).reduce((sum, { count }) => sum + count, 0) : null;
  const sites = places.map(({ site }) => site);
  const earlier = await earlierAnswer(sql, { site: incident.site, state: incident.state, except: incident.id, sites });
  const limit = single === null ? null : limits.limitOf(single.site, single.state);
  const alarm = incident.alarm ?? earliest(leaves);
  const waitingSince = context.overdue
    .filter(({ site, state }) => places.some((place) => place.site === site && place.state === state))
    .flatMap(({ since }) => since ?? []);
  return {
    // The customer who waits longest now: the first one may have left.
    ...(waitingSince.length === 0 ? {} : { since: isoTime(Math.min(...waitingSince)) }),
    state: incident.state === null ? null : namedState(incident.state),
    count: left ?? incident.count,
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
    lately: latelyAt(places, context.detections),
    noticedAfterMs: alarm === null ? null : Math.max(alarm.at - alarm.since, 0),
    purchases: oldest.map(({ purchaseId }) => purchaseId),
    waiting: [...money!.waiting],
    unpriced: money!.unpriced,
    atLeast: money!.atLeast,
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
    movedOn: isOver ? leaves.reduce((sum, leaf) => sum + leaf.movedOn, 0) : null,
    includes: parts.map(({ id }) => id),
  };
}

/** The data of the last alert about an incident; null without one that can be read. */
export async function lastAlert(sql: Sql, incident: string) {
  const last = await lastMessage(sql, incident);
  return last === null ? null : (readPeopleEvent(last.body)?.data ?? null);
}

async function causesAlerted(sql: Sql, incident: string) {
  const data = await lastAlert(sql, incident);
  return data?.kind === 'stuck' ? data.causes : [];
}

/** How many came since it began, and how many of them did not get on, all places together; null where no alarm is on. */
function latelyAt(
  places: readonly { readonly site: string; readonly state: number }[],
  detections: readonly Detection[],
): { readonly entrants: number; readonly overdue: number } | null {
  const runs = detections.flatMap(({ site, state, alarm, run }) =>
    alarm !== null && run !== null && places.some((place) => place.site === site && place.state === state) ? [run] : [],
  );
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

/** The evidence for one cause or another: facts in the database, and how customers left since the alarm. */
async function evidenceOf(leaves: readonly Incident[], context: StuckContext): Promise<CauseEvidence> {
  const { sql, detections, sessionLength } = context;
  const parts = leaves.map(({ site, state, count }) => ({ site: site ?? '', state: state ?? 0, count }));
  const since = Math.min(...leaves.map((leaf) => leaf.alarm?.since ?? leaf.since));
  const exits = detections
    .filter((each) => parts.some(({ site, state }) => each.site === site && each.state === state))
    .map((each) => each.exits);
  return { ...(await causeEvidence(sql, { parts, since })), ...exitsTogether(exits), sessionLength };
}
