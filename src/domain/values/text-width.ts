/** How many columns of a terminal a text takes, and how a text is cut or filled up to a number of columns. */

/** Two columns each: Chinese, Japanese and Korean, full-width forms, and what is shown as an emoji. */
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3ffff}]/u;
/** Two of them are one flag. */
const HALF_A_FLAG = /\p{Regional_Indicator}/u;
/** Stand on the letter before them. */
const MARK = /[\p{Mn}\p{Me}]/u;
const ASCII = /^[ -~]*$/;
/** Not between a number and its unit. */
const BREAKS = /(?<=\S) (?!(?<=\d )(?:ms|s|min|h|d)\b)/;

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

/** The text, or its beginning and … where it takes more than `most` columns. */
export function cutToWidth(text: string, most: number): string {
  if (textWidth(text) <= most) return text;
  let kept = '';
  let left = most - 1;
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return most < 1 ? '' : `${kept}…`;
}

/** The text with blanks up to the given number of columns; `isRight` says that the blanks stand before the text. */
export function padToWidth(text: string, width: number, isRight = false): string {
  const blanks = ' '.repeat(Math.max(0, width - textWidth(text)));
  return isRight ? blanks + text : text + blanks;
}

/** The line as lines of at most `most` columns, broken at spaces; a word that is wider stays whole. */
export function wrapToWidth(line: string, most: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(BREAKS)) {
    if (current !== '' && textWidth(`${current} ${word}`) > most) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
