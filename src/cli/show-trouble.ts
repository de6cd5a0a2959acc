/** Says whom nothing reaches, and what to do: one line each. */
import type { Instant } from '../core/purchase.ts';
import { MOST_FAILING, type TroubledSubscriber } from '../store/subscriber-trouble.ts';
import type { CliContext } from './context.ts';
import { counted, printable, printLine, styled } from './output.ts';
import { relative } from './times.ts';

/** Prints a line for each of them, or nothing. */
export function printTrouble(context: CliContext, troubled: readonly TroubledSubscriber[], now: Instant): void {
  if (troubled.length > 0) printLine(context);
  for (const each of troubled) printLine(context, styled(context, 'red', printable(said(each, now))));
}

function said({ name, origin, offBecause, failing, lastError, givenUpAt }: TroubledSubscriber, now: Instant): string {
  const look = `purchase-watch deliveries --subscriber ${name}`;
  if (offBecause !== null) {
    const remedy =
      origin === 'api'
        ? `purchase-watch subscribers change ${name} --status active`
        : 'give it another address or secret in the settings';
    return `${name} is off: ${offBecause} Switch it on: ${remedy}`;
  }
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
