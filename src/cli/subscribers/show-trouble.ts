/** Says whom nothing reaches, and what to do: one line each. */

import { MOST_FAILING, type TroubledSubscriber } from '../../actions/overview/overview.ts';
import { MOST_WAITING } from '../../actions/subscribers/waiting.ts';
import { afterFailures, isAskedFor } from '../../domain/deliveries/subscriber-state.ts';
import { untilText } from '../../domain/explain/standing.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printable, printLine, styled } from '../terminal/output.ts';

/** Prints a line for each of them, or nothing. */
export function printTrouble(context: CliContext, troubled: readonly TroubledSubscriber[], now: Instant): void {
  if (troubled.length > 0) printLine(context);
  for (const each of troubled) printLine(context, styled(context, 'red', printable(troubleLine(each, now))));
}

function troubleLine(trouble: TroubledSubscriber, now: Instant): string {
  const { name, offBecause, failing, lastError, givenUpAt, pausedUntil, ourFailingSince, ourError, untried, parked } = trouble;
  const look = commandLine`deliveries --subscriber ${name}`;
  if (offBecause !== null) {
    const remedy =
      // Of a channel for people, which only another address helps.
      !name.startsWith('@') ? commandLine`subscribers change ${name} --status active` : 'give it another address in the settings';
    return `${name} is off: ${sentence(offBecause)}${parkedText(trouble)} Switch it on: ${remedy}`;
  }
  if (pausedUntil !== null) return pausedText({ ...trouble, pausedUntil }, now);
  if (ourFailingSince !== null) {
    const long = humanDuration(Math.max(Math.round(now - ourFailingSince), 0));
    const many = `${parked < MOST_WAITING ? '' : 'at least '}${counted(parked, 'delivery waits', 'deliveries wait')}`;
    if (untried)
      return `${name} is sent nothing for ${long}: ${sentence(ourError ?? 'no reason is known')} ${many}. Restart every daemon with the settings that it was added under; see: purchase-watch doctor`;
    return `${name} is not reached for ${long}, for a reason on this side: ${sentence(ourError ?? 'no reason is known')} ${many}. Mended? Try at once: ${commandLine`subscribers resume ${name}`}`;
  }
  if (failing > 0) {
    const many =
      failing >= MOST_FAILING
        ? `at least ${counted(failing, 'delivery', 'deliveries')}`
        : counted(failing, 'delivery', 'deliveries');
    const fails = failing === 1 ? 'fails and is tried again' : 'fail and are tried again';
    return `${name} does not take what it is sent: ${many} ${fails}; last: ${sentence(lastError ?? 'no reason is known')} See: ${look} --status pending`;
  }
  return `${name} did not take everything: the last delivery was given up ${relative(givenUpAt, now)}. See: ${look} --status exhausted`;
}

function pausedText({ pausedUntil, ...trouble }: TroubledSubscriber & { readonly pausedUntil: Instant }, now: Instant): string {
  const { name, failures, lastError } = trouble;
  const until =
    pausedUntil > now ? `until ${untilText(pausedUntil, now)}` : 'until the one delivery that is tried now gets through';
  const why = `${afterFailures(failures)}: ${sentence(lastError ?? 'no reason is known')}`;
  const remedy = isAskedFor({ failures, pausedUntil })
    ? 'It goes on by itself.'
    : `Mended? End the pause: ${commandLine`subscribers resume ${name}`}`;
  return `${name} is paused ${until} ${why}${parkedText(trouble)} ${remedy}`;
}

/** With a full stop, which a reason from elsewhere may lack. */
function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** How many deliveries wait for a subscriber that gets none, as a sentence. */
function parkedText({ parked }: Pick<TroubledSubscriber, 'parked'>): string {
  if (parked === 0) return '';
  const many = `${parked < MOST_WAITING ? '' : 'At least '}${counted(parked, 'delivery is parked and goes', 'deliveries are parked and go')}`;
  return ` ${many} out in order afterwards.`;
}
