/** `mark` and `marks`: moments that people and programs name, such as deploys. */

import { databaseNow } from '../../actions/database.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { addMark, checkedMarkTime, listMarks, markBody, markName, readMarkText, removeMark } from '../../actions/trends/marks.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import { JSON_OPTION, limitOption, ruled } from '../terminal/arguments.ts';
import { group } from '../terminal/command.ts';
import { onDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

export const registerMark = onDatabase(
  {
    description:
      'Names a moment, such as a deploy. Trends show it beside the counts, and an incident that begins soon after it says so. It holds no data of persons: name none.',
    arguments: [['<text>', 'a few words, such as "deploy 4.2"', { read: ruled(readMarkText) }]],
    options: [
      ['--at <time>', 'when it happened: a time with its zone, or a duration back from now; now, without it'],
      ['--site <name>', 'the site that it is about; all sites, without it'],
      JSON_OPTION,
    ],
    examples: [
      ['mark "deploy 4.2"', 'now, of all sites'],
      ['mark "new card page" --site se --at 10m', 'of one site, ten minutes ago'],
    ],
  },
  async (context, { text, at, site, json }, { sql }) => {
    await requireSite(sql, site);
    const now = await databaseNow(sql);
    const when = at === undefined ? now : checked('--at', checkedMarkTime(checked('--at', readMoment(at, now)), now));
    const mark = markBody(await addMark(sql, { at: when, text, site: site ?? null }));
    await recordCommand(sql, 'mark', { id: mark.id });
    if (json) return printJson(context, mark);
    printLine(context, printable(`${mark.id}: ${mark.text}, at ${mark.at}${mark.site === null ? '' : `, ${mark.site}`}`));
  },
);

const list = onDatabase(
  {
    summary: 'list them, the last added first',
    options: [
      ['--site <name>', 'those about this site, and those about all sites'],
      limitOption(),
      ['--cursor <mark>', 'go on after this one', { read: ruled(rowIdOf('mrk')) }],
      JSON_OPTION,
    ],
  },
  async (context, { site, limit, cursor = null, json }, { sql }) => {
    await requireSite(sql, site);
    const rows = await listMarks(sql, { site: site ?? null, before: cursor, limit: limit + 1 });
    const page = rows.slice(0, limit).map(markBody);
    const nextCursor = rows.length > limit ? page.at(-1)!.id : null;
    if (json) return printJson(context, { data: page, nextCursor });
    if (page.length === 0) return printLine(context, 'No marks. Add one: purchase-watch mark "deploy 4.2"');
    printTable(context, page, {
      mark: ({ id }) => id,
      at: (mark) => mark.at,
      site: (mark) => mark.site ?? 'all',
      text: ({ text }) => text,
    });
    if (nextCursor !== null) printLine(context, `\nThere are more: --cursor ${nextCursor}`);
  },
);

const remove = onDatabase(
  {
    summary: 'delete one',
    arguments: [['<id>', 'its id, such as mrk_42', { read: ruled(rowIdOf('mrk')) }]],
    options: [JSON_OPTION],
  },
  async (context, { id, json }, { sql }) => {
    await removeMark(sql, id, '"purchase-watch marks"');
    await recordCommand(sql, 'marks delete', { id: markName(id) });
    if (json) return printJson(context, { deleted: markName(id) });
    printLine(context, `${markName(id)} is deleted`);
  },
);

export const register = group(
  {
    description: 'Moments that people and programs named, such as deploys; kept for store.retention.trends.',
    examples: [
      ['marks', 'the last 50'],
      ['marks delete mrk_42', 'delete one'],
    ],
  },
  { list, delete: remove },
);
