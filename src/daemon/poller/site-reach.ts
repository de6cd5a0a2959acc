/** Whether this replica can read purchases of a site: learns from answers, and writes what people and other replicas need. */
import {
  type Asked,
  blindness,
  excuses,
  isOfSite,
  made,
  reachAfter,
  type SiteTrouble,
  siteError,
  UNTRIED,
} from '../../domain/polling/reach.ts';
import { areEnoughRead, forgetAnswers, newRecentAnswers, noteAnswer } from '../../domain/polling/recent-answers.ts';
import type { Observation } from '../../domain/purchases/purchase.ts';
import { type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { bringPollsForward } from '../../postgres/polling/bring-polls-forward.ts';
import {
  readSiteCondition,
  reportSite,
  type SiteCondition,
  type SiteReport,
  type SiteVerdict,
} from '../../postgres/polling/sites.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface SiteReachOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  /** Each replica writes for itself whether it reads the site. */
  readonly replica: string;
  /** The database knows that the site fails, or that it is back. */
  onReported(): void;
}

export interface SiteReach {
  /**
   * Learns from an answer, and returns the answer as the breaker must count it: while the site is blind, nonsense and unknown
   * ids are failures of the site. `purchase` is null when the call did not ask for a status.
   */
  answered(seen: Observation, purchase: Asked | null): Observation;
  /** Notes that the breaker found the whole site failing. */
  fails(reason: SiteTrouble, error: string): void;
  /** Writes what the answers show, when it is new or the last report is a few seconds old; `awaited`: calls under way. */
  report(awaited: number): void;
  /** Writes what time alone decides: that the site is blind, or that it has been read for long enough. */
  look(awaited: number): void;
  /** No call was made for long: a failure that the next answer shows begins now. */
  rest(): void;
  /** Whether failures do not count against purchases. */
  excuses(): boolean;
}

/** A report without news is written at most this often. */
const REPORT_EVERY: Milliseconds = 5_000;

