/**
 * Everything that is judged at one moment: what became of stays, which alarms are on, which incidents open, go on and end,
 * and which alerts are sent to whom. Pure: the daemon's judge and a rehearsal of settings ask the same questions here.
 */

import { placeKey, type SiteStay } from '../stays/stay.ts';
import { createStayCounts } from '../stays/stay-counts.ts';
import type { Usual } from '../stays/usual.ts';
import { isSame } from '../values/exact-json.ts';
import { earliest, type Instant } from '../values/time.ts';
import { audienceOf, type ChannelRule } from './audience.ts';
import { alarmSeverity, clearsAt, type Detection, feed, look, newDetection } from './detection.ts';
import {
  type AlertPolicy,
  type Incident,
  type IncidentChange,
  judgeIncident,
  openIncident,
  REOPENS_WITHIN,
  reopened,
  type Silence,
  silencedUntil,
  wasAlerted,
} from './incident.ts';
import { combined, fold, isLeaf, isParent, leavesOf } from './incident-tree.ts';
import type { Symptom } from './symptom.ts';

/** How many are stuck now in a state of a site, without those whose order was paid by another purchase. */
export interface StuckCount {
  readonly site: string;
  readonly state: number;
  readonly count: number;
  /** When the one waiting longest came; null when none is. */
  readonly since: Instant | null;
}

/** Adds up what became of stays, in the order given, before it is known who is stuck now. `open`: incidents that have not ended. */
export function weigh(
  before: readonly Detection[],
  stays: readonly SiteStay[],
  { open, usual }: { open: readonly Incident[]; usual: (site: string, state: number) => Usual },
) {
  const detections = new Map(before.map((each) => [placeKey(each), each]));
  const touched = new Set<string>();
  const stayCounts = createStayCounts();
  const firstLooks = new Map<string, Instant>();
  for (const stay of stays) {
    const { site, state } = stay;
    const was = detections.get(placeKey(stay)) ?? newDetection(site, state);
    const isOpen = open.some((incident) => isLeaf(incident) && incident.site === site && incident.state === state);
    stayCounts.add(stay, was.alarm === null && !isOpen);
    if (stay.firstSight && stay.outcome === 'overdue' && !firstLooks.has(site)) firstLooks.set(site, stay.at);
    // Stays that raise an alarm stay counted as usual: without them, the share learned of a site with many abandoners is too low.
    detections.set(placeKey(stay), feed(was, stay, usual(site, state)));
    touched.add(placeKey(stay));
  }
  const all = [...detections.values()];
  return {
    detections: all,
    /** Of these, those that changed. */
    changed: all.filter((each) => touched.has(placeKey(each))),
    dwell: stayCounts.dwell(),
    stays: stayCounts.stays(),
    /** Where a customer of the site's first load became stuck, and when first. */
    firstLooks: [...firstLooks].map(([site, at]) => ({ site, at })),
  };
}

export interface Situation {
  readonly now: Instant;
  readonly detections: readonly Detection[];
  /** Of every state of a site whose alarm is on. */
  readonly overdue: readonly StuckCount[];
  /** The symptoms beside stuck purchases: sites that do not answer, subscribers in trouble. */
  readonly symptoms: readonly Symptom[];
  /** Incidents that are open, those of stuck purchases that ended within `REOPENS_WITHIN`, and the parts of open ones. */
  readonly incidents: readonly Incident[];
  readonly silences: readonly Silence[];
  readonly channels: readonly ChannelRule[];
  /** Names of the channels that were alerted of an incident. */
  alertedChannels(incident: string): readonly string[];
  readonly policy: AlertPolicy;
  newId(): string;
}

/** An alert about an incident, and the channels that get it. */
export interface Message {
  readonly stage: NonNullable<IncidentChange['alert']>;
  readonly channels: readonly string[];
}

export interface IncidentVerdict extends IncidentChange {
  /** Of a parent: its parts, as they are now. */
  readonly parts: readonly Incident[];
  readonly messages: readonly Message[];
}

export type Judgement = ReturnType<typeof judge>;

