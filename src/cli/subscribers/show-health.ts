/** Says how a subscriber is: in a word or two for tables, in full elsewhere. */

import type { healthBody } from '../../actions/subscribers/body.ts';
import { afterFailures } from '../../domain/deliveries/subscriber-state.ts';
import type { CliContext } from '../terminal/context.ts';
import { printable, printLine } from '../terminal/output.ts';

interface Shown {
  readonly status: string;
  readonly statusReason: string | null;
  readonly health: ReturnType<typeof healthBody>;
}

/** `active`, `off`, or `paused until 2026-11-20T15:36:40Z`. */
export function statusWord({ status, health }: Pick<Shown, 'status' | 'health'>): string {
  if (health.status === 'off' || health.status === 'ok') return status;
  return health.pausedUntil === null ? health.status : `${health.status} until ${health.pausedUntil.slice(0, 19)}Z`;
}

/** The status with its reason: `off: …`, or `paused until … after 6 failures in a row: …`. */
export function statusText(shown: Shown): string {
  const reason = reasonText(shown);
  return reason === null ? statusWord(shown) : `${statusWord(shown)}${reason}`;
}

function reasonText({ statusReason, health }: Shown): string | null {
  if (health.status === 'off' || health.status === 'ok') return statusReason === null ? null : `: ${statusReason}`;
  if (health.status === 'unreached') {
    const ours = `, for a reason on this side since ${health.ourFailingSince?.slice(0, 19)}Z`;
    return health.ourError === null ? ours : `${ours}: ${health.ourError}`;
  }
  return ` ${afterFailures(health.failures)}${health.lastError === null ? '' : `: ${health.lastError}`}`;
}

/** Below a table: why each subscriber is as it is that does not simply get its events. A sentence in a column would wrap every row. */
export function printReasons(context: CliContext, all: readonly (Shown & { readonly name: string })[]): void {
  const lines = all.filter((each) => reasonText(each) !== null).map((each) => `${each.name} is ${statusText(each)}`);
  if (lines.length > 0) printLine(context);
  for (const line of lines) printLine(context, printable(line));
}
