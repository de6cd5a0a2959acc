/** Sending past events again: what `replay` and `deliveries retry --subscriber` share. */
import type { Sql } from '../../actions/database.ts';
import { type replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { requireSubscriber, type StoredSubscriber } from '../../actions/subscribers/subscribers.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from '../terminal/context.ts';
import { missingDaemon } from '../terminal/database.ts';
import { printLine } from '../terminal/output.ts';

/** The subscriber of this name, if past events can be sent to it; throws AppError `invalid`. */
export async function requireReplayable(sql: Sql, name: string): Promise<StoredSubscriber> {
  const subscriber = await requireSubscriber(sql, name);
  const refusal = whyNoReplay(subscriber);
  if (refusal !== null) throw new AppError('invalid', `--subscriber: ${refusal}`);
  return subscriber;
}

/** Writes when all deliveries will have arrived, why they wait, and whether a daemon sends them. */
export async function printOutlook(
  context: CliContext,
  sql: Sql,
  { dryRun, expectedDrain, note }: Pick<Awaited<ReturnType<typeof replayedBody>>, 'dryRun' | 'expectedDrain' | 'note'>,
): Promise<void> {
  if (expectedDrain !== undefined) printLine(context, `until all have arrived: ${expectedDrain.text}`);
  if (note !== undefined) return printLine(context, note);
  if (dryRun) return;
  const missing = await missingDaemon(sql);
  printLine(context, missing === null ? 'The running daemon sends them now.' : `They wait: ${missing}.`);
}
