/** `replay`: sends a subscriber what it missed. */
import { databaseNow } from '../../actions/database.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { replay, replayedBody } from '../../actions/subscribers/replay.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printOutlook, requireReplayable } from './resend.ts';
import { checked, typesOption } from './subscriber-options.ts';

export const register = onDatabase(
  {
    description:
      'Sends a subscriber all events of a past time that its filters let through, with the same ids and bytes, in the order of each purchase, also from before the subscriber was added. New events go first. Pending deliveries are not sent twice.',
    options: [
      ['--subscriber <name>', 'to whom', { isNeeded: true }],
      ['--since <moment>', 'from when: a duration back such as 2h, or a time with its zone', { isNeeded: true }],
      ['--until <moment>', 'up to when; by default now'],
      ['--types <list>', 'only these types of events, separated by commas'],
      ['--dry-run', 'only count, and say how long it would take'],
      JSON_OPTION,
    ],
    examples: [
      ['replay --subscriber shop --since 2h --dry-run', 'how many would it be, and for how long?'],
      ['replay --subscriber shop --since 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z', 'that hour'],
    ],
  },
  async (context, { subscriber: name, since, until, types, dryRun, json }, { sql, settings }) => {
    const time = timeOf({ since, until }, await databaseNow(sql));
    const wanted = typesOption(types) ?? null;
    const subscriber = await requireReplayable(sql, name);
    const showsProgress = context.isTTY && !json && !context.isQuiet;
    const onProgress = (count: number): void => {
      if (showsProgress) context.stderr.write(`\r${counted(count, 'event')} so far`);
    };
    const replayed = await replay(sql, { subscriber: subscriber.id, ...time, types: wanted }, { dryRun, onProgress });
    if (showsProgress) context.stderr.write('\r\u001b[K');
    if (!dryRun) await recordCommand(sql, 'replay', { id: subscriber.name, count: replayed.count });
    const body = await replayedBody(sql, replayed, { subscriber, dryRun, concurrency: settings.webhooks.concurrency });
    if (json) return printJson(context, body);
    printReplayed(context, subscriber.name, body);
    if (body.count > 0) await printOutlook(context, sql, body);
  },
);

function timeOf({ since: from, until: to }: { since: string; until: string | undefined }, now: Instant) {
  const since = checked('--since', readMoment(from, now));
  const until = to === undefined ? Number.POSITIVE_INFINITY : checked('--until', readMoment(to, now));
  if (since > until) throw new AppError('invalid', '--since: is later than --until');
  return { since, until };
}

function printReplayed(context: CliContext, name: string, body: Awaited<ReturnType<typeof replayedBody>>): void {
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
