/** `replay`: sends a subscriber what it missed. */
import type { Command } from 'commander';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { replay, type replayedBody } from '../../actions/subscribers/replay.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printOutlook, requireReplayable, resendBody } from './resend.ts';
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
  await withDatabase(context, async (database) => {
    const { sql } = database;
    const time = timeOf(options, await databaseNow(sql));
    const types = typesOption(options.types) ?? null;
    const subscriber = await requireReplayable(sql, options.subscriber);
    const dryRun = options.dryRun === true;
    const showsProgress = context.isTTY && !options.json && !context.isQuiet;
    const onProgress = (count: number): void => {
      if (showsProgress) context.stderr.write(`\r${counted(count, 'event')} so far`);
    };
    const replayed = await replay(sql, { subscriber: subscriber.id, ...time, types }, { dryRun, onProgress });
    if (showsProgress) context.stderr.write('\r\u001b[K');
    if (!dryRun) await recordCommand(sql, 'replay', { id: subscriber.name, count: replayed.count });
    const body = await resendBody(database, replayed, { subscriber, dryRun });
    if (options.json) return printJson(context, body);
    printReplayed(context, subscriber.name, body);
    if (body.count > 0) await printOutlook(context, sql, body);
  });
}

function timeOf({ since: from, until: to }: ReplayOptions, now: Instant): { since: Instant; until: Instant } {
  const since = checked('--since', readMoment(from, now));
  const until = to === undefined ? Number.POSITIVE_INFINITY : checked('--until', readMoment(to, now));
  if (since > until) throw new AppError('invalid', '--since: is later than --until');
  return { since, until };
}

function printReplayed(context: CliContext, name: string, body: ReturnType<typeof replayedBody>): void {
  const { count, waiting, oldest, newest, dryRun } = body;
  const alone = `${counted(waiting, 'event')} of that time ${waiting === 1 ? 'waits' : 'wait'} to be sent to ${name} in any case`;
  if (count === 0) {
    printLine(context, waiting > 0 ? `${alone}; there is nothing else` : `there is nothing in that time that ${name} wants`);
    return;
  }
  const done = dryRun ? 'would be sent again to' : 'scheduled for';
  printLine(context, `${counted(count, 'event')} from ${oldest} to ${newest} ${done} ${name}`);
  if (waiting > 0) printLine(context, `${alone}, and ${waiting === 1 ? 'is' : 'are'} left alone`);
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Sends a subscriber all events of a past time that its filters let through, with the same ids and bytes, in the order of each purchase, also from before the subscriber was added. New events go first. Pending deliveries are not sent twice.',
    )
    .requiredOption('--subscriber <name>', 'to whom')
    .requiredOption('--since <moment>', 'from when: a duration back such as 2h, or a time with its zone')
    .option('--until <moment>', 'up to when; by default now')
    .option('--types <list>', 'only these types of events, separated by commas')
    .option('--dry-run', 'only count, and say how long it would take')
    .option('--json', 'write JSON')
    .action((options: ReplayOptions) => run(context, options));
  examples(command, [
    ['replay --subscriber shop --since 2h --dry-run', 'how many would it be, and for how long?'],
    ['replay --subscriber shop --since 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z', 'that hour'],
  ]);
}
