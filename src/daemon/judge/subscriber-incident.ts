/** Incidents about subscribers: what their events hold, and the same as a sentence for the log. */

import { type Incident, SUBSCRIBER_TROUBLES, type SubscriberTrouble } from '../../domain/incidents/incident.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { counted } from '../../domain/values/counts.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { MOST_WAITING } from '../../postgres/deliveries/waiting.ts';
import type { SubscriberCondition } from '../../postgres/subscribers/symptoms.ts';

/** How an incident about a subscriber came to its end. */
export type SubscriberOutcome = 'takes_again' | 'quiet' | 'tried_again' | 'switched_off' | 'removed';

/** The trouble of a subscriber, as its condition shows it. */
export function troubleOf({ status, failures, givenUp, ourFailingSince }: SubscriberCondition): SubscriberTrouble {
  if (status === 'off') return 'off';
  if (failures === 0) return ourFailingSince === null ? 'given_up' : 'unreached';
  return givenUp > 0 ? 'losing' : 'failing';
}

/** How the incident ended, as far as is known: a subscriber that was only left alone is not reported as well. */
export function outcomeOf(
  incident: Pick<Incident, 'since' | 'alertedSeverity'>,
  condition: SubscriberCondition | null,
): SubscriberOutcome {
  if (condition === null) return 'removed';
  if (condition.status === 'off') return 'switched_off';
  if ((incident.alertedSeverity ?? 0) <= SUBSCRIBER_TROUBLES.indexOf('given_up')) return 'quiet';
  return (condition.deliveredAt ?? 0) >= incident.since ? 'takes_again' : 'tried_again';
}

/** Fields of an event about a subscriber beside those of every incident's. No address is among them: addresses may be secrets. */
export function subscriberData(incident: Incident, condition: SubscriberCondition | null) {
  const { endedAt, peak } = incident;
  return {
    subscriber: incident.subscriber!,
    channel: condition?.kind ?? null,
    audience: condition?.audience ?? null,
    origin: condition?.origin ?? null,
    trouble: condition === null || endedAt !== null ? null : troubleOf(condition),
    outcome: endedAt === null ? null : outcomeOf(incident, condition),
    failures: condition?.failures ?? 0,
    failingSince: isoTimeOrNull(condition?.failingSince ?? null),
    ourFailingSince: isoTimeOrNull(condition?.ourFailingSince ?? null),
    untried: condition?.untried ?? false,
    lastError: (condition?.status === 'off' ? condition.statusReason : condition?.lastError) ?? null,
    nextTryAt: isoTimeOrNull(condition?.nextTryAt ?? null),
    offSince: isoTimeOrNull(condition?.failedAt ?? null),
    waiting: condition?.waiting ?? 0,
    givenUp: condition?.givenUp ?? 0,
    givenUpFrom: isoTimeOrNull(condition?.givenUpFrom ?? null),
    countedTo: MOST_WAITING,
    peak,
  };
}

/** The trouble and where to look, for a person who reads nothing but the log. */
export function subscriberSentence(incident: Incident, condition: SubscriberCondition | null): string {
  const { subscriber: name, since } = incident;
  if (incident.endedAt !== null) return `${name}: ${ENDED[outcomeOf(incident, condition)]}`;
  if (condition === null) return `${name} gets nothing any more.`;
  const { failures, failingSince, ourFailingSince, lastError, statusReason, waiting, givenUp } = condition;
  const nothing = `${name} takes nothing since ${isoTime(failingSince ?? since)} (failures in a row: ${failures})`;
  const error = lastError === null ? '' : ` The last error: ${lastError}`;
  const waits = many(waiting, ['waits', 'wait']);
  const lost = many(givenUp, ['was', 'were']);
  const text = {
    given_up: `${many(givenUp, [`to ${name} was`, `to ${name} were`])} given up since ${isoTime(since)}.${error}`,
    unreached: `We cannot reach ${name} since ${isoTime(ourFailingSince ?? since)}, which is not its fault; ${waits}.${error}`,
    failing: `${nothing}; ${waits}.${error}`,
    losing: `${nothing}; ${waits}, ${lost} given up.${error}`,
    off: `${name} is switched off: ${statusReason ?? 'no reason is known.'} ${waits}; what comes now ${condition.audience === 'people' ? 'waits for three days' : 'is not sent to it'}.`,
  }[troubleOf(condition)];
  return `${text} See: ${commandLine`subscribers show ${name!}`}`;
}

const ENDED: Readonly<Record<SubscriberOutcome, string>> = {
  takes_again: 'takes events again.',
  quiet: 'no delivery was given up any more.',
  tried_again: 'is tried again; nothing was taken yet.',
  switched_off: 'was switched off by hand.',
  removed: 'gets nothing any more: it was taken away.',
};

function many(count: number, [one, more]: readonly [string, string]): string {
  return counted(count, `delivery ${one}`, `deliveries ${more}`, MOST_WAITING);
}
