/** Incidents in a few words, for lists and the overview. */

import { untilText } from '../../domain/explain/standing.ts';
import { endsUnless } from '../../domain/incidents/ending.ts';
import { isDatabaseLoss, worstWrong } from '../../domain/incidents/replica-trouble.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';

/** Where it is: a site, a subscriber, or how many there are of both. */
export function placeOf({ kind, site, subscriber, parts }: Pick<IncidentRow, 'kind' | 'site' | 'subscriber' | 'parts'>): string {
  if (kind === 'subscriber') return subscriber ?? 'a subscriber';
  if (kind === 'replica') return 'the daemon';
  const sites = new Set(parts.flatMap((part) => part.site ?? [])).size;
  return site ?? (sites < 2 ? 'several sites' : `${sites} sites`);
}

/** What is wrong, or was: `14 customers stuck waiting for the card provider`. */
export function whatOf({ kind, state, count, peak, severity, quietSince, endedAt, parts }: IncidentRow): string {
  if (kind === 'unreachable') {
    const isPast = quietSince !== null || endedAt !== null;
    if (isUnnamed(severity)) return `no running daemon ${isPast ? 'had' : 'has'} the site in its settings`;
    return `no purchase ${isPast ? 'could' : 'can'} be read`;
  }
  const most = endedAt === null ? count : peak;
  if (kind === 'replica')
    return isDatabaseLoss(severity) ? worstWrong(severity) : `${worstWrong(severity)} (${counted(most, 'replica')})`;
  if (kind === 'subscriber')
    return `does not get everything; ${counted(most, 'delivery waits or was given up', 'deliveries wait or were given up')}`;
  const states = new Set(parts.flatMap((part) => part.state ?? [])).size;
  const where = state !== null ? statePlace(state) : states < 2 ? 'in several states' : `in ${states} states`;
  if (most === 0) return `no customer is stuck ${where} any more, ${grouped(peak)} at worst`;
  return `${counted(most, 'customer')} stuck ${where}${endedAt === null ? '' : ' at worst'}`;
}

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

type Times = Pick<IncidentRow, 'openedAt' | 'reopenedAt' | 'endedAt'>;

/** Since when it is open: the last time that it began. */
function openSince({ openedAt, reopenedAt }: Omit<Times, 'endedAt'>): Instant {
  return reopenedAt ?? openedAt;
}

/** How long it has been open, or was, from its first beginning. */
export function lengthOf(incident: Times, now: Instant): string {
  const { openedAt, endedAt } = incident;
  const length = endedAt === null ? now - openSince(incident) : endedAt - openedAt;
  return humanDuration(Math.floor(Math.max(0, length) / 1_000) * 1_000);
}
