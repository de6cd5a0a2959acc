/** `silences`: times in which people want no alerts about some incidents. */

import { type Command, Option } from 'commander';
import { silenceBody, silenceName } from '../../actions/incidents/body.ts';
import { INCIDENT_KINDS } from '../../actions/incidents/rules.ts';
import { lift, requireSilence, silence } from '../../actions/incidents/silences.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { policyOf } from '../../domain/polling/poll-plan.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { listSilences } from '../../postgres/incidents/silences.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { durationArgument, examples, limitOption, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';
import { BY } from './care-options.ts';
import { type SilenceOptions, silenceOf } from './silence-options.ts';
import { matterOf, spanOf } from './silence-words.ts';

interface JsonOption {
  readonly json?: true;
}
interface ListOptions extends JsonOption {
  readonly all?: true;
  readonly limit: number;
  readonly cursor?: number;
}

async function list(context: CliContext, { all, limit, cursor, json }: ListOptions): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const rows = await listSilences(sql, { status: all ? 'all' : 'current', before: cursor ?? null, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? silenceName(page.at(-1)!.id) : null;
    const now = await databaseNow(sql);
    if (json) return printJson(context, { data: page.map((row) => silenceBody(row, now)), nextCursor: next });
    if (page.length === 0)
      return void printLine(
        context,
        all ? 'No silences.' : 'No silence holds or is to come. Those that are over: purchase-watch silences --all',
      );
    printTable(
      context,
      ['silence', 'status', 'about', 'when', 'by', 'reason'],
      page.map((row) => [silenceName(row.id), silenceBody(row, now).status, matterOf(row), spanOf(row, now), row.by, row.reason]),
    );
    if (next !== null) printLine(context, `\nThere are more: --cursor ${next}`);
  });
}

async function add(context: CliContext, { json, ...options }: SilenceOptions & JsonOption): Promise<void> {
  await withDatabase(
    context,
    async ({ sql, settings }) => {
      const now = await databaseNow(sql);
      const row = await silence(sql, await silenceOf(context, sql, options, now), now);
      await recordCommand(sql, 'silences add', { id: silenceName(row.id) });
      const after = await databaseNow(sql);
      if (json) return printJson(context, silenceBody(row, after));
      const { state } = row;
      const isIdle = state !== null && policyOf(settings.policy, state).final;
      const warning = isIdle
        ? `. No purchase is ever stuck ${statePlace(state)}, because that state is final: did you mean another state?`
        : '';
      printLine(context, `${silenceName(row.id)}: ${matterOf(row)}, ${spanOf(row, after)}${warning}`);
      printLine(
        context,
        `People are alerted of what is still wrong then. End it before its time: ${commandLine`silences end ${silenceName(row.id)}`}`,
      );
    },
    { restsOn: ['polling'] },
  );
}

async function end(context: CliContext, id: number, { json }: JsonOption): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const before = await requireSilence(sql, id, '"purchase-watch silences --all"');
    const wasOver = silenceBody(before, await databaseNow(sql)).status === 'over';
    await lift(sql, id);
    await recordCommand(sql, 'silences end', { id: silenceName(id) });
    if (json) return printJson(context, silenceBody(await requireSilence(sql, id), await databaseNow(sql)));
    const name = silenceName(id);
    printLine(context, wasOver ? `${name} was over already` : `${name} is over: people are alerted now of what is still wrong`);
  });
}

/** Declares the command and what it can do. */
export function register(command: Command, context: CliContext): void {
  command.description(
    'While a silence holds, people are alerted of no incident that matches, but of the end of one of which they were alerted before. Afterwards they are alerted of what is still wrong. Webhooks and the feed are not silenced. A silence may begin later (maintenance).',
  );
  const json = (sub: Command): Command => sub.option('--json', 'write JSON');
  json(command.command('list', { isDefault: true }))
    .summary('list those that hold or are to come, newest first')
    .option('--all', 'also those that are over')
    .addOption(limitOption())
    .addOption(new Option('--cursor <silence>', 'go on after this one').argParser(ruled(rowIdOf('sil'))))
    .action((options: ListOptions) => list(context, options));
  json(command.command('add'))
    .summary('add one; what it does not name matches everything')
    .option('--site <name>', 'only incidents of this site')
    .option('--state <state>', 'only of this state, by name or number')
    // All that is wrong is listed at once, so the value is checked with the others.
    .addOption(new Option('--kind <kind>', 'only these').choices(INCIDENT_KINDS).argParser((text) => text))
    .option('--subscriber <name>', 'only about this subscriber')
    .option('--everything', 'all incidents: needed when none of these is given')
    .addOption(new Option('--for <duration>', 'how long it lasts, from its beginning').argParser(durationArgument))
    .addOption(new Option('--until <time>', 'when it ends: a time with its zone, or a duration from now').conflicts('for'))
    .option('--from <time>', 'when it begins: a time with its zone, or a duration from now; now, without it')
    .option('--reason <text>', 'why, for the others')
    .option('--by <name>', BY)
    .action((options: SilenceOptions & JsonOption & { readonly for?: Milliseconds }) => add(context, options));
  json(command.command('end'))
    .summary('end one before its time')
    .argument('<id>', 'its id, such as sil_42', ruled(rowIdOf('sil')))
    .action((id: number, options: JsonOption) => end(context, id, options));
  command.addHelpText('after', '\nOptions of the list: purchase-watch silences list --help');
  examples(command, [
    ['silences', 'what is silenced, and what will be'],
    ["silences add --site se --for 2h --reason 'new checkout page' --by Kim", 'from now on'],
    ["silences add --kind unreachable --from 2026-11-20T22:00:00Z --for 2h --reason 'the service moves' --by Kim", 'a window'],
    ['silences end sil_42', 'be alerted of everything again'],
  ]);
}
