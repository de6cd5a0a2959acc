/** Incidents in a few words, for lists and the overview. */

import { untilText } from '../../domain/explain/standing.ts';
import { endsUnless } from '../../domain/incidents/ending.ts';
import { SUBSCRIBER_TROUBLES, type SubscriberTrouble } from '../../domain/incidents/incident.ts';
import { isDatabaseLoss, worstWrong } from '../../domain/incidents/replica-trouble.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
import { MOST_WAITING } from '../../postgres/deliveries/waiting.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';

/** The place of an incident: a site, a subscriber, the daemon, or the number of sites. */
export function placeOf({ kind, site, subscriber, parts }: Pick<IncidentRow, 'kind' | 'site' | 'subscriber' | 'parts'>): string {
  if (kind === 'subscriber') return subscriber ?? 'a subscriber';
  if (kind === 'replica') return 'the daemon';
  const sites = new Set(parts.flatMap((part) => part.site ?? [])).size;
  return site ?? (sites < 2 ? 'several sites' : `${sites} sites`);
}

/** The trouble of an incident, present or past: `14 customers stuck waiting for the card provider`. */
export function whatOf(incident: IncidentRow): string {
  const { kind, state, count, peak, severity, quietSince, endedAt, parts } = incident;
  if (kind === 'unreachable') {
    const isPast = quietSince !== null || endedAt !== null;
    if (isUnnamed(severity)) return `no running daemon ${isPast ? 'had' : 'has'} the site in its settings`;
    return `no purchase ${isPast ? 'could' : 'can'} be read`;
  }
  const most = endedAt === null ? count : peak;
  if (kind === 'replica')
    return isDatabaseLoss(severity) ? worstWrong(severity) : `${worstWrong(severity)} (${counted(most, 'replica')})`;
  if (kind === 'subscriber') return subscriberWhat(incident);
  const states = new Set(parts.flatMap((part) => part.state ?? [])).size;
  const where = state !== null ? statePlace(state) : states < 2 ? 'in several states' : `in ${states} states`;
  if (most === 0) return `no customer is stuck ${where} any more, ${grouped(peak)} at worst`;
  return `${counted(most, 'customer')} stuck ${where}${endedAt === null ? '' : ' at worst'}`;
}

/** The trouble of a subscriber, now or at worst: `takes nothing; 9 520 deliveries wait`. */
function subscriberWhat({ severity, count, peak, quietSince, endedAt }: IncidentRow): string {
  const isPast = quietSince !== null || endedAt !== null;
  const [is, was, waits, waited] = SUBSCRIBER_WORDS[SUBSCRIBER_TROUBLES[severity] ?? 'failing'];
  const [one, more] = isPast ? waited : waits;
  const many = counted(isPast ? peak : count, `delivery ${one}`, `deliveries ${more}`, MOST_WAITING);
  return `${isPast ? was : is}; ${many}${isPast ? ' at worst' : ''}`;
}

type OneMore = readonly [one: string, more: string];
const WAIT: readonly [OneMore, OneMore] = [
  ['waits', 'wait'],
  ['waited', 'waited'],
];
const GIVEN_UP: OneMore = ['was given up', 'were given up'];
export const SUBSCRIBER_WORDS: Readonly<Record<SubscriberTrouble, readonly [string, string, OneMore, OneMore]>> = {
  given_up: ['does not take everything', 'did not take everything', GIVEN_UP, GIVEN_UP],
  unreached: ['is not reached, for a reason on this side', 'was not reached, for a reason on this side', ...WAIT],
  failing: ['takes nothing', 'took nothing', ...WAIT],
  losing: ['takes nothing, and deliveries are given up', 'took nothing, and deliveries were given up', ...WAIT],
  off: ['is switched off and gets nothing', 'was switched off and got nothing', ...WAIT],
};

/** When an open incident in which nothing is wrong any more ends: `ends at 10:21:07Z (4 min more) unless …`; null while something is wrong. */
export function comingEnd({ endsAt, ...row }: Pick<IncidentRow, 'kind' | 'severity' | 'endsAt'>, now: Instant): string | null {
  if (endsAt === null) return null;
  return `ends ${endsAt <= now ? 'in a moment' : `at ${untilText(endsAt, now)}`} ${endsUnless(row)}`;
}

/** The owner and the end of a silence of an incident, as the end of a line. */
export function careOf({ acknowledgedAt, acknowledgedBy, silencedUntil }: IncidentRow, now: Instant): string {
  const owner = acknowledgedAt === null ? '' : `; ${acknowledgedBy ?? 'somebody'} looks after it`;
  const quiet = silencedUntil === null ? '' : `; silenced until ${untilText(silencedUntil, now)}`;
  return `${owner}${quiet}`;
}

/** How long an incident has been open since it opened last, or was open from its first opening on. */
export function lengthOf(incident: Pick<IncidentRow, 'openedAt' | 'reopenedAt' | 'endedAt'>, now: Instant): string {
  const { openedAt, reopenedAt, endedAt } = incident;
  const length = endedAt === null ? now - (reopenedAt ?? openedAt) : endedAt - openedAt;
  return humanDuration(Math.floor(Math.max(0, length) / 1_000) * 1_000);
}
