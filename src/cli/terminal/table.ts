/** Tables for people. Apart from the rest of the output, because the help needs none. */
import { textWidth } from '../../domain/values/text-width.ts';
import { fittingWidths, tableLine } from './columns.ts';
import type { CliContext } from './context.ts';
import { printable, printLine, styled } from './output.ts';

/** How many columns a line may have; a pipe takes any. */
function lineWidth({ stdout, isTTY }: CliContext): number {
  const { columns }: { columns?: number } = stdout as NodeJS.WritableStream & { columns?: number };
  // A terminal that does not know its width says 0.
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

/**
 * Writes aligned columns under their titles. A column whose cells are all numbers is aligned to the right. On a terminal cells
 * that do not fit end with …
 */
export function printTable(
  context: CliContext,
  titles: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): void {
  const most = lineWidth(context);
  const texts = rows.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const columns = titles.map((title, at) => ({
    width: Math.max(title.length, ...texts.map((row) => textWidth(row[at] ?? ''))),
    isNumeric: rows.length > 0 && rows.every((row) => typeof row[at] === 'number'),
    isProse: texts.some((row) => row[at]?.includes(' ')),
  }));
  const widths = fittingWidths(columns, most);
  const line = (cells: readonly string[]) => tableLine(cells, { columns, widths, most });
  printLine(context, styled(context, 'bold', line(titles)));
  for (const row of texts) printLine(context, line(row));
}
