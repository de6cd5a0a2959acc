/** Whether this replica can read purchases of a site, as its answers show. */
import {
  type AskedPurchase,
  blindness,
  excuses,
  isOfSite,
  made,
  reachAfter,
  type SiteReadability,
  type SiteTrouble,
  siteError,
  UNTRIED,
} from '../../../domain/polling/reach.ts';
import {
  areEnoughRead,
  forgetAnswers,
  newRecentAnswers,
  noteAnswer,
  type RecentAnswers,
} from '../../../domain/polling/recent-answers.ts';
import type { Observation } from '../../../domain/purchases/purchase.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import type { SiteCondition, SiteVerdict } from '../../../postgres/polling/sites.ts';
import { createSiteReports, type SiteFindings, type SiteReachOptions } from './site-reports.ts';

/** Findings from the answers to this process; written by the functions of this file alone. */
interface Answers {
  reach: SiteReadability;
  readonly recent: RecentAnswers;
  /** Whether no answer to this process has shown a purchase since it started, or since it last found that the site fails. */
  isDown: boolean;
  /** The most that answers since the last report said, as far as enough purchases were read. */
  latest: Exclude<SiteVerdict, 'fails'>;
  lastSuccessAt: Instant | null;
  lastReadAt: Instant | null;
  lastReadWellAt: Instant | null;
  /** When an answer first showed a purchase: a wrong address may answer, too. */
  firstSeenAt: Instant | null;
}

export function createSiteReach(site: string, options: SiteReachOptions) {
  const { clock } = options;
  const reports = createSiteReports(site, options);
  const answers: Answers = {
    reach: UNTRIED,
    recent: newRecentAnswers(),
    isDown: true,
    latest: 'unclear',
    lastSuccessAt: null,
    lastReadAt: null,
    lastReadWellAt: null,
    firstSeenAt: null,
  };
  /** The readability of the site, the other replicas' knowledge of it included. */
  const reach = (): SiteReadability => {
    const { wasRead, isKnownSite } = answers.reach;
    const condition = reports.condition();
    if (wasRead || condition === null || condition.isKnown === isKnownSite) return answers.reach;
    return { ...answers.reach, isKnownSite: condition.isKnown };
  };
  const isExcused = (now: Milliseconds): boolean => excuses(reach(), now) || isExcusedByOthers(answers, reports.condition());

  const report = (awaited: number): void => {
    const now = clock.monotonic();
    const blind = blindness(reach(), now);
    const verdict = blind !== null ? 'fails' : areEnoughRead(answers.recent, { now, awaited }) ? answers.latest : 'unclear';
    if (!reports.isWanted(verdict, blind?.error ?? null)) return;
    noteVerdict(answers, verdict);
    const at = clock.now();
    const failing =
      blind === null ? null : { since: Math.round(at - (now - blind.since)), reason: blind.reason, error: siteError(blind) };
    const { lastReadAt, lastReadWellAt, lastSuccessAt, firstSeenAt } = answers;
    const findings: SiteFindings = { at, verdict, failing, lastReadAt, lastReadWellAt, lastSuccessAt, firstSeenAt };
    reports.add(findings, blind?.error ?? null);
  };

  return {
    /**
     * Learns from an answer, and returns the answer as the breaker must count it: while the site is blind, nonsense and unknown
     * ids are failures of the site. `purchase` is null when the call did not ask for a status.
     */
    answered: (seen: Observation, purchase: AskedPurchase | null): Observation => {
      const now = clock.monotonic();
      answers.reach = reachAfter(reach(), seen, { now, purchase });
      const isOdd = seen.kind === 'unknown' || seen.kind === 'malformed';
      const isHeld = isOdd && isExcused(now);
      const isRead = seen.kind === 'seen' || seen.kind === 'same';
      const isUsable = isRead || (seen.kind === 'unknown' && !isHeld);
      if (isUsable) noteUsable(answers, isRead, clock.now());
      if (purchase !== null && (isUsable || mayBeOfSite(purchase))) noteAnswer(answers.recent, purchase.id, isUsable, now);
      return isHeld ? { ...seen, kind: 'unreachable' } : seen;
    },
    /** Notes that the breaker found the whole site failing. */
    fails: (reason: SiteTrouble, error: string): void => {
      answers.reach = made(reach(), { now: clock.monotonic(), reason, error });
    },
    /** Writes what the answers show, when it is new or the last report is a few seconds old; `awaited`: calls under way. */
    report,
    /** Writes what time alone decides: that the site is blind, or that it has been read for long enough. */
    look: (awaited: number): void => {
      const now = clock.monotonic();
      if (blindness(reach(), now) !== null) {
        if (reports.verdict() !== 'fails') report(awaited);
      } else if (answers.latest !== 'unclear' && reports.verdict() !== 'reads' && areEnoughRead(answers.recent, { now, awaited }))
        report(awaited);
    },
    /** No call was made for long: a failure that the next answer shows begins now. */
    rest: (): void => {
      const { trouble } = answers.reach;
      if (trouble !== null) answers.reach = { ...answers.reach, trouble: { ...trouble, since: clock.monotonic() } };
    },
    /** Whether failures do not count against purchases. */
    excuses: (): boolean => isExcused(clock.monotonic()),
    /** Another database answers than before: what the last one knew of the site is read again. */
    forget: reports.forget,
  };
}

/** An answer that shows a purchase (`isRead`), or that shows at least that the service knows which purchases it has. */
function noteUsable(answers: Answers, isRead: boolean, now: Instant): void {
  answers.lastSuccessAt = now;
  if (!isRead) {
    if (answers.latest === 'unclear') answers.latest = 'answers';
    return;
  }
  answers.latest = 'reads';
  // From here on the recent answers show whether the site is well again.
  if (answers.isDown) forgetAnswers(answers.recent);
  answers.isDown = false;
  answers.lastReadAt = now;
  answers.firstSeenAt ??= now;
}

/** A verdict is being reported. Answers that are not enough yet are reported once they are. */
function noteVerdict(answers: Answers, verdict: SiteVerdict): void {
  if (verdict === 'unclear') return;
  answers.latest = 'unclear';
  if (verdict === 'reads') answers.lastReadWellAt = answers.lastReadAt;
  if (verdict !== 'fails' || answers.isDown) return;
  answers.isDown = true;
  forgetAnswers(answers.recent);
}

/** Another replica may have written the failure, or this one before a restart. */
function isExcusedByOthers({ isDown }: Answers, condition: SiteCondition | null): boolean {
  return isDown && condition !== null && condition.failing !== null && !isOfSite(condition.failing.reason);
}

/** Whether a failure may be the site's: one that failed by itself before counts as long as its last answer does. */
function mayBeOfSite({ status, failures }: AskedPurchase): boolean {
  return status === 'watching' && failures === 0;
}
