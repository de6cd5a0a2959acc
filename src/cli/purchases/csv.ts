/** The cells of a line of CSV. */

/**
 * The cells as RFC 4180 quotes them, blanks around them allowed. `open`: a quoted cell goes on in the next line.
 * `broken`: a quotation mark stands where none may stand.
 */
export function splitCells(text: string, separator: string): string[] | 'open' | 'broken' {
  const cells: string[] = [];
  for (let at = 0; ; ) {
    const found = cellAt(text, at, separator);
    if (typeof found === 'string') return found;
    cells.push(found.cell);
    if (found.end === text.length) return cells;
    at = found.end + 1;
  }
}

/** The cell that begins here; `end` is where the separator after it stands, or the text ends. */
function cellAt(text: string, at: number, separator: string): { cell: string; end: number } | 'open' | 'broken' {
  const start = afterBlanks(text, at, separator);
  if (text[start] !== '"') {
    const next = text.indexOf(separator, at);
    const end = next < 0 ? text.length : next;
    const cell = text.slice(at, end);
    return cell.includes('"') ? 'broken' : { cell, end };
  }
  const close = closingQuote(text, start + 1);
  if (close < 0) return 'open';
  const end = afterBlanks(text, close + 1, separator);
  const isWhole = end === text.length || text[end] === separator;
  return isWhole ? { cell: text.slice(start + 1, close).replaceAll('""', '"'), end } : 'broken';
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
