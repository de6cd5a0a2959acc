/** Writes whether this replica reads purchases of a site, one report after the other, and knows what all replicas found. */

import { isoTime, type Milliseconds } from '../../../domain/values/time.ts';
import { bringPollsForward } from '../../../postgres/polling/bring-polls-forward.ts';
import {
  readSiteCondition,
  reportSite,
  type SiteCondition,
  type SiteReport,
  type SiteVerdict,
} from '../../../postgres/polling/sites.ts';
import type { Deps } from '../../deps.ts';

export interface SiteReachOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'> {
  /** The database knows that the site fails, or that it is back. */
  onReported(): void;
}

/** A report without what its writer adds. */
export type SiteFindings = Omit<SiteReport, 'site' | 'replica'>;

/** A report without news is written at most this often. */
const REPORT_EVERY: Milliseconds = 5_000;

export function createSiteReports(site: string, { sql, clock, log, replica, onReported }: SiteReachOptions) {
  let condition: SiteCondition | null = null;
  let verdict: SiteVerdict | null = null;
  let error: string | null = null;
  let addedAt: Milliseconds = Number.NEGATIVE_INFINITY;
  let isAnnounced = false;
  let unwritten = 0;
  let isRefused = false;
  let writing: Promise<void> = Promise.resolve();

  const isFailing = (): boolean => condition !== null && condition.failing !== null;

  const write = async (report: SiteReport, before: SiteVerdict | null): Promise<void> => {
    try {
      condition ??= await readSiteCondition(sql, site);
      const failing = condition?.failing ?? null;
      // Before the site's recovery is written: after a crash in between, the next replica that reads the site does both.
      if (report.verdict === 'reads' && failing !== null)
        await bringPollsForward(sql, { site, since: failing.since, now: report.at });
      condition = await reportSite(sql, report);
      isRefused = false;
      if ((failing !== null) !== isFailing()) onReported();
    } catch (failure) {
      // The next answer or probe writes it again.
      verdict = before;
      // Logged once, not with every report.
      if (!isRefused) log.warn({ error: failure, site }, 'site.report_failed');
      isRefused = true;
    }
    unwritten -= 1;
  };

  const announce = ({ verdict: found, failing }: SiteFindings): void => {
    // The breaker logs outages; one ends no time in which the site's answers could not be read.
    if (found === 'unclear' || failing?.reason === 'unreachable') return;
    const isNew = failing !== null;
    if (isNew === isAnnounced) return;
    isAnnounced = isNew;
    if (!isNew) log.info({ site }, 'site.readable');
    else log.error({ site, reason: failing.reason, since: isoTime(failing.since), detail: failing.error }, 'site.not_readable');
  };

  return {
    /** Over all replicas, as of the last report; null before the first one. */
    condition: (): SiteCondition | null => condition,
    /** Of the last report that was written or is being written; null before the first one. */
    verdict: (): SiteVerdict | null => verdict,
    /** Whether a report says something new, or the last one is a few seconds old. */
    isWanted: (found: SiteVerdict, why: string | null): boolean => {
      const isBack = found === 'reads' && (verdict !== 'reads' || (unwritten === 0 && isFailing()));
      const isNews = isBack || (verdict === 'fails') !== (found === 'fails') || (why !== null && why !== error);
      return isNews || clock.monotonic() - addedAt >= REPORT_EVERY;
    },
    /** Another database answers than before: what the last one knew of the site is read again. */
    forget: (): void => {
      condition = null;
      verdict = null;
      addedAt = Number.NEGATIVE_INFINITY;
    },
    /** Writes a report behind those that are being written, and logs what it changes. */
    add: (findings: SiteFindings, why: string | null): void => {
      const before = verdict;
      addedAt = clock.monotonic();
      verdict = findings.verdict;
      error = why;
      unwritten += 1;
      announce(findings);
      // Reports are written one after the other: an older one must not overtake a newer one on another connection.
      writing = writing.then(() => write({ site, replica, ...findings }, before));
    },
  };
}
