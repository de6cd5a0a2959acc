/**
 * From many symptoms to one incident, and when to alert people of it. Pure: the judge brings what is wrong now and the
 * incident that is open, if any; this returns how the incident goes on and the alert that is due, if any.
 */

import { DAY, HOUR, type Instant, type Milliseconds } from '../values/time.ts';
import type { Alarm } from './detection.ts';
import { isWorse, REPLICA_TROUBLES, stillAlerted, togetherAlerted } from './replica-trouble.ts';
import type { IncidentKind, Symptom } from './symptom.ts';

/**
 * Troubles that a subscriber may have: it does not take everything, we do not get through to it, it takes nothing, that for
 * so long that events are given up, it is switched off. The worse the later: a trouble's place is its severity.
 */
export const SUBSCRIBER_TROUBLES = ['given_up', 'unreached', 'failing', 'losing', 'off'] as const;
export type SubscriberTrouble = (typeof SUBSCRIBER_TROUBLES)[number];

/** Taking nothing for less than this is not worth waking anybody: the schedule makes up for it. */
export const LONG_FAILURE: Milliseconds = 15 * 60_000;
/** A delivery that was given up is trouble for so long. */
export const GIVEN_UP_LATELY: Milliseconds = HOUR;

export interface Incident {
  readonly id: string;
  readonly kind: IncidentKind;
  /** Null when it is about a subscriber, about replicas, or about several sites. */
  readonly site: string | null;
  /** Null when the incident is not about one state. */
  readonly state: number | null;
  /** The subscriber it is about; null when it is about a site. */
  readonly subscriber: string | null;
  readonly openedAt: Instant;
  /** The earliest symptom. */
  readonly since: Instant;
  /** Since when nothing is wrong any more; null while something is. */
  readonly quietSince: Instant | null;
  /** When it ends if nothing goes wrong again; null while something is wrong (a customer is stuck), and once it has ended. */
  readonly endsAt: Instant | null;
  readonly endedAt: Instant | null;
  readonly count: number;
  readonly peak: number;
  /** When people were last alerted, and the count then; null while no alert was sent. */
  readonly alertedAt: Instant | null;
  readonly alertedCount: number | null;
  /** The greatest severity of which people were alerted. */
  readonly alertedSeverity: number | null;
  /** When the event for systems was written, which no silence holds back. */
  readonly announcedAt: Instant | null;
  /** Since when a person looks after it: then no reminder is sent. */
  readonly acknowledgedAt: Instant | null;
  /** The incident whose alerts cover this one, too. */
  readonly parent: string | null;
  /** How bad it is now; see `levelOf`. */
  readonly severity: number;
  /** The alarm that the incident rests on; null for parents and for kinds that rest on no count. */
  readonly alarm: Alarm | null;
  /** When it came back after it had ended. */
  readonly reopenedAt: Instant | null;
  /** Reminders since the last alert with news. */
  readonly reminders: number;
  /** Of those who were stuck, how many got on after all since it began, or began again. */
  readonly movedOn: number;
}