/** Judges a moment. Each incident sends at most one alert, and only if it has no parent. */
export function judge(situation: Situation) {
  const { now, policy, newId, incidents: known } = situation;
  const seen = situation.detections.map((each) => {
    const overdue = situation.overdue.find((some) => placeKey(some) === placeKey(each))?.count ?? 0;
    return { before: each, after: each.alarm === null ? each : look(each, { overdue, now }) };
  });
  const detections = seen.map(({ after }) => after);
  const symptoms = [...situation.symptoms, ...detections.flatMap((each) => stuckSymptom(each, situation.overdue))];

  const open = known.filter(({ endedAt }) => endedAt === null);
  const begun = symptoms
    .filter((symptom) => !open.some((incident) => isAbout(incident, symptom)))
    .map((symptom) => returned(symptom, known, now) ?? openIncident(newId(), symptom, now));
  const parentsBack = parentsOf(begun, known, open, now);
  const living = [...open, ...parentsBack];
  const all = fold([...open, ...begun.map((each) => withLivingParent(each, living)), ...parentsBack], { now, newId });

  const partsOf = (incident: Incident): Incident[] => (isParent(incident) ? leavesOf(incident, withEnded(all, known)) : []);
  const symptomOf = (incident: Incident): Symptom | null => {
    if (!isParent(incident)) return symptoms.find((symptom) => isAbout(incident, symptom)) ?? null;
    const leaves = partsOf(incident);
    const ofLeaves = symptoms.filter((symptom) => leaves.some((leaf) => isAbout(leaf, symptom)));
    return combined(incident, ofLeaves);
  };
  const verdicts = all.map((incident): IncidentVerdict => {
    const parts = partsOf(incident);
    const symptom = symptomOf(incident);
    const verdict = judgeIncident(incident, symptom, now, policy, {
      silent: silentFor(incident, parts, situation),
      arePartsAlerted: parts.some(wasAlerted),
    });
    return { ...verdict, parts, messages: messagesOf(verdict, parts, all, situation) };
  });
  // The parts of a parent are shown as they are after the judgement.
  const after = new Map(verdicts.map(({ incident }) => [incident.id, incident]));
  const whole = verdicts.map(
    (verdict): IncidentVerdict => ({ ...verdict, parts: verdict.parts.map((part) => after.get(part.id) ?? part) }),
  );
  const before = new Map(known.map((incident) => [incident.id, incident]));
  const next = [
    ...verdicts.flatMap(({ lookAgainAt }) => (lookAgainAt === null ? [] : [lookAgainAt])),
    ...detections.flatMap((each) => clearsAt(each) ?? []),
  ];
  return {
    /** Detections that changed. */
    detections: seen.filter(({ before: was, after: is }) => was !== is).map(({ after: is }) => is),
    /** Incidents that changed, children before the parents that are new. */
    verdicts: whole.filter(({ incident }) => !isSame(before.get(incident.id), incident)),
    /** When to look again even if nothing happens; null: not before something does. */
    lookAgainAt: earliest(next),
  };
}

function stuckSymptom(detection: Detection, overdue: readonly StuckCount[]): Symptom[] {
  const { site, state, alarm, exits } = detection;
  if (alarm === null) return [];
  const { count = 0, since = null } = overdue.find((some) => placeKey(some) === placeKey(detection)) ?? {};
  const is = { kind: 'stuck', site, state, subscriber: null, severity: alarmSeverity(detection), count } as const;
  return [{ ...is, since: since ?? alarm.since, alarm, movedOn: exits.well, clearsAt: clearsAt(detection) }];
}

function isAbout(incident: Incident, symptom: Symptom): boolean {
  return (['kind', 'site', 'state', 'subscriber'] as const).every((field) => incident[field] === symptom[field]);
}

/** The incident of stuck purchases that ended a moment ago and is back, or null. */
function returned(symptom: Symptom, known: readonly Incident[], now: Instant): Incident | null {
  if (symptom.kind !== 'stuck') return null;
  const ended = known
    .filter((incident) => incident.endedAt !== null && isAbout(incident, symptom) && now - incident.endedAt <= REOPENS_WITHIN)
    .sort((a, b) => b.endedAt! - a.endedAt!)[0];
  return ended === undefined
    ? null
    : { ...reopened(ended, now), since: symptom.since, count: symptom.count, alarm: symptom.alarm ?? ended.alarm };
}

