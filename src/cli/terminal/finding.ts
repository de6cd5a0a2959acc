/** How a check's finding is shown. */
import type { Finding } from '../../actions/overview/finding.ts';
import { wrapToWidth } from '../../domain/values/text-width.ts';
import type { CliContext } from './context.ts';
import { lineWidth, printable, printLine, styled } from './output.ts';

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red' } as const satisfies Record<Finding['verdict'], string>;
const VERDICT_WIDTH = 7;

/** Writes what was found, and what to do about it. */
export function printFinding(context: CliContext, { about, verdict, found, todo }: Finding): void {
  const room = lineWidth(context) - VERDICT_WIDTH - 2;
  const lines = wrapToWidth(printable(`${about}: ${found}`), room);
  const remedy = todo === null ? [] : wrapToWidth(printable(todo), room - 2).map((line, at) => `${at === 0 ? '→' : ' '} ${line}`);
  const word = (at: number): string =>
    at === 0 ? styled(context, COLOURS[verdict], verdict.padEnd(VERDICT_WIDTH)) : ' '.repeat(VERDICT_WIDTH);
  for (const [at, line] of [...lines, ...remedy].entries()) printLine(context, `${word(at)}  ${line}`);
}
