/** `actions`: what was changed, by whom and from where. */
import { actionBody, DOORS, listActions } from '../../actions/recorded.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { JSON_OPTION, limitOption, ruled } from '../terminal/arguments.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

export const register = onDatabase(
  {
    description:
      'Shows what people and programs changed through API, console and commands, the latest first: when, with which key, from where, what, and how it ended. Registrations are not among it.',
    options: [
      ['--key <name>', 'only with this key of the API'],
      ['--via <door>', 'only by this door', { choices: DOORS }],
      ['--about <id>', 'only what was about this incident, purchase, subscriber, delivery, silence or mark'],
      limitOption(),
      ['--cursor <action>', 'go on after this one', { read: ruled(rowIdOf('act')) }],
      JSON_OPTION,
    ],
    examples: [
      ['actions', 'the last 50'],
      ['actions --about inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'who did what about an incident'],
      ['actions --via console --json', 'for programs'],
    ],
  },
  async (context, { key = null, via = null, about = null, limit, cursor = null, json }, { sql }) => {
    const rows = await listActions(sql, { key, via, about }, { before: cursor, limit: limit + 1 });
    const page = rows.slice(0, limit).map(actionBody);
    const nextCursor = rows.length > limit ? page.at(-1)!.id : null;
    if (json) return printJson(context, { data: page, nextCursor });
    if (page.length === 0) return printLine(context, 'No actions.');
    printTable(context, page, {
      action: ({ id }) => id,
      when: ({ at }) => at,
      key: (row) => row.key,
      person: ({ person }) => person,
      from: ({ address }) => address,
      via: (row) => row.via,
      call: ({ call }) => call,
      about: ({ subject }) =>
        Object.entries(subject)
          .map(([name, value]) => (name === 'id' ? value : `${name} ${value}`))
          .join(', '),
      outcome: ({ outcome }) => outcome,
    });
    if (nextCursor !== null) printLine(context, `\nThere are more: --cursor ${nextCursor}`);
  },
);
