/**
 * Whether purchases of a site can be read at all, as one replica finds it. A site is blind when no purchase could be read
 * for some time, whatever the answers were; until one is read, no failure is a purchase's own. Pure; moments are the
 * caller's monotonic clock.
 *
 * Every failed answer since the last read is counted once for its purchase. An answer about a purchase that was failing
 * already when another one was read says nothing about the site: a mistyped id stays that purchase's own trouble.
 */

import { blame, type Observation, type Purchase } from '../purchases/purchase.ts';
import type { Instant, Milliseconds } from '../values/time.ts';

/** Why no purchase of a site can be read: what its answers, or their absence, have in common. */
export type SiteTrouble = Exclude<Observation['kind'], 'seen' | 'same'>;

type Moment = number;

/** Failed answers since the last read. */
export interface ReachTrouble {
  readonly since: Moment;
  /** Of the last answer, as is the sentence. */
  readonly reason: SiteTrouble;
  readonly error: string;
  /** The whole site fails, as the breaker or another replica found: nothing has to be waited for. */
  readonly isCertain: boolean;
  /** The first few purchases that failed and were not failing before. */
  readonly suspects: readonly number[];
  /** Whether one of them, and whether each of them, was read at some time before. */
  readonly isOneKnown: boolean;
  readonly isEachKnown: boolean;
}

export interface SiteReadability {
  /** Whether this process read a purchase. */
  readonly wasRead: boolean;
  /** Whether any replica ever read one. True until the database says otherwise. */
  readonly isKnownSite: boolean;
  readonly trouble: ReachTrouble | null;
}

export const UNTRIED: SiteReadability = { wasRead: false, isKnownSite: true, trouble: null };

/** So many purchases that fail, and none that is read in between, speak of the site. */
const SEVERAL = 3;
/**
 * How long answers of other kinds than outages last before people are alerted. Four probes at their longest interval (30 s):
 * a pause that one 429 asks for and a deploy of the service pass without an alert, and the limits of stuck checkouts
 * (10 minutes and more) are not reached.
 */
export const BLIND_AFTER: Milliseconds = 2 * 60_000;
/** The same where only one or two purchases were asked about, and all of these were read before. */
const FEW_BLIND_AFTER: Milliseconds = 10 * 60_000;

/** The readability of a site after an answer. `purchase` is null when the call did not ask for a purchase's status. */
export function reachAfter(
  reach: SiteReadability,
  seen: Observation,
  { now, purchase }: { readonly now: Moment; readonly purchase: AskedPurchase | null },
): SiteReadability {
  const { trouble } = reach;
  if (seen.kind === 'seen' || seen.kind === 'same')
    return trouble === null && reach.wasRead && reach.isKnownSite ? reach : { wasRead: true, isKnownSite: true, trouble: null };
  const isSuspect = purchase !== null && isEvidence(purchase, trouble);
  // A service that looks up an id is there, and takes the credentials.
  const isOver = seen.kind === 'unknown' && trouble !== null && isOfSite(trouble.reason);
  const before = isOver ? null : trouble;
  if (!isSuspect && !isOfSite(seen.kind)) return before === trouble ? reach : { ...reach, trouble: before };
  const begun = before ?? { since: now, isCertain: false, suspects: [], isOneKnown: false, isEachKnown: true };
  const counted = isSuspect ? withSuspect(begun, purchase) : begun;
  return { ...reach, trouble: { ...counted, reason: seen.kind, error: seen.detail } };
}

/** Of a purchase, what shows whether its failure is one of the site. */
export type AskedPurchase = Pick<Purchase, 'id' | 'status' | 'failures' | 'seenAt'>;

/** Only purchases that are watched: a service may forget settled ones. */
function isEvidence({ id, status, failures }: AskedPurchase, trouble: ReachTrouble | null): boolean {
  return status === 'watching' && (failures === 0 || trouble?.suspects.includes(id) === true);
}

function withSuspect<T extends Pick<ReachTrouble, 'suspects' | 'isOneKnown' | 'isEachKnown'>>(
  trouble: T,
  { id, seenAt }: AskedPurchase,
): T {
  const { suspects } = trouble;
  const isKnown = seenAt !== null;
  return {
    ...trouble,
    suspects: suspects.length >= SEVERAL || suspects.includes(id) ? suspects : [...suspects, id],
    isOneKnown: trouble.isOneKnown || isKnown,
    isEachKnown: trouble.isEachKnown && isKnown,
  };
}

/** Whether such an answer is never about one purchase alone by its kind. */
export function isOfSite(reason: SiteTrouble): boolean {
  return blame({ kind: reason } as Observation) === 'site';
}

/** How long the trouble must last until the site is blind; null: it is not the site's, as far as is known. */
function waitOf({ wasRead, isKnownSite, trouble }: SiteReadability): Milliseconds | null {
  if (trouble === null) return null;
  const { reason, isCertain, suspects, isOneKnown, isEachKnown } = trouble;
  if (isCertain) return 0;
  const several = suspects.length >= SEVERAL;
  const few = suspects.length > 0 && isEachKnown;
  switch (reason) {
    case 'throttled':
      return BLIND_AFTER;
    case 'refused':
      // Wrong credentials show with the first answer after a start.
      return !wasRead || several ? 0 : few ? BLIND_AFTER : null;
    case 'malformed':
      return several || !isKnownSite ? BLIND_AFTER : few ? FEW_BLIND_AFTER : null;
    case 'unknown':
      return several && (isOneKnown || !isKnownSite) ? BLIND_AFTER : null;
    case 'unreachable':
      // The breaker knows outages, and makes them certain.
      return null;
  }
}

/** The trouble because of which no purchase of the site can be read; null while it is not known to be the site's. */
export function blindness(reach: SiteReadability, now: Moment): ReachTrouble | null {
  const wait = waitOf(reach);
  return reach.trouble !== null && wait !== null && now - reach.trouble.since >= wait ? reach.trouble : null;
}

/** Whether failures are held against no purchase: from the moment in which they look like the site's. */
export function excuses(reach: SiteReadability, now: Moment): boolean {
  const wait = waitOf(reach);
  return wait !== null && (wait <= BLIND_AFTER || blindness(reach, now) !== null);
}

/** The whole site fails, as its breaker or another replica found. */
export function made(
  reach: SiteReadability,
  { now, reason, error }: { readonly now: Moment; readonly reason: SiteTrouble; readonly error: string },
): SiteReadability {
  const none = { since: now, suspects: [], isOneKnown: false, isEachKnown: true };
  return { ...reach, trouble: { ...none, ...reach.trouble, reason, error, isCertain: true } };
}

/** How many usable answers a failing site gives: some may come while too few do. */
export function usableAnswers(failingSince: Instant, lastSuccessAt: Instant | null): string {
  return lastSuccessAt !== null && lastSuccessAt > failingSince ? 'hardly any usable answer' : 'no usable answer';
}

/** Why no purchase can be read, for a person who has just been woken: what is wrong, and what to do. */
export function siteError({ reason, error }: Pick<ReachTrouble, 'reason' | 'error'>): string {
  switch (reason) {
    case 'throttled':
      return 'The service answers every call with 429 (too many requests). Ask its operator what the limit is, and lower maxRps (CHECKOUT_MAX_RPS) below it; other programs with the same credentials count, too.';
    case 'malformed':
      return `The service answers, but not as its specification shows. ${error} Ask its operator what has changed, and check the base address.`;
    case 'unknown':
      return 'The service knows none of the purchases. Check that the base address, the credentials and the environment (test or production) belong together.';
    case 'refused':
    case 'unreachable':
      return error;
  }
}
