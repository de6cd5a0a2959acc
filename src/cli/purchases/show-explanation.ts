/** Shows an explanation: the sentence that matters first, then what happened, how things stand and what comes. */

import type { Explanation } from '../../domain/explain/explain.ts';
import type { ExplanationStep } from '../../domain/explain/step.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { wrapToWidth } from '../../domain/values/text-width.ts';
import { DAY, type Instant, isoTime } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { lineWidth, printable, printFacts, printLine, printText, styled } from '../terminal/output.ts';

/** Prints it. */
export function printExplanation(context: CliContext, explanation: Explanation): void {
  printHead(context, explanation);
  printLine(context);
  const { matters, verdict } = explanation;
  if (matters.length === 0) printText(context, verdict, { style: 'green' });
  // Here is room for all of them, a line each.
  for (const { text } of matters) printText(context, text, { style: 'red' });
  printSteps(context, HISTORY, explanation.steps, explanation.now);
  printSteps(context, 'How things stand', explanation.standing, explanation.now);
  printSteps(context, 'What comes', explanation.next, explanation.now);
}

function printHead(context: CliContext, { purchase, now }: Explanation): void {
  const { purchaseId, site, status, state, stateSince, reference } = purchase;
  const seen = state === null ? 'not seen yet' : `${stateBoth(state)}, seen first ${relative(stateSince, now)}`;
  printFacts(context, [
    ['purchase', purchaseId],
    ['site', site],
    ['status', status],
    ['state', seen],
    ['reference', reference],
  ]);
}

const HISTORY = 'What happened';
/** With less room beside the times, the terminal breaks the lines. */
const LEAST_ROOM = 20;
/** Steps that follow from the one before, and stand under it. */
const FOLLOWING: Readonly<Partial<Record<ExplanationStep['kind'], string>>> = { delivery: '  ', attempt: '    ' };

function printSteps(context: CliContext, title: string, steps: readonly ExplanationStep[], now: Instant): void {
  printLine(context);
  printLine(context, styled(context, 'bold', title));
  const ago = steps.map(({ at }) => (at === null ? '' : relative(at, now)));
  // Where everything is of the last day, the date says nothing.
  const isRecent = steps.every(({ at }) => at === null || Math.abs(at - now) < DAY / 2);
  const time = (at: Instant | null): string =>
    at === null ? '' : isRecent ? `${isoTime(at).slice(11, 19)}Z` : `${isoTime(at).slice(0, 19).replace('T', ' ')}Z`;
  const width = Math.max(...ago.map((text) => text.length));
  const column = isRecent ? 'HH:MM:SSZ'.length : 'YYYY-MM-DD HH:MM:SSZ'.length;
  const timed = steps.some(({ at }) => at !== null);
  steps.forEach((step, index) => {
    const when = timed ? `${time(step.at).padEnd(column)}  ${ago[index]!.padEnd(width)}  ` : '';
    const indent = title === HISTORY ? (FOLLOWING[step.kind] ?? '') : '';
    const number = step.kind === 'transition' || step.kind === 'event' || step.kind === 'stuck' ? `${step.sequence}. ` : '';
    const before = `  ${styled(context, 'gray', when)}${indent}`;
    const room = Math.max(lineWidth(context) - 2 - when.length - indent.length, LEAST_ROOM);
    for (const [at, text] of wrapToWidth(printable(`${number}${step.text}`), room).entries())
      printLine(
        context,
        `${at === 0 ? before : ' '.repeat(2 + when.length + indent.length)}${step.wrong ? styled(context, 'yellow', text) : text}`,
      );
  });
}
