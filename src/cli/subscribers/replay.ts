/** `replay`: sends a subscriber what it missed. */

import type { Command } from 'commander';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { drainOf, replay, replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { AppError } from '../../domain/values/errors.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { livingDaemons, NO_DAEMON, withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { checked, typesOption } from './subscriber-options.ts';

interface ReplayOptions {
  readonly subscriber: string;
  readonly since: string;
  readonly until?: string;
  readonly types?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

async function run(context: CliContext, options: ReplayOptions): Promise<void> {
  await withDatabase(context, async ({ sql, settings }) => {
    const now = await databaseNow(sql);
    const since = checked('--since', readMoment(options.since, now));
    const until = options.until === undefined ? Number.POSITIVE_INFINITY : checked('--until', readMoment(options.until, now));
    if (since > until) throw new AppError('invalid', '--since: is later than --until');
    const types = typesOption(options.types) ?? null;
    const subscriber = await requireSubscriber(sql, options.subscriber);
    const { id, name } = subscriber;
    const refusal = whyNoReplay(subscriber);
    if (refusal !== null) throw new AppError('invalid', `--subscriber: ${refusal}`);
    const dryRun = options.dryRun === true;
    const onProgress = (count: number): void => {
      if (context.isTTY && !options.json) context.stderr.write(`\r${counted(count, 'event')} so far`);
    };
    const replayed = await replay(sql, { subscriber: id, since, until, types }, { dryRun, onProgress });
    if (context.isTTY && !options.json) context.stderr.write('\r\u001b[K');
    const { concurrency } = settings.webhooks;
    const drain = dryRun ? await drainOf(sql, replayed, { subscriber: id, concurrency }) : null;
    const body = replayedBody(replayed, { dryRun, advice: waitAdvice(subscriber, now), drain });
    if (options.json) return printJson(context, body);
    const { count, waiting, oldest, newest, expectedDrain, note } = body;
    const alone = `${counted(waiting, 'event')} of that time ${waiting === 1 ? 'waits' : 'wait'} to be sent to ${name} in any case`;
    if (count === 0) {
      return void printLine(
        context,
        waiting > 0 ? `${alone}; there is nothing else` : `there is nothing in that time that ${name} wants`,
      );
    }
    printLine(
      context,
      `${counted(count, 'event')} from ${oldest} to ${newest} ${dryRun ? 'would be sent again to' : 'scheduled for'} ${name}`,
    );
    if (waiting > 0) printLine(context, `${alone}, and ${waiting === 1 ? 'is' : 'are'} left alone`);
    if (expectedDrain !== undefined) printLine(context, `until all have arrived: ${expectedDrain.text}`);
    if (note !== undefined) return void printLine(context, note);
    if (dryRun) return;
    const isRunning = (await livingDaemons(sql)).length > 0;
    printLine(context, isRunning ? 'The running daemon sends them now.' : `They wait: ${NO_DAEMON}.`);
  });
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      "Sends every event of a time that the subscriber's filters let through again, with its own id and bytes and in the order of each purchase; those made before it was added too. They go after all that is new, and what waits for its first or its next try is left alone.",
    )
    .requiredOption('--subscriber <name>', 'to whom')
    .requiredOption('--since <moment>', 'from when: a duration back such as 2h, or a time with its zone')
    .option('--until <moment>', 'up to when; now unless told')
    .option('--types <list>', 'only these types of events, separated by commas')
    .option('--dry-run', 'only count, and say how long it would take')
    .option('--json', 'write JSON')
    .action((options: ReplayOptions) => run(context, options));
  examples(command, [
    ['replay --subscriber shop --since 2h --dry-run', 'how many would it be, and for how long?'],
    ['replay --subscriber shop --since 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z', 'that hour'],
  ]);
}
