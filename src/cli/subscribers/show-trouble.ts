/** Says whom nothing reaches, or not everything, and what to do: one line each. */

import { MOST_FAILING, type Overview } from '../../actions/overview/overview.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { clause } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printable, printLine, styled } from '../terminal/output.ts';

/** Prints a line for each of them, or nothing. */
export function printTrouble(context: CliContext, { subscribers, failures, now }: Overview): void {
  const lines = subscribers.flatMap((each) => {
    const failed = failures.find(({ name }) => name === each.name);
    return waitAdvice(each, now) ?? (failed === undefined ? [] : failureText(failed, now));
  });
  if (lines.length > 0) printLine(context);
  for (const line of lines) printLine(context, styled(context, 'red', printable(line)));
}

function failureText({ name, failing, lastError, givenUpAt }: Overview['failures'][number], now: Overview['now']): string {
  const look = commandLine`deliveries --subscriber ${name}`;
  if (failing === 0)
    return `${name} did not take everything: the last delivery was given up ${relative(givenUpAt, now)}. See: ${look} --status exhausted`;
  const many = `${failing >= MOST_FAILING ? 'at least ' : ''}${counted(failing, 'delivery', 'deliveries')}`;
  const fails = failing === 1 ? 'fails and is tried again' : 'fail and are tried again';
  return `${name} does not take what it is sent: ${many} ${fails}; last: ${clause(lastError ?? 'no reason is known')}. See: ${look} --status pending`;
}
