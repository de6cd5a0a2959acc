/** `silences`: times in which people want no alerts about some incidents. */

import { databaseNow } from '../../actions/database.ts';
import { silenceBody } from '../../actions/incidents/body.ts';
import { lift, listSilences, requireSilence, silence } from '../../actions/incidents/silences.ts';
import { rowIdOf, silenceName } from '../../actions/row-ids.ts';
import { policyOf } from '../../domain/polling/poll-plan.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { JSON_OPTION, limitOption, ruled } from '../terminal/arguments.ts';
import { group } from '../terminal/command.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';
import { SILENCE_OPTIONS, silenceOf } from './silence-options.ts';
import { matterOf, spanOf } from './silence-words.ts';

const list = onDatabase(
  {
    summary: 'list those that hold or are to come, newest first',
    options: [
      JSON_OPTION,
      ['--all', 'also those that are over'],
      limitOption(),
      ['--cursor <silence>', 'go on after this one', { read: ruled(rowIdOf('sil')) }],
    ],
  },
  async (context, { all, limit, cursor = null, json }, { sql }) => {
    const rows = await listSilences(sql, { status: all ? 'all' : 'current', before: cursor, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? silenceName(page.at(-1)!.id) : null;
    const now = await databaseNow(sql);
    if (json) return printJson(context, { data: page.map((row) => silenceBody(row, now)), nextCursor: next });
    if (page.length === 0)
      return void printLine(
        context,
        all ? 'No silences.' : 'No silence holds or is to come. Those that are over: purchase-watch silences --all',
      );
    printTable(context, page, {
      silence: ({ id }) => silenceName(id),
      status: (row) => silenceBody(row, now).status,
      about: matterOf,
      when: (row) => spanOf(row, now),
      by: ({ by }) => by,
      reason: ({ reason }) => reason,
    });
    if (next !== null) printLine(context, `\nThere are more: --cursor ${next}`);
  },
);

const add = onDatabase(
  {
    summary: 'add one; what it does not name matches everything',
    options: [JSON_OPTION, ...SILENCE_OPTIONS],
    restsOn: ['polling'],
  },
  async (context, { json, ...options }, { sql, settings }) => {
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
);

const end = onDatabase(
  {
    summary: 'end one before its time',
    arguments: [['<id>', 'its id, such as sil_42', { read: ruled(rowIdOf('sil')) }]],
    options: [JSON_OPTION],
  },
  async (context, { id, json }, { sql }) => {
    const before = await requireSilence(sql, id, '"purchase-watch silences --all"');
    const wasOver = silenceBody(before, await databaseNow(sql)).status === 'over';
    await lift(sql, id);
    await recordCommand(sql, 'silences end', { id: silenceName(id) });
    if (json) return printJson(context, silenceBody(await requireSilence(sql, id), await databaseNow(sql)));
    const name = silenceName(id);
    printLine(context, wasOver ? `${name} was over already` : `${name} is over: people are alerted now of what is still wrong`);
  },
);

export const register = group(
  {
    description:
      'While a silence holds, people are alerted of no incident that matches, but of the end of one of which they were alerted before. Afterwards they are alerted of what is still wrong. Webhooks and the feed are not silenced. A silence may begin later (maintenance).',
    after: '\nOptions of the list: purchase-watch silences list --help',
    examples: [
      ['silences', 'what is silenced, and what will be'],
      ["silences add --site se --for 2h --reason 'new checkout page' --by Kim", 'from now on'],
      ["silences add --kind unreachable --from 2026-11-20T22:00:00Z --for 2h --reason 'the service moves' --by Kim", 'a window'],
      ['silences end sil_42', 'be alerted of everything again'],
    ],
  },
  { list, add, end },
);
