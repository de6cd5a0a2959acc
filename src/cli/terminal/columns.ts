/** How many columns of a terminal texts take, and tables that fit into it. */

/** Two columns each: Chinese, Japanese and Korean, full-width forms, and what is shown as an emoji. */
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3ffff}]/u;
/** Two of them are one flag. */
const HALF_A_FLAG = /\p{Regional_Indicator}/u;
/** Stand on the letter before them. */
const MARK = /[\p{Mn}\p{Me}]/u;
const ASCII = /^[ -~]*$/;

const GAP = 2;
/** A text column of which less is left says nothing. */
const TELLING = 8;

function characterWidth(character: string): number {
  if (MARK.test(character)) return 0;
  return WIDE.test(character) && !HALF_A_FLAG.test(character) ? 2 : 1;
}

/** How many columns the text takes. It has no control characters. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text, or its beginning and … where it is wider. */
function cut(text: string, most: number): string {
  if (textWidth(text) <= most) return text;
  let kept = '';
  let left = most - 1;
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Filled up with blanks; `isRight` says that they stand before it. */
function padded(text: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - textWidth(text)));
  return isRight ? blanks + text : text + blanks;
}

interface Column {
  readonly width: number;
  readonly isNumeric: boolean;
  /** Whether it has sentences or lists, of which the beginning says something; of an id it says nothing. */
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
  const fitting = cells.map((cell, at) => padded(cut(cell, widths[at]!), widths[at]!, columns[at]!.isNumeric));
  return cut(fitting.join(' '.repeat(GAP)).trimEnd(), most);
}
