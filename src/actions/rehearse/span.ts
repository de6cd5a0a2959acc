/** The time that a rehearsal goes through, as people and programs give it. */

import { formatDuration } from '../../domain/values/duration.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { readMoment } from '../subscribers/moment.ts';
import type { Checked } from '../subscribers/rules.ts';

export interface RehearsedSpan {
  readonly from: Instant;
  readonly to: Instant;
}

/** Reads both ends; without `to` the time ends now. `longest`: no longer time is gone through. */
export function readSpan(
  given: { readonly from: string; readonly to: string | undefined },
  { now, longest = Number.POSITIVE_INFINITY }: { readonly now: Instant; readonly longest?: Milliseconds },
): RehearsedSpan | { readonly problems: readonly { readonly field: 'from' | 'to'; readonly problem: string }[] } {
  const from = past(readMoment(given.from, now), (at) => at < now || 'is in the future; give a time that was, such as 7d');
  const to: Checked<Instant> =
    given.to === undefined
      ? { is: now }
      : past(readMoment(given.to, now), (at) => at <= now || 'is still to come; only what was recorded can be gone through');
  if ('problem' in from || 'problem' in to) {
    const ends = { from, to };
    const fields = ['from', 'to'] as const;
    return { problems: fields.flatMap((field) => ('problem' in ends[field] ? [{ field, ...ends[field] }] : [])) };
  }
  const problem = spanProblem({ from: from.is, to: to.is }, { end: given.to ?? 'now', longest });
  return problem === null ? { from: from.is, to: to.is } : { problems: [{ field: 'from', problem }] };
}

function past(read: Checked<Instant>, problemOf: (at: Instant) => true | string): Checked<Instant> {
  if ('problem' in read) return read;
  const fits = problemOf(read.is);
  return fits === true ? read : { problem: fits };
}

function spanProblem({ from, to }: RehearsedSpan, { end, longest }: { end: string; longest: Milliseconds }): string | null {
  if (from >= to) return `must be before the end of the time, which is ${end.slice(0, 100)}`;
  if (to - from <= longest) return null;
  return `is more than ${formatDuration(longest)} before the end of the time; go through a shorter time, or use "purchase-watch rehearse"`;
}
