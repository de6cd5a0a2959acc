/** `export`: rows for spreadsheets and warehouses, all of a kind or those that came since the last export. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { csvLine } from '../../actions/csv.ts';
import { EXPORTED, exportRows } from '../../actions/events/export.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { AppError, unreadFile } from '../../domain/values/errors.ts';
import { wall } from '../../runtime/time.ts';
import { ruled } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import { withDatabase } from '../terminal/database.ts';
import { isTaken, printRemark } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';

const moment = ruled((text) => readMoment(text, wall()));

export const register = declare(
  {
    description:
      'Writes rows to standard output, the oldest first: changes of state, stays that ended, incidents that opened or ended, and deliveries as they stand. Reads the database, and needs no daemon.',
    arguments: [['<what>', 'what to write', { choices: EXPORTED }]],
    options: [
      ['--format <format>', 'how to write', { choices: ['csv', 'jsonl'], usual: 'csv' }],
      ['--no-header', 'without the line of column names that CSV begins with'],
      ['--after <cursor>', 'rows that came after this cursor, which the export before said'],
      ['--cursor-file <file>', 'begin after the cursor in this file where there is one, and write the new one into it'],
      ['--site <name>', 'rows of one site'],
      [
        '--from <time>',
        'rows since this time (2026-11-20T09:15:00Z, or 7d for a week ago), by the first column',
        { read: moment },
      ],
      ['--to <time>', 'rows before this time, by the first column', { read: moment }],
    ],
    examples: [
      ['export stays --from 7d > stays.csv', 'how long customers of a week waited where'],
      ['export transitions --format jsonl --cursor-file changes.cursor >> changes.jsonl', 'what came since the last time'],
    ],
  },
  async (context, { what, format, header, after: given, cursorFile, site, from = null, to = null }) => {
    if (given !== undefined && cursorFile !== undefined)
      throw new AppError('invalid', '--after and --cursor-file both say where to begin: leave one out');
    const after = given ?? (cursorFile === undefined ? null : cursorIn(cursorFile));
    await withDatabase(context, async ({ sql }) => {
      await requireSite(sql, site);
      let isFirst = true;
      let written = 0;
      let cursor = after;
      for await (const page of exportRows(sql, { what, after, site: site ?? null, from, to })) {
        const head = isFirst && format === 'csv' && header ? [page.columns.join(',')] : [];
        const lines = page.rows.map((row) =>
          format === 'csv' ? csvLine(page.columns.map((column) => row[column] ?? null)) : JSON.stringify(row),
        );
        const text = [...head, ...lines].map((line) => `${line}\n`).join('');
        if (text !== '' && !(await isTaken(context, text))) return;
        isFirst = false;
        written += lines.length;
        ({ cursor } = page);
      }
      if (cursor !== null && cursorFile !== undefined) keep(cursorFile, cursor);
      const next = cursor === null || cursorFile !== undefined ? '' : `; go on with --after ${cursor}`;
      printRemark(context, `${written} ${written === 1 ? 'row' : 'rows'}${next}`);
    });
  },
);

/** Null where there is no such file yet. */
function cursorIn(path: string): string | null {
  if (!existsSync(path)) return null;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new AppError('invalid', `--cursor-file: ${unreadFile(path, error)}`);
  }
}

/** At once or not at all: half a cursor would end the next export. */
function keep(path: string, cursor: string): void {
  try {
    writeFileSync(`${path}.new`, `${cursor}\n`);
    renameSync(`${path}.new`, path);
  } catch (error) {
    throw new AppError('invalid', `--cursor-file: ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
