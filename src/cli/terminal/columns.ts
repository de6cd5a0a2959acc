/** Tables that fit into the terminal. */
import { cutToWidth, padToWidth } from '../../domain/values/text-width.ts';

const GAP = 2;
/** A text column of which less is left says nothing. */
const TELLING = 8;

interface Column {
  readonly width: number;
  readonly isNumeric: boolean;
  /** Whether cells hold sentences or lists, whose beginning says something; the beginning of an id says nothing. */
  readonly isProse: boolean;
}

/** Widths with which a line of these columns takes `most` columns of the terminal, where that can be. */
export function fittingWidths(columns: readonly Column[], most: number): number[] {
  const left = most - GAP * (columns.length - 1);
  // Wider than the terminal it could not be in any case.
  const widths = columns.map(({ width }) => Math.min(width, Math.max(left, 1)));
  const excess = () => widths.reduce((sum, width) => sum + width, 0) - left;
  const narrow = (isMeant: (column: Column, at: number) => boolean, least: number): void => {
    while (excess() > 0) {
      const meant = widths.keys().filter((at) => isMeant(columns[at]!, at) && widths[at]! > least);
      const widest = meant.reduce((best, at) => (best < 0 || widths[at]! > widths[best]! ? at : best), -1);
      if (widest < 0) return;
      widths[widest]! -= 1;
    }
  };
  // The first column names the row: people copy it into the next command.
  narrow(({ isProse }, at) => isProse && at > 0, 2 * TELLING);
  narrow(({ isNumeric }, at) => !isNumeric && at > 0, TELLING);
  narrow(() => true, 1);
  return widths;
}

interface Layout {
  readonly columns: readonly Column[];
  readonly widths: readonly number[];
  readonly most: number;
}

/** One line of a table. */
export function tableLine(cells: readonly string[], { columns, widths, most }: Layout): string {
  const fitting = cells.map((cell, at) => padToWidth(cutToWidth(cell, widths[at]!), widths[at]!, columns[at]!.isNumeric));
  return cutToWidth(fitting.join(' '.repeat(GAP)).trimEnd(), most);
}
