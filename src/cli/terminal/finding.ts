/** How a check's finding is shown. */
import type { Finding, Verdict } from '../../actions/doctor/finding.ts';
import type { CliContext } from './context.ts';
import { printable, printLine, styled } from './output.ts';

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red' } as const satisfies Record<Verdict, string>;
const VERDICT_WIDTH = 7;

/** Writes what was found, and what to do about it. */
export function printFinding(context: CliContext, { about, verdict, found, todo }: Finding): void {
  printLine(context, `${styled(context, COLOURS[verdict], verdict.padEnd(VERDICT_WIDTH))}  ${about}: ${printable(found)}`);
  if (todo !== null) printLine(context, `${' '.repeat(VERDICT_WIDTH)}  → ${printable(todo)}`);
}
