/** `actions`: what was changed, by whom and from where. */
import { type Command, Option } from 'commander';
import { actionBody } from '../../actions/recorded.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { DOORS, type Door, listActions } from '../../postgres/console/actions.ts';
import { examples, limitOption, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

interface ActionOptions {
  readonly key?: string;
  readonly via?: Door;
  readonly about?: string;
  readonly limit: number;
  readonly cursor?: number;
  readonly json?: true;
}

async function list(context: CliContext, { key, via, about, limit, cursor, json }: ActionOptions): Promise<void> {
  const filter = { key: key ?? null, via: via ?? null, about: about ?? null };
  await withDatabase(context, async ({ sql }) => {
    const rows = await listActions(sql, filter, { before: cursor ?? null, limit: limit + 1 });
    const page = rows.slice(0, limit).map(actionBody);
    const nextCursor = rows.length > limit ? page.at(-1)!.id : null;
    if (json) return printJson(context, { data: page, nextCursor });
    if (page.length === 0) return printLine(context, 'No actions.');
    printTable(
      context,
      ['action', 'when', 'key', 'person', 'from', 'via', 'call', 'about', 'outcome'],
      page.map(({ id, at, address, subject, ...action }) => {
        const about = Object.entries(subject).map(([name, value]) => (name === 'id' ? value : `${name} ${value}`));
        return [id, at, action.key, action.person, address, action.via, action.call, about.join(', '), action.outcome];
      }),
    );
    if (nextCursor !== null) printLine(context, `\nThere are more: --cursor ${nextCursor}`);
  });
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Shows what people and programs changed through API, console and commands, the latest first: when, with which key, from where, what, and how it ended. Registrations are not among it.',
    )
    .option('--key <name>', 'only with this key of the API')
    .addOption(new Option('--via <door>', 'only by this door').choices(DOORS))
    .option('--about <id>', 'only what was about this incident, purchase, subscriber, delivery or silence')
    .addOption(limitOption())
    .addOption(new Option('--cursor <action>', 'go on after this one').argParser(ruled(rowIdOf('act'))))
    .option('--json', 'write JSON')
    .action((options: ActionOptions) => list(context, options));
  examples(command, [
    ['actions', 'the last 50'],
    ['actions --about inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'who did what about an incident'],
    ['actions --via console --json', 'for programs'],
  ]);
}
