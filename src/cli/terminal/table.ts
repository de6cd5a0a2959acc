/** Tables for people. Apart from the rest of the output, because the help needs none. */
import { textWidth } from '../../domain/values/text-width.ts';
import { fittingWidths, tableLine } from './columns.ts';
import type { CliContext } from './context.ts';
import { lineWidth, printable, printFacts, printLine, styled } from './output.ts';

/**
 * Writes a line for each row under the titles of the columns. A column whose cells are all numbers is aligned to the right. On a
 * terminal cells that do not fit end with …; where that would cut the first column, which people copy into the next command, or one
 * of the columns `whole`, each row is written as facts, one below the other.
 */
export function printTable<Row>(
  context: CliContext,
  rows: readonly Row[],
  cells: Readonly<Record<string, (row: Row) => string | number | null>>,
  { whole = [] }: { whole?: readonly string[] } = {},
): void {
  const most = lineWidth(context);
  const titles = Object.keys(cells);
  const values = rows.map((row) => Object.values(cells).map((cell) => cell(row)));
  const texts = values.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const columns = titles.map((title, at) => ({
    width: Math.max(title.length, ...texts.map((row) => textWidth(row[at] ?? ''))),
    isNumeric: rows.length > 0 && values.every((row) => typeof row[at] === 'number'),
    isProse: texts.some((row) => row[at]?.includes(' ')),
  }));
  const widths = fittingWidths(columns, most);
  const mustBeWhole = (at: number) => (at === 0 && !columns[at]!.isNumeric) || whole.includes(titles[at]!);
  if (titles.keys().some((at) => mustBeWhole(at) && widths[at]! < columns[at]!.width)) {
    printRows(context, titles, texts);
    return;
  }
  const line = (cells: readonly string[]) => tableLine(cells, { columns, widths, most });
  printLine(context, styled(context, 'bold', line(titles)));
  for (const row of texts) printLine(context, line(row));
}

function printRows(context: CliContext, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  for (const [at, row] of rows.entries()) {
    if (at > 0) printLine(context);
    printFacts(
      context,
      titles.map((title, place) => [title, row[place] || null]),
    );
  }
}
