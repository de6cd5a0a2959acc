/** The cells of a record of CSV. */

/** Characters of a record: the longest that is good has 200 of an id and of a reference, and 8 192 of metadata, each of them quoted. */
export const LONGEST_RECORD = 20 * 1_024;

/**
 * The cells as RFC 4180 quotes them, blanks around them allowed. `open`: a quoted cell goes on in the next line.
 * `broken`: a quotation mark stands where none may stand. `long`: it is longer than any record that is good.
 */
export function splitCells(text: string, separator: string): string[] | 'open' | 'broken' | 'long' {
  if (text.length > LONGEST_RECORD) return 'long';
  // Most lines have none.
  if (!text.includes('"')) return text.split(separator);
  const sign = RegExp.escape(separator);
  const blanks = `[^\\S\\n${sign}]*`;
  const cell = new RegExp(`${blanks}(?:"((?:[^"]|"")*)"|([^"\\n${sign}]*))${blanks}(?:(${sign})|$)`, 'y');
  const cells: string[] = [];
  for (;;) {
    const at = cell.lastIndex;
    const found = cell.exec(text);
    if (found === null) return new RegExp(`^${blanks}"(?:[^"]|"")*$`).test(text.slice(at)) ? 'open' : 'broken';
    const [, quoted, bare = '', end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? bare.trim());
    if (end === undefined) return cells;
  }
}
