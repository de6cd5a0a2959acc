/** `deliveries retry --subscriber`: everything that one was not told. */

import { retryGivenUp } from '../../actions/subscribers/given-up.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { drainOf, replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import type { NotTold } from '../../domain/deliveries/delivery-status.ts';
import { AppError } from '../../domain/values/errors.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { confirmed } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { livingDaemons, NO_DAEMON, withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';

export interface RetryAllOptions {
  readonly subscriber: string;
  readonly status?: NotTold;
  readonly dryRun?: boolean;
  readonly yes?: true;
  readonly json?: true;
}

/** Counts them, asks, and has them sent again. */
export async function retryAll(
  context: CliContext,
  { subscriber: name, status = 'exhausted', dryRun = false, yes, json }: RetryAllOptions,
): Promise<void> {
  await withDatabase(context, async ({ sql, settings }) => {
    const subscriber = await requireSubscriber(sql, name);
    const refusal = whyNoReplay(subscriber);
    if (refusal !== null) throw new AppError('invalid', `--subscriber: ${refusal}`);
    const which = { subscriber: subscriber.id, status };
    const found = await retryGivenUp(sql, which, { dryRun: true });
    const these = `${counted(found.count, `${status} delivery`, `${status} deliveries`)} of ${name}`;
    if (found.count > 0 && !dryRun && !yes) {
      const question = `${these} will be sent again, after all that is new. Go on?`;
      const otherwise = `${these} would be sent again: say --yes to do it, or --dry-run to see more`;
      if (!(await confirmed(context, { question, otherwise, forPrograms: json === true }))) {
        throw new AppError('conflict', 'nothing was sent again');
      }
    }
    const retried = dryRun || found.count === 0 ? found : await retryGivenUp(sql, which, { dryRun: false });
    const { concurrency } = settings.webhooks;
    const drain = dryRun ? await drainOf(sql, retried, { subscriber: subscriber.id, concurrency }) : null;
    const advice = waitAdvice(subscriber, await databaseNow(sql));
    const { waiting: _, ...body } = replayedBody(retried, { dryRun, advice, drain });
    if (json) return printJson(context, body);
    const { count, oldest, newest, expectedDrain, note } = body;
    if (count === 0) return void printLine(context, `${name} has no ${status} deliveries`);
    const done = dryRun ? 'would be sent again' : 'scheduled, after all that is new';
    printLine(
      context,
      `${counted(count, `${status} delivery`, `${status} deliveries`)} of ${name}, from ${oldest} to ${newest}: ${done}`,
    );
    if (expectedDrain !== undefined) printLine(context, `until all have arrived: ${expectedDrain.text}`);
    if (note !== undefined) return void printLine(context, note);
    if (dryRun) return;
    const isRunning = (await livingDaemons(sql)).length > 0;
    printLine(context, isRunning ? 'The running daemon sends them now.' : `They wait: ${NO_DAEMON}.`);
  });
}
