/** Silences for API and command line: checks of a request, adding and ending. */

import { suggestion } from '../../config/kinds/nearest.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { DAY, type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { addSilence, endSilence, findSilence, type SilenceRow } from '../../postgres/incidents/silences.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { listSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { silenceName } from '../row-ids.ts';
import { Refused } from '../subscribers/refused.ts';

export { listSilences, type SilenceRow } from '../../postgres/incidents/silences.ts';

/** How far in the past a silence may begin, for clocks that differ: an alert that was sent cannot be taken back. */
const SKEW: Milliseconds = 10_000;
/** A forgotten silence must not hide what breaks later. */
const LONGEST: Milliseconds = 30 * DAY;

export type SilenceField = 'site' | 'state' | 'kind' | 'subscriber' | 'everything' | 'startsAt' | 'endsAt';

/** The silence that a person asks for, as far as its fields could be read. */
export interface AskedSilence {
  readonly site?: string | undefined;
  readonly state?: unknown;
  readonly kind?: unknown;
  readonly subscriber?: string | undefined;
  readonly everything?: boolean | undefined;
  readonly startsAt?: Instant | undefined;
  readonly endsAt?: Instant | undefined;
}

/** Facts for the check, and the names of fields where the person wrote them. */
export interface SilenceFacts {
  readonly now: Instant;
  /** Why a name is none of these sites, or null. */
  siteProblem(name: string, known: readonly string[]): string | null;
  /** Fields that are wrong already: they were given, and get no second error. */
  isWrong(field: SilenceField): boolean;
  readonly words: { readonly yes: string; readonly endsAt: string; readonly listSubscribers: string };
}

export interface SilenceProblem {
  readonly field: SilenceField;
  readonly problem: string;
  /** There is no such site. */
  readonly isUnknownSite?: true;
}

/** Problems of fields that contradict each other and of names that the database lacks; one problem a field at most. */
export async function silenceProblems(sql: Queries, given: AskedSilence, facts: SilenceFacts): Promise<SilenceProblem[]> {
  const found = new Map<SilenceField, SilenceProblem>();
  for (const each of [...scopeProblems(given, facts), ...(await nameProblems(sql, given, facts)), ...timeProblems(given, facts)])
    if (!facts.isWrong(each.field) && !found.has(each.field)) found.set(each.field, each);
  return [...found.values()];
}

/** Fields that do not go together, or name too little. */
function scopeProblems(given: AskedSilence, { isWrong, words }: SilenceFacts): SilenceProblem[] {
  const found: SilenceProblem[] = [];
  const refuse = (field: SilenceField, problem: string): void => void found.push({ field, problem });
  const isGiven = (field: SilenceField): boolean => given[field] !== undefined || isWrong(field);
  const isNarrow = (['site', 'state', 'kind', 'subscriber'] as const).some(isGiven);
  if (!isNarrow && given.everything !== true)
    refuse('everything', `must be ${words.yes} to silence all incidents; or name a site, state, kind or subscriber`);
  if (isNarrow && given.everything === true)
    refuse('everything', 'cannot go with site, state, kind or subscriber; leave it or those out');
  if (given.kind === 'unreachable' && isGiven('state'))
    refuse('state', 'cannot go with kind unreachable, which is about whole sites');
  const isOfSubscribers = given.kind === 'subscriber' || isGiven('subscriber');
  for (const field of (['site', 'state'] as const).filter(isGiven)) {
    if (isOfSubscribers) refuse(field, 'cannot go with incidents of subscribers, which are of no site');
    else if (given.kind === 'replica') refuse(field, 'cannot go with kind replica, which is about no site');
  }
  if (isGiven('subscriber') && isGiven('kind') && given.kind !== 'subscriber')
    refuse('kind', 'must be subscriber, or left out, when a subscriber is named');
  return found;
}

async function nameProblems(
  sql: Queries,
  { subscriber, site }: AskedSilence,
  { siteProblem, isWrong, words }: SilenceFacts,
): Promise<SilenceProblem[]> {
  const [sites, subscribers] = await Promise.all([namesOf(listSites(sql)), namesOf(listSubscribers(sql))]);
  const found: SilenceProblem[] = [];
  if (subscriber !== undefined && !isWrong('subscriber') && !subscribers.includes(subscriber)) {
    const hint = suggestion(subscriber.slice(0, 100), subscribers);
    found.push({ field: 'subscriber', problem: `is no subscriber${hint}; ${words.listSubscribers} lists them` });
  }
  const unknown = site === undefined || isWrong('site') ? null : siteProblem(site, sites);
  if (unknown !== null) found.push({ field: 'site', problem: unknown, isUnknownSite: true });
  return found;
}

async function namesOf(rows: Promise<readonly { readonly name: string }[]>): Promise<string[]> {
  return (await rows).map(({ name }) => name);
}

function timeProblems({ startsAt: from, endsAt }: AskedSilence, { now, words }: SilenceFacts): SilenceProblem[] {
  const startsAt = from ?? now;
  const found: SilenceProblem[] = [];
  if (startsAt < now - SKEW)
    found.push({ field: 'startsAt', problem: `must not be in the past; it is ${isoTime(now)} now. Leave it out to begin now` });
  if (endsAt === undefined) return found;
  if (endsAt <= now) found.push({ field: 'endsAt', problem: `must be in the future; it is ${isoTime(now)} now` });
  else if (endsAt > now + LONGEST)
    found.push({ field: 'endsAt', problem: `must be at most 30 days ahead, so by ${isoTime(now + LONGEST)}` });
  else if (startsAt >= endsAt) found.push({ field: 'startsAt', problem: `must be before ${words.endsAt}` });
  return found;
}

export interface CheckedSilence extends Pick<AskedSilence, 'site' | 'subscriber' | 'startsAt'> {
  readonly state?: number | undefined;
  readonly kind?: IncidentKind | undefined;
  readonly reason: string;
  readonly by: string;
  readonly endsAt: Instant;
}

/** Adds a silence that was checked. One that names a subscriber is about incidents of that one. */
export async function silence(sql: Queries, given: CheckedSilence, now: Instant): Promise<SilenceRow> {
  const { site = null, state = null, subscriber = null, reason, by, endsAt } = given;
  const kind = given.kind ?? (subscriber === null ? null : 'subscriber');
  // The clock went on since it was checked, and the caller's may be behind ours.
  const startsAt = Math.min(Math.max(given.startsAt ?? now, now), endsAt);
  return addSilence(sql, { site, state, kind, subscriber, reason, by, startsAt, endsAt });
}

/** The call that lists silences, named in errors about an unknown number. */
const LISTED_BY = 'GET /v1/silences?status=all';

/** The silence of this number; throws Refused, which names what lists them. */
export async function requireSilence(sql: Queries, id: number, listedBy = LISTED_BY): Promise<SilenceRow> {
  const row = await findSilence(sql, id);
  if (row === null) throw notFound(id, listedBy);
  return row;
}

/** Ends a silence now; one that is over stays as it is. Throws Refused. */
export async function lift(sql: Queries, id: number): Promise<void> {
  if (!(await endSilence(sql, id))) throw notFound(id, LISTED_BY);
}

function notFound(id: number, listedBy: string): Refused {
  return new Refused('silence_not_found', `there is no silence ${silenceName(id)}; ${listedBy} lists them`);
}