export function createSiteReach(site: string, { sql, clock, log, replica, onReported }: SiteReachOptions): SiteReach {
  let reach = UNTRIED;
  const recent = newRecentAnswers();
  /** Whether no answer to this process has shown a purchase since it started, or since it last found that the site fails. */
  let isDown = true;
  /** The most that answers since the last report said, as far as enough purchases were read. */
  let latest: Exclude<SiteVerdict, 'fails'> = 'unclear';
  let lastSuccessAt: Instant | null = null;
  let lastReadAt: Instant | null = null;
  let lastReadWellAt: Instant | null = null;
  /** When an answer first showed a purchase: a wrong address may answer, too. */
  let firstSeenAt: Instant | null = null;
  let reported: SiteVerdict | null = null;
  let reportedError: string | null = null;
  let isAnnounced = false;
  let reportedAt: Milliseconds = Number.NEGATIVE_INFINITY;
  /** Over all replicas, as of the last report; null before the first one. */
  let condition: SiteCondition | null = null;
  let unwritten = 0;
  let writing: Promise<void> = Promise.resolve();

  const isFailing = (): boolean => condition !== null && condition.failing !== null;
  const isExcused = (): boolean => {
    if (excuses(reach, clock.monotonic())) return true;
    // Another replica may have written the failure, or this one before a restart.
    return isDown && condition !== null && condition.failing !== null && !isOfSite(condition.failing.reason);
  };

  const write = async (report: SiteReport, before: SiteVerdict | null): Promise<void> => {
    try {
      condition ??= await readSiteCondition(sql, site);
      const failing = condition?.failing ?? null;
      // Before the site's recovery is written: after a crash in between, the next replica that reads the site does both.
      if (report.verdict === 'reads' && failing !== null)
        await bringPollsForward(sql, { site, since: failing.since, now: report.at });
      learn(await reportSite(sql, report));
      if ((failing !== null) !== isFailing()) onReported();
    } catch (error) {
      // The next answer or probe writes it again.
      reported = before;
      log.warn({ error, site }, 'site.report_failed');
    }
    unwritten -= 1;
  };

  const learn = (found: SiteCondition | null): void => {
    condition = found;
    if (found !== null && !reach.wasRead) reach = { ...reach, isKnownSite: found.isKnown };
  };

  const announce = ({ verdict, failing }: SiteReport): void => {
    if (verdict === 'unclear') return;
    // The breaker logs outages.
    const isNew = failing !== null && failing.reason !== 'unreachable';
    if (isNew === isAnnounced) return;
    isAnnounced = isNew;
    if (!isNew) log.info({ site }, 'site.readable');
    else log.error({ site, reason: failing.reason, since: isoTime(failing.since), detail: failing.error }, 'site.not_readable');
  };

  const noteVerdict = (verdict: SiteVerdict): void => {
    // Answers that are not enough yet are reported once they are.
    if (verdict === 'unclear') return;
    latest = 'unclear';
    if (verdict === 'reads') lastReadWellAt = lastReadAt;
    if (verdict !== 'fails' || isDown) return;
    isDown = true;
    forgetAnswers(recent);
  };

  const report = (awaited: number): void => {
    const now = clock.monotonic();
    const blind = blindness(reach, now);
    const verdict = blind !== null ? 'fails' : areEnoughRead(recent, { now, awaited }) ? latest : 'unclear';
    const before = reported;
    const isBack = verdict === 'reads' && (before !== 'reads' || (unwritten === 0 && isFailing()));
    const isNews = isBack || (before === 'fails') !== (verdict === 'fails') || (blind !== null && blind.error !== reportedError);
    if (!isNews && now - reportedAt < REPORT_EVERY) return;
    noteVerdict(verdict);
    reportedAt = now;
    reported = verdict;
    reportedError = blind?.error ?? null;
    unwritten += 1;
    const at = clock.now();
    const failing =
      blind === null ? null : { since: Math.round(at - (now - blind.since)), reason: blind.reason, error: siteError(blind) };
    const found: SiteReport = { site, replica, at, verdict, failing, lastReadAt, lastReadWellAt, lastSuccessAt, firstSeenAt };
    announce(found);
    // Reports are written one after the other: an older one must not overtake a newer one on another connection.
    writing = writing.then(() => write(found, before));
  };

  return {
    answered: (seen, purchase) => {
      const now = clock.monotonic();
      reach = reachAfter(reach, seen, { now, purchase });
      const isRead = seen.kind === 'seen' || seen.kind === 'same';
      const isOdd = seen.kind === 'unknown' || seen.kind === 'malformed';
      const isHeld = isOdd && isExcused();
      const isUsable = isRead || (seen.kind === 'unknown' && !isHeld);
      if (isRead) latest = 'reads';
      else if (isUsable && latest === 'unclear') latest = 'answers';
      if (isUsable) lastSuccessAt = clock.now();
      if (isRead) {
        // From here on it shows whether the site is well again.
        if (isDown) forgetAnswers(recent);
        isDown = false;
        lastReadAt = lastSuccessAt;
        firstSeenAt ??= lastReadAt;
      }
      if (purchase !== null && (isUsable || mayBeOfSite(purchase))) noteAnswer(recent, purchase.id, isUsable, now);
      return isHeld ? { ...seen, kind: 'unreachable' } : seen;
    },
    fails: (reason, error) => {
      reach = made(reach, { now: clock.monotonic(), reason, error });
    },
    report,
    look: (awaited) => {
      const now = clock.monotonic();
      if (blindness(reach, now) !== null) {
        if (reported !== 'fails') report(awaited);
      } else if (latest !== 'unclear' && reported !== 'reads' && areEnoughRead(recent, { now, awaited })) report(awaited);
    },
    rest: () => {
      const { trouble } = reach;
      if (trouble !== null) reach = { ...reach, trouble: { ...trouble, since: clock.monotonic() } };
    },
    excuses: isExcused,
  };
}

/** Whether a failure may be the site's: one that failed by itself before counts as long as its last answer does. */
function mayBeOfSite({ status, failures }: Asked): boolean {
  return status === 'watching' && failures === 0;
}
