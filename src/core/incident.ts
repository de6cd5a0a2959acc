/**
 * From many symptoms to one incident, and what to say of it and when. Pure: the judge brings what is wrong now and the
 * incident that is open, if any; this returns how the incident goes on and what, if anything, is said.
 */
import type { Instant, Milliseconds } from './purchase.ts';

export type IncidentKind = 'stuck' | 'unreachable';

export interface Incident {
  readonly id: string;
  readonly kind: IncidentKind;
  readonly site: string;
  /** Null when the incident is not about one state. */
  readonly state: number | null;
  readonly openedAt: Instant;
  /** The earliest symptom. */
  readonly since: Instant;
  /** Since when nothing is wrong any more; null while something is. */
  readonly quietSince: Instant | null;
  readonly endedAt: Instant | null;
  readonly count: number;
  readonly peak: number;
  /** When people were last told, and how many it were then; null while nobody was. */
  readonly saidAt: Instant | null;
  readonly saidCount: number | null;
}

/** What is wrong now with one (kind, site, state). */
export interface Symptom {
  readonly kind: IncidentKind;
  readonly site: string;
  readonly state: number | null;
  readonly count: number;
  readonly since: Instant;
}

export interface AlertPolicy {
  /** Collect this long before the first message, and be quiet this long before it counts as over. */
  readonly groupWait: Milliseconds;
  /** Say at most so often that it grew. */
  readonly groupInterval: Milliseconds;
  /** Remind after this long. */
  readonly repeatInterval: Milliseconds;
}

export interface Verdict {
  readonly incident: Incident;
  readonly say: 'opened' | 'grew' | 'reminder' | 'ended' | null;
  readonly reason: string;
  /** When to look again even if nothing happens; null: not before something does. */
  readonly lookAgainAt: Instant | null;
}

/** Symptoms that must have been told before a growth is: twice as many. */
const GROWTH = 2;

/** An incident made of a symptom that has none yet. */
export function openIncident(id: string, symptom: Symptom, now: Instant): Incident {
  const { kind, site, state, count, since } = symptom;
  return {
    id,
    kind,
    site,
    state,
    openedAt: now,
    since,
    quietSince: null,
    endedAt: null,
    count,
    peak: count,
    saidAt: null,
    saidCount: null,
  };
}

/** How an open incident goes on. `symptom` is null when nothing is wrong any more. */
export function judgeIncident(before: Incident, symptom: Symptom | null, now: Instant, policy: AlertPolicy): Verdict {
  return symptom === null ? judgeQuiet(before, now, policy) : judgeActive(before, symptom, now, policy);
}

function judgeQuiet(before: Incident, now: Instant, policy: AlertPolicy): Verdict {
  const quietSince = before.quietSince ?? now;
  const incident: Incident = { ...before, count: 0, quietSince };
  // Nobody heard of it: it ends as quietly as it came.
  if (before.saidAt === null)
    return { incident: { ...incident, endedAt: now }, say: null, reason: 'over-before-told', lookAgainAt: null };
  const endsAt = quietSince + policy.groupWait;
  if (now < endsAt) return { incident, say: null, reason: 'quiet', lookAgainAt: endsAt };
  return {
    incident: { ...incident, endedAt: now, saidAt: now, saidCount: 0 },
    say: 'ended',
    reason: 'quiet-long-enough',
    lookAgainAt: null,
  };
}

function judgeActive(before: Incident, symptom: Symptom, now: Instant, policy: AlertPolicy): Verdict {
  const incident: Incident = {
    ...before,
    quietSince: null,
    count: symptom.count,
    peak: Math.max(before.peak, symptom.count),
    since: Math.min(before.since, symptom.since),
  };
  const said: Incident = { ...incident, saidAt: now, saidCount: symptom.count };
  const reminderAfter = (at: Instant): Instant => at + policy.repeatInterval;

  if (before.saidAt === null || before.saidCount === null) {
    const tellAt = before.openedAt + policy.groupWait;
    if (now < tellAt) return { incident, say: null, reason: 'collecting', lookAgainAt: tellAt };
    return { incident: said, say: 'opened', reason: 'first', lookAgainAt: reminderAfter(now) };
  }
  const mayGrowAt = before.saidAt + policy.groupInterval;
  const grew = symptom.count >= before.saidCount * GROWTH && symptom.count > before.saidCount;
  if (grew && now >= mayGrowAt) return { incident: said, say: 'grew', reason: 'grew', lookAgainAt: reminderAfter(now) };
  if (now >= reminderAfter(before.saidAt))
    return { incident: said, say: 'reminder', reason: 'still', lookAgainAt: reminderAfter(now) };
  return { incident, say: null, reason: 'told', lookAgainAt: grew ? mayGrowAt : reminderAfter(before.saidAt) };
}
