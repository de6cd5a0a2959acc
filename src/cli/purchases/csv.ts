/** The cells of a line of CSV. */

/**
 * The cells as RFC 4180 quotes them, blanks around them allowed. `open`: a quoted cell goes on in the next line.
 * `broken`: a quotation mark stands where none may stand.
 */
export function splitCells(text: string, separator: string): string[] | 'open' | 'broken' {
  const cells: string[] = [];
  for (let at = 0; ; ) {
    const start = afterBlanks(text, at, separator);
    if (text[start] === '"') {
      const close = closingQuote(text, start + 1);
      if (close < 0) return 'open';
      cells.push(text.slice(start + 1, close).replaceAll('""', '"'));
      const end = afterBlanks(text, close + 1, separator);
      if (end === text.length) return cells;
      if (text[end] !== separator) return 'broken';
      at = end + 1;
    } else {
      const end = text.indexOf(separator, at);
      const cell = text.slice(at, end < 0 ? undefined : end);
      if (cell.includes('"')) return 'broken';
      cells.push(cell);
      if (end < 0) return cells;
      at = end + 1;
    }
  }
}

function afterBlanks(text: string, from: number, separator: string): number {
  let at = from;
  while ((text[at] === ' ' || text[at] === '\t') && text[at] !== separator) at += 1;
  return at;
}

/** Where the quoted cell ends; a doubled mark stands for itself. Negative: not in this text. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}
