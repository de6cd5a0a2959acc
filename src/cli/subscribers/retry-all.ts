/** `deliveries retry --subscriber`: all deliveries that did not reach the subscriber. */

import { retryGivenUp } from '../../actions/subscribers/given-up.ts';
import { replayedBody } from '../../actions/subscribers/replay.ts';
import type { Undelivered } from '../../domain/deliveries/delivery-status.ts';
import { confirm } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printOutlook, requireReplayable } from './resend.ts';

/** Counts them, asks, and has them sent again. */
export async function retryAll(
  context: CliContext,
  name: string,
  { status = 'exhausted', dryRun, yes, json }: { status: Undelivered | undefined; dryRun: boolean; yes: boolean; json: boolean },
): Promise<void> {
  await withDatabase(context, async ({ sql, settings }) => {
    const subscriber = await requireReplayable(sql, name);
    const which = { subscriber: subscriber.id, status };
    const theseOf = (count: number): string => `${counted(count, `${status} delivery`, `${status} deliveries`)} of ${name}`;
    const found = await retryGivenUp(sql, which, { dryRun: true });
    const isDone = dryRun || found.count === 0;
    const these = theseOf(found.count);
    if (!isDone && !yes)
      await confirm(context, {
        question: `${these} will be sent again, after all that is new. Go on?`,
        otherwise: `${these} would be sent again: say --yes to do it, or --dry-run to see more`,
        refused: 'nothing was sent again',
        json,
      });
    const retried = isDone ? found : await retryGivenUp(sql, which, { dryRun: false });
    if (!isDone) await recordCommand(sql, 'deliveries retry', { id: name, count: retried.count });
    const { waiting: _, ...body } = await replayedBody(sql, retried, {
      subscriber,
      dryRun,
      concurrency: settings.webhooks.concurrency,
    });
    if (json) return printJson(context, body);
    const { count, oldest, newest } = body;
    if (count === 0) return void printLine(context, `${name} has no ${status} deliveries`);
    const done = dryRun ? 'would be sent again' : 'scheduled, after all that is new';
    printLine(context, `${theseOf(count)}, from ${oldest} to ${newest}: ${done}`);
    await printOutlook(context, sql, body);
  });
}
