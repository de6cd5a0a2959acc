/** `replay`: sends a subscriber what it missed. */
import type { Command } from 'commander';
import { AppError } from '../core/errors.ts';
import { examples } from './arguments.ts';
import type { CliContext } from './context.ts';
import { withDatabase } from './database.ts';
import { counted, printJson, printLine } from './output.ts';

interface ReplayOptions {
  readonly subscriber: string;
  readonly since: string;
  readonly until?: string;
  readonly types?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

async function run(context: CliContext, options: ReplayOptions): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const [
      { replay, replayedBody },
      { readMoment },
      { offAdvice, requireSubscriber },
      { checked, typesOption },
      { databaseNow },
    ] = await Promise.all([
      import('../subscription/replay.ts'),
      import('../subscription/moment.ts'),
      import('../subscription/subscribers.ts'),
      import('./subscriber-options.ts'),
      import('../store/overview.ts'),
    ]);
    const now = await databaseNow(sql);
    const since = checked('--since', readMoment(options.since, now));
    const until = options.until === undefined ? Number.POSITIVE_INFINITY : checked('--until', readMoment(options.until, now));
    if (since > until) throw new AppError('invalid', '--since: is later than --until');
    const types = typesOption(options.types) ?? null;
    const subscriber = await requireSubscriber(sql, options.subscriber);
    const { id, name } = subscriber;
    const dryRun = options.dryRun === true;
    const onProgress = (count: number): void => {
      if (context.isTTY && !options.json) context.stderr.write(`\r${counted(count, 'event')} so far`);
    };
    const replayed = await replay(sql, { subscriber: id, since, until, types }, { dryRun, onProgress });
    if (context.isTTY && !options.json) context.stderr.write('\r\u001b[K');
    const body = replayedBody(replayed, { dryRun, off: offAdvice(subscriber) });
    if (options.json) return printJson(context, body);
    if (body.count === 0) return void printLine(context, `there is nothing in that time that ${name} wants`);
    const range = `from ${body.oldest} to ${body.newest}`;
    const done = body.note === undefined ? 'sent again by the running daemon to' : 'scheduled for';
    printLine(context, `${counted(body.count, 'event')} ${range} ${dryRun ? 'would be sent again to' : done} ${name}`);
    if (body.note !== undefined) printLine(context, body.note);
  });
}

/** Declares the command. */
export function register(program: Command, context: CliContext): void {
  const command = program
    .command('replay')
    .summary('send a subscriber past events again')
    .description(
      "Sends every event of a time that the subscriber's filters let through again, with its own id and bytes and in the order of each purchase; those made before it was added too.",
    )
    .requiredOption('--subscriber <name>', 'to whom')
    .requiredOption('--since <moment>', 'from when: a duration back such as 2h, or a time with its zone')
    .option('--until <moment>', 'up to when; now unless told')
    .option('--types <list>', 'only these types of events, separated by commas')
    .option('--dry-run', 'only count')
    .option('--json', 'write JSON')
    .action((options: ReplayOptions) => run(context, options));
  examples(command, [
    ['replay --subscriber shop --since 2h --dry-run', 'how many would it be?'],
    ['replay --subscriber shop --since 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z', 'that hour'],
  ]);
}
