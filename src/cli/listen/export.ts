/** `export`: rows for spreadsheets and warehouses, all of a kind or those that came since the last export. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Argument, type Command, Option } from 'commander';
import { csvLine } from '../../actions/csv.ts';
import { exportRows } from '../../actions/events/export.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { AppError, unreadFile } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { EXPORTED, type Exported } from '../../postgres/reports/export.ts';
import { examples, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printRemark } from '../terminal/output.ts';
import { knownSite } from '../terminal/site.ts';

interface ExportOptions {
  readonly format: 'csv' | 'jsonl';
  readonly header: boolean;
  readonly after?: string;
  readonly cursorFile?: string;
  readonly site?: string;
  readonly from?: Instant;
  readonly to?: Instant;
}

async function exportAll(context: CliContext, what: Exported, options: ExportOptions): Promise<void> {
  const { format, header, cursorFile, from = null, to = null } = options;
  if (options.after !== undefined && cursorFile !== undefined)
    throw new AppError('invalid', '--after and --cursor-file both say where to begin: leave one out');
  const after = options.after ?? (cursorFile === undefined ? null : cursorIn(cursorFile));
  await withDatabase(context, async ({ sql }) => {
    const site =
      options.site === undefined
        ? null
        : knownSite(
            options.site,
            (await listSites(sql)).map(({ name }) => name),
          );
    let isFirst = true;
    let written = 0;
    let cursor = after;
    for await (const page of exportRows(sql, { what, after, site, from, to })) {
      const head = isFirst && format === 'csv' && header ? [page.columns.join(',')] : [];
      const lines = page.rows.map((row) =>
        format === 'csv' ? csvLine(page.columns.map((column) => row[column] ?? null)) : JSON.stringify(row),
      );
      // The next page is read when the reader of the output has taken this one. One that has seen enough ends the command.
      if (!(await isTaken(context, [...head, ...lines]))) return;
      isFirst = false;
      written += lines.length;
      ({ cursor } = page);
    }
    if (cursor !== null && cursorFile !== undefined) keep(cursorFile, cursor);
    const next = cursor === null || cursorFile !== undefined ? '' : `; go on with --after ${cursor}`;
    printRemark(context, `${written} ${written === 1 ? 'row' : 'rows'}${next}`);
  });
}

/** Writes lines; answers whether they were taken. */
function isTaken({ stdout }: CliContext, lines: readonly string[]): Promise<boolean> {
  if (lines.length === 0) return Promise.resolve(true);
  return new Promise((resolve) => stdout.write(`${lines.join('\n')}\n`, (error) => resolve(error == null)));
}

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

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  const moment = ruled((text) => readMoment(text, Date.now()));
  command
    .description(
      'Writes rows to standard output, the oldest first: changes of state, stays that ended, incidents that opened or ended, and deliveries as they stand. Reads the database, and needs no daemon.',
    )
    .addArgument(new Argument('<what>', 'what to write').choices(EXPORTED))
    .addOption(new Option('--format <format>', 'how to write').choices(['csv', 'jsonl']).default('csv'))
    .option('--no-header', 'without the line of column names that CSV begins with')
    .option('--after <cursor>', 'rows that came after this cursor, which the export before said')
    .option('--cursor-file <file>', 'begin after the cursor in this file where there is one, and write the new one into it')
    .option('--site <name>', 'rows of one site')
    .option('--from <time>', 'rows since this time (2026-11-20T09:15:00Z, or 7d for a week ago), by the first column', moment)
    .option('--to <time>', 'rows before this time, by the first column', moment)
    .action((what: Exported, options: ExportOptions) => exportAll(context, what, options));
  examples(command, [
    ['export stays --from 7d > stays.csv', 'how long customers of a week waited where'],
    ['export transitions --format jsonl --cursor-file changes.cursor >> changes.jsonl', 'what came since the last time'],
  ]);
}