/** Parents that ended a moment ago, of which several states of the site, or several sites, are back: one alone is alerted by itself. */
function parentsOf(begun: readonly Incident[], known: readonly Incident[], open: readonly Incident[], now: Instant): Incident[] {
  const ended = known.filter(({ endedAt }) => endedAt !== null && now - endedAt <= REOPENS_WITHIN);
  const parts = new Map<string, Set<string>>();
  const count = (leaf: Incident, { parent }: Incident): void => {
    const above = ended.find(({ id }) => id === parent);
    if (above === undefined) return;
    parts.set(above.id, (parts.get(above.id) ?? new Set()).add(above.site === null ? leaf.site! : leaf.id));
    count(leaf, above);
  };
  for (const each of begun) count(each, each);
  const back: Incident[] = [];
  for (const parent of ended.filter(({ id }) => (parts.get(id)?.size ?? 0) >= 2)) {
    // Another of its kind may speak by now.
    const isTaken = [...open, ...back].some((other) => isParent(other) && other.site === parent.site);
    if (!isTaken) back.push(reopened(parent, now));
  }
  const living = [...open, ...back];
  return back.map((parent) => withLivingParent(parent, living));
}

/** With those that are over, which a parent's alerts cover to its own end; unless they are there again. */
function withEnded(all: readonly Incident[], known: readonly Incident[]): Incident[] {
  const isThere = (ended: Incident): boolean =>
    all.some((each) => each.id === ended.id || (isLeaf(each) && each.site === ended.site && each.state === ended.state));
  return [...all, ...known.filter((each) => !isThere(each))];
}

/** A parent that is over covers no part any more. */
function withLivingParent(incident: Incident, living: readonly Incident[]): Incident {
  return incident.parent === null || living.some(({ id }) => id === incident.parent) ? incident : { ...incident, parent: null };
}

/** Until when no channel is alerted of it; a parent is silent while all its parts are. */
function silentFor(incident: Incident, parts: readonly Incident[], { silences, now }: Situation): Instant | null {
  const waiting = parts.filter(({ quietSince }) => quietSince === null);
  // A silence about the parent is about each of its parts, too.
  const ends = (waiting.length === 0 ? [incident] : waiting).map((each) => silencedUntil(each, silences, now));
  return ends.every((end) => end !== null) ? Math.min(...ends) : null;
}

/** A channel that was alerted of it gets its next alerts; a channel that it concerns from now on is alerted that it is open. */
function messagesOf(
  { incident, alert }: IncidentChange,
  parts: readonly Incident[],
  all: readonly Incident[],
  { alertedChannels, channels }: Situation,
): Message[] {
  if (alert === null) return [];
  const names = new Set(channels.map(({ name }) => name));
  const below = parts.flatMap((part) => [part.id, ...chain(part, all)]);
  const before = new Set([incident.id, ...below].flatMap(alertedChannels).filter((name) => names.has(name)));
  const sites = parts.length > 0 ? parts.map(({ site }) => site!) : incident.site === null ? [] : [incident.site];
  const concerned = audienceOf(incident, sites, channels);
  const fresh = concerned.filter((name) => !before.has(name));
  if (alert === 'opened') return [{ stage: 'opened', channels: [...new Set([...concerned, ...before])] }];
  // The channels that were alerted of it are gone, as when one was given another name: the channels that it concerns take their place.
  if (before.size === 0) return [{ stage: alert === 'reminder' || alert === 'grew' ? 'opened' : alert, channels: concerned }];
  const isNews = alert === 'grew' || alert === 'reopened';
  return [
    { stage: alert, channels: [...before] },
    ...(isNews && fresh.length > 0 ? [{ stage: 'opened' as const, channels: fresh }] : []),
  ];
}

/** The ids of the incidents between one and the one that speaks for it. */
function chain({ parent }: Incident, all: readonly Incident[]): string[] {
  const found = all.find(({ id }) => id === parent);
  return found === undefined ? [] : [found.id, ...chain(found, all)];
}