/** A time in which people want no alerts about some incidents. A field that is null matches all. */
export interface Silence extends Pick<Incident, 'site' | 'state' | 'subscriber'> {
  readonly kind: IncidentKind | null;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

export interface AlertPolicy {
  /** Collect this long before the first message. */
  readonly groupWait: Milliseconds;
  /** Stuck purchases: be quiet this long before it counts as over. What answers again is over after `groupWait`. */
  readonly quietFor: Milliseconds;
  /** Alert people of growth at most so often. */
  readonly groupInterval: Milliseconds;
  /** Remind after this long. */
  readonly repeatInterval: Milliseconds;
}

export interface IncidentChange {
  readonly incident: Incident;
  /** The event that systems get. */
  readonly announce: 'opened' | 'ended' | null;
  /** The alert that people get. */
  readonly alert: 'opened' | 'reopened' | 'grew' | 'reminder' | 'ended' | null;
  readonly reason: string;
  /** When to look again even if nothing happens; null: not before something does. */
  readonly lookAgainAt: Instant | null;
}

/** An incident has grown when it has so many times the count of the last alert. */
const GROWTH = 2;
/** After the first reminder, one a day. */
const LATER_REMINDERS: Milliseconds = DAY;
/** An incident whose symptom is back this soon after its end is the same one. */
export const REOPENS_WITHIN: Milliseconds = 30 * 60_000;

/** An incident of which no person knows yet. */
const UNTOLD = {
  quietSince: null,
  endsAt: null,
  endedAt: null,
  alertedAt: null,
  alertedCount: null,
  alertedSeverity: null,
  announcedAt: null,
  acknowledgedAt: null,
  parent: null,
  reopenedAt: null,
  reminders: 0,
};

/** An incident made of a symptom that has none yet. */
export function openIncident(id: string, symptom: Symptom, now: Instant): Incident {
  const { kind, site, state, subscriber, severity, count, since, alarm = null, movedOn = 0 } = symptom;
  const is = { id, kind, site, state, subscriber, severity, count, peak: count, since, alarm, movedOn };
  return { ...is, openedAt: now, ...UNTOLD };
}

/** Until when silences keep people from being alerted of an incident, as far as they are known now; null when none does. */
export function silencedUntil(
  incident: Pick<Incident, 'kind' | 'site' | 'state' | 'subscriber'>,
  silences: readonly Silence[],
  now: Instant,
): Instant | null {
  const fields = ['kind', 'site', 'state', 'subscriber'] as const;
  const ends = silences
    .filter((silence) => fields.every((field) => silence[field] === null || silence[field] === incident[field]))
    .filter(({ startsAt, endsAt }) => startsAt <= now && now < endsAt)
    .map(({ endsAt }) => endsAt);
  return ends.length === 0 ? null : Math.max(...ends);
}

/**
 * How an open incident goes on. `symptom` is null when nothing is wrong any more; `silent` is when the silence ends in
 * which it lies, if it lies in one; `arePartsAlerted` is whether people were alerted of one of its parts. One whose alerts
 * another incident sends sends none itself.
 */
export function judgeIncident(
  before: Incident,
  symptom: Symptom | null,
  now: Instant,
  policy: AlertPolicy,
  { silent = null, arePartsAlerted = false }: { silent?: Instant | null; arePartsAlerted?: boolean } = {},
): IncidentChange {
  return symptom === null ? judgeQuiet(before, now, policy, arePartsAlerted) : judgeActive(before, symptom, now, policy, silent);
}

/** Whether people were alerted of it since it began, or began again. */
export function wasAlerted({ alertedAt, reopenedAt }: Incident): boolean {
  return alertedAt !== null && (reopenedAt === null || alertedAt >= reopenedAt);
}

/** A channel that was alerted of the beginning is alerted of the end, in a silence too: the end is what a reader of an alarm waits for. */
function judgeQuiet(before: Incident, now: Instant, policy: AlertPolicy, arePartsAlerted: boolean): IncidentChange {
  const quietSince = before.quietSince ?? now;
  const endsAt = quietSince + (before.kind === 'stuck' ? policy.quietFor : policy.groupWait);
  const incident: Incident = { ...before, count: 0, quietSince, endsAt };
  const over: Incident = { ...incident, endsAt: null, endedAt: now };
  // No channel was alerted of it: it ends without a message.
  if (before.alertedAt === null && before.announcedAt === null && !arePartsAlerted) return noAlert(over, 'over-before-alert');
  if (now < endsAt) return noAlert(incident, 'quiet', { lookAgainAt: endsAt });
  const ended = { announce: 'ended' } as const;
  if (before.parent !== null) return noAlert(over, 'alerted-by-parent', ended);
  if (!wasAlerted(before) && !arePartsAlerted) return noAlert(over, 'over-while-silenced', ended);
  const alerted = { ...over, alertedAt: now, alertedCount: 0 };
  return { incident: alerted, announce: 'ended', alert: 'ended', reason: 'quiet-long-enough', lookAgainAt: null };
}

function noAlert(
  incident: Incident,
  reason: string,
  { announce = null, lookAgainAt = null }: Partial<Pick<IncidentChange, 'announce' | 'lookAgainAt'>> = {},
): IncidentChange {
  return { incident, announce, alert: null, reason, lookAgainAt };
}

function judgeActive(
  before: Incident,
  symptom: Symptom,
  now: Instant,
  policy: AlertPolicy,
  silent: Instant | null,
): IncidentChange {
  const going: Incident = {
    ...before,
    quietSince: null,
    endsAt: comingEnd(symptom, policy),
    count: symptom.count,
    peak: Math.max(before.peak, symptom.count),
    since: Math.min(before.since, symptom.since),
    severity: symptom.severity,
    alertedSeverity: stillAlerted(before.alertedSeverity, symptom.severity),
    alarm: symptom.alarm ?? before.alarm,
    movedOn: Math.max(before.movedOn, symptom.movedOn ?? 0),
  };
  const alertAt = before.openedAt + policy.groupWait;
  const isNew = before.announcedAt === null;
  if (isNew && now < alertAt) return noAlert(going, 'collecting', { lookAgainAt: alertAt });
  const announce = isNew ? 'opened' : null;
  const incident: Incident = isNew ? { ...going, announcedAt: now } : going;
  if (before.parent !== null) return noAlert(incident, 'alerted-by-parent', { announce });
  if (silent !== null) return noAlert(incident, 'silenced', { announce, lookAgainAt: silent });

  // The alarm is still on, and no customer is stuck at the moment: there is no news, and perhaps it is over.
  if (before.kind === 'stuck' && symptom.count === 0) return noAlert(incident, 'no-channel-now', { announce });

  const { reminders } = before;
  const alerted: Incident = {
    ...incident,
    alertedAt: now,
    alertedCount: symptom.count,
    alertedSeverity: togetherAlerted(before.alertedSeverity ?? 0, symptom.severity),
    reminders: 0,
  };
  const alerting = (alert: IncidentChange['alert'], reason: string): IncidentChange => {
    const reminded = alert === 'reminder' ? reminders + 1 : 0;
    const lookAgainAt = reminderAt(before, { alertedAt: now, reminded, policy });
    return { incident: { ...alerted, reminders: reminded }, announce, alert, reason, lookAgainAt };
  };
  if (before.alertedAt === null || before.alertedCount === null) return alerting('opened', 'first');
  if (!wasAlerted(before)) return alerting('reopened', 'again');
  const isNews = hasGrown(before, symptom);
  if (isNews && now >= before.alertedAt + policy.groupInterval) return alerting('grew', 'grew');
  const remindAt = reminderAt(before, { alertedAt: before.alertedAt, reminded: reminders, policy });
  if (remindAt !== null && now >= remindAt) return alerting('reminder', 'still');
  const lookAgainAt = isNews ? before.alertedAt + policy.groupInterval : remindAt;
  return noAlert(incident, 'alerted', { announce, lookAgainAt });
}

/** When an incident whose alarm is still on ends, once no customer is stuck; null while one is, or while that is not known. */
function comingEnd({ count, clearsAt = null }: Symptom, { quietFor }: AlertPolicy): Instant | null {
  return count === 0 && clearsAt !== null ? clearsAt + quietFor : null;
}

/** Whether it is so much worse than people know that they are to be alerted again. */
function hasGrown(before: Incident, symptom: Symptom): boolean {
  // More deliveries waiting for a failing subscriber, or more replicas without the same database, are no news.
  const isCounted = before.kind !== 'subscriber' && before.kind !== 'replica';
  const isMore = isCounted && symptom.count >= Math.max(before.alertedCount ?? 0, 1) * GROWTH;
  return isMore || isWorse(symptom.severity, before.alertedSeverity ?? 0);
}

/** When people are reminded next, after so many reminders; null while a person looks after it. */
function reminderAt(
  incident: Pick<Incident, 'acknowledgedAt' | 'reopenedAt'>,
  { alertedAt, reminded, policy }: { alertedAt: Instant; reminded: number; policy: Pick<AlertPolicy, 'repeatInterval'> },
): Instant | null {
  if (isLookedAfter(incident)) return null;
  return alertedAt + (reminded === 0 ? policy.repeatInterval : Math.max(policy.repeatInterval, LATER_REMINDERS));
}

/** When people are reminded of an incident unless it changes before; null: no reminder is planned. Silences are not looked at. */
export function nextReminderAt(incident: Incident, policy: Pick<AlertPolicy, 'repeatInterval'>): Instant | null {
  const { endedAt, quietSince, parent, alertedAt, reminders } = incident;
  if (endedAt !== null || quietSince !== null || parent !== null || alertedAt === null || !wasAlerted(incident)) return null;
  return reminderAt(incident, { alertedAt, reminded: reminders, policy });
}

/** Whether a person looks after it: the one who did before it was reopened may be gone. */
export function isLookedAfter({ acknowledgedAt, reopenedAt }: Pick<Incident, 'acknowledgedAt' | 'reopenedAt'>): boolean {
  return acknowledgedAt !== null && (reopenedAt === null || acknowledgedAt >= reopenedAt);
}

/** An incident that had ended, and whose symptom is back: the same incident. It counts from here on how many customers got on. */
export function reopened(ended: Incident, now: Instant): Incident {
  return { ...ended, endedAt: null, quietSince: null, reopenedAt: now, movedOn: 0 };
}

/** How urgent an incident is. */
export type Level = 'warning' | 'critical';

/** From which severity on a kind is urgent: subscribers that lose events or are off, replicas that do not judge or worse. */
const CRITICAL_FROM: Readonly<Record<IncidentKind, number>> = {
  stuck: 1,
  unreachable: 0,
  subscriber: SUBSCRIBER_TROUBLES.indexOf('losing'),
  replica: REPLICA_TROUBLES.indexOf('not_judging'),
};

/** A site that does not answer and many customers at once are urgent, too. */
export function levelOf({ kind, severity }: Pick<Incident, 'kind' | 'severity'>): Level {
  return severity >= CRITICAL_FROM[kind] ? 'critical' : 'warning';
}
