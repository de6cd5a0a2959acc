/** Shows the purchases of which no answer could be used or recorded for some time. */

import type { UnreadablePurchase } from '../../actions/overview/overview.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { printLine, printText } from '../terminal/output.ts';

/** One paragraph each; nothing when there is none. */
export function printUnreadable(context: CliContext, purchases: readonly UnreadablePurchase[], now: Instant): void {
  if (purchases.length > 0) printLine(context);
  for (const { site, purchaseId, since, lastError } of purchases) {
    const long = humanDuration(Math.max(now - since, 0));
    printText(context, `${purchaseId} at ${site} could not be read for ${long}: ${lastError ?? 'see purchase-watch why'}`, {
      style: 'red',
    });
  }
}
