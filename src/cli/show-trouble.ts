/** Says whom nothing reaches, and what to do: one line each. */

import { untilText } from '../core/explain-standing.ts';
import type { Instant } from '../core/purchase.ts';
import { afterFailures } from '../core/standing.ts';
import { MOST_FAILING, MOST_PARKED, type TroubledSubscriber } from '../store/subscriber-trouble.ts';
import type { CliContext } from './context.ts';
import { counted, printable, printLine, styled } from './output.ts';
import { relative } from './times.ts';

/** Prints a line for each of them, or nothing. */
export function printTrouble(context: CliContext, troubled: readonly TroubledSubscriber[], now: Instant): void {
  if (troubled.length > 0) printLine(context);
  for (const each of troubled) printLine(context, styled(context, 'red', printable(said(each, now))));
}

function said(trouble: TroubledSubscriber, now: Instant): string {
  const { name, offBecause, failing, lastError, givenUpAt, pausedUntil } = trouble;
  const look = `purchase-watch deliveries --subscriber ${name}`;
  if (offBecause !== null) {
    const remedy =
      // Slack's own, which only another address helps.
      !name.startsWith('@')
        ? `purchase-watch subscribers change ${name} --status active`
        : 'give it another address in the settings';
    return `${name} is off: ${offBecause}${parkedText(trouble)} Switch it on: ${remedy}`;
  }
  if (pausedUntil !== null) return pausedText({ ...trouble, pausedUntil }, now);
  if (failing > 0) {
    const many =
      failing >= MOST_FAILING
        ? `at least ${counted(failing, 'delivery', 'deliveries')}`
        : counted(failing, 'delivery', 'deliveries');
    const fails = failing === 1 ? 'fails and is tried again' : 'fail and are tried again';
    return `${name} does not take what it is sent: ${many} ${fails}; last: ${lastError ?? 'no reason is known.'} See: ${look} --status pending`;
  }
  return `${name} did not take everything: the last delivery was given up ${relative(givenUpAt, now)}. See: ${look} --status exhausted`;
}

function pausedText({ pausedUntil, ...trouble }: TroubledSubscriber & { readonly pausedUntil: Instant }, now: Instant): string {
  const { name, failures, lastError } = trouble;
  const until =
    pausedUntil > now ? `until ${untilText(pausedUntil, now)}` : 'until the one delivery that is tried now gets through';
  const why = `${afterFailures(failures)}: ${lastError ?? 'no reason is known.'}`;
  return `${name} is paused ${until} ${why}${parkedText(trouble)} Mended? End the pause: purchase-watch subscribers resume ${name}`;
}

/** What waits for one that is not told, as a sentence. */
function parkedText({ parked }: Pick<TroubledSubscriber, 'parked'>): string {
  if (parked === 0) return '';
  const many = `${parked < MOST_PARKED ? '' : 'At least '}${counted(parked, 'delivery is parked and goes', 'deliveries are parked and go')}`;
  return ` ${many} out in order afterwards.`;
}
