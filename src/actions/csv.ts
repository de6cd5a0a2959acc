/** Rows for spreadsheets, as RFC 4180 says. */

/** A spreadsheet calculates what begins so, and may call a program by that. */
const FORMULA = /^[=+\-@\t\r]/;

/** A line of cells, without its end. A text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
