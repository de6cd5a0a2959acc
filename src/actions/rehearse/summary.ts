/** The result of a rehearsal, in a sentence or two for people. */

import type { Comparison } from '../../domain/rehearsal/comparison.ts';
import { counted } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { type Milliseconds, SECOND } from '../../domain/values/time.ts';

/**
 * `With the changed setting there would have been 12 alerts instead of 8 in these 7 d, …`. `changes`: settings that differ from the
 * present ones; `length`: of the time gone through. `present` and `compared` are null where no others are tried.
 */
export function summaryOf({
  tried,
  present,
  compared,
  changes,
  length,
}: {
  readonly tried: { readonly messages: number; readonly incidents: number };
  readonly present: { readonly messages: number } | null;
  readonly compared: Comparison | null;
  readonly changes: number;
  readonly length: Milliseconds;
}): string {
  const time = `in these ${humanDuration(length)}`;
  const alerts = counted(tried.messages, 'alert');
  if (present === null || compared === null)
    return `With the present settings there would have been ${alerts} ${time}, and ${counted(tried.incidents, 'incident')} would have opened.`;
  const under =
    changes === 0 ? 'these settings' : changes === 1 ? 'the changed setting' : `the ${counted(changes, 'changed setting')}`;
  const count =
    tried.messages === present.messages
      ? `${alerts}, as many as with the present settings,`
      : `${alerts} instead of ${present.messages}`;
  return [`With ${under} there would have been ${count} ${time}${whenText(compared)}.`, ...foundText(compared)].join(' ');
}

/** By how much earlier or later people would have been alerted. */
function whenText({ both, earlierMs }: Comparison): string {
  if (earlierMs === null) return '';
  const which = both === 1 ? 'the incident that both find' : 'incidents that both find';
  const by = humanDuration(Math.round(Math.abs(earlierMs) / SECOND) * SECOND);
  const middle = both === 1 ? '' : ' (median)';
  return earlierMs === 0 ? `, ${which} at the same moment` : `, ${which} ${by} ${earlierMs > 0 ? 'earlier' : 'later'}${middle}`;
}

function foundText({ onlyTried, onlyPresent }: Comparison): string[] {
  const more = `${counted(onlyTried, 'incident')} would have been found that the present settings do not find.`;
  const fewer = `${counted(onlyPresent, 'incident')} of the present settings would not have been found.`;
  return [...(onlyTried === 0 ? [] : [more]), ...(onlyPresent === 0 ? [] : [fewer])];
}
