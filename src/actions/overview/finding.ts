/** Findings of checks, and how checks run: each has a deadline, and a check that fails is a finding too. */

import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { mayPass } from '../../postgres/address/database-url.ts';
import { delay, monotonic, wall } from '../../runtime/time.ts';

export interface Finding {
  /** The part that was checked, such as `database` or `site se`. */
  readonly about: string;
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** In a sentence, without secrets. */
  readonly found: string;
  /** Advice for the operator; null when there is nothing to do. */
  readonly todo: string | null;
  /** The finding in the list of needs. Programs that read findings are not shown this. */
  readonly brief?: Brief;
}

/** A trouble in three parts, none of which holds a clock time: each page and command shows times in a zone of its own. */
interface Brief {
  /** A sentence without its full stop. */
  readonly what: string;
  readonly since: Instant | null;
  /** A sentence without its full stop, or null. */
  readonly why: string | null;
}

/** Makes findings about one thing. */
export function reporterOf(about: string) {
  const wrong = (verdict: 'warning' | 'failed') => (found: string, todo: string, brief?: Brief) =>
    ({ about, verdict, found, todo, ...(brief && { brief }) }) satisfies Finding;
  return {
    ok: (found: string): Finding => ({ about, verdict: 'ok', found, todo: null }),
    warning: wrong('warning'),
    failed: wrong('failed'),
  };
}

export type Reporter = ReturnType<typeof reporterOf>;

/** A finding as the API and `doctor --json` show it. */
export function findingBody({ about, verdict, found, todo }: Finding) {
  return { about, verdict, found, todo };
}

/** Runs a check; whatever it does, findings come of it in time. */
export async function checked(
  about: string,
  within: Milliseconds,
  check: (report: Reporter) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const report = reporterOf(about);
  const over = new AbortController();
  const late = delay(within, null, { signal: over.signal }).catch(() => null);
  try {
    const found = await Promise.race([check(report), late]);
    const slow = `no answer within ${humanDuration(within)}`;
    return found ?? [report.failed(slow, 'see whether it is slow or hangs, and run doctor again')];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [report.failed(`could not be checked: ${why}`, todoAfter(error))];
  } finally {
    over.abort();
  }
}

function todoAfter(error: unknown): string {
  if (error instanceof AppError) return 'mend that, and run doctor again';
  return mayPass(error) ? 'see what is said of the database, and run doctor again' : 'this may be a fault of this program';
}

/** A difference of clocks in words: `0.3 s ahead`. */
export function offsetInWords(offset: Milliseconds): string {
  const size = Math.abs(offset);
  const text = size < 10_000 ? `${(size / 1_000).toFixed(1)} s` : humanDuration(Math.round(size / 1_000) * 1_000);
  return size < 50 ? 'the same' : `${text} ${offset > 0 ? 'ahead' : 'behind'}`;
}

/** The machine's clock at a moment that was read on the monotonic one. */
export function wallClockAt(readAt: Milliseconds): Instant {
  return wall() - (monotonic() - readAt);
}
