/** The cells of a record of CSV. */
import { CsvError, parse } from 'csv-parse/sync';

/** Characters of a record: the longest that is good has 200 of an id and of a reference, and 8 192 of metadata, each of them quoted. */
export const LONGEST_RECORD = 20 * 1_024;

/**
 * The cells as RFC 4180 quotes them, blanks around them allowed. `open`: a quoted cell goes on in the next line.
 * `broken`: a quotation mark stands where none may stand. `long`: it is longer than any record that is good.
 */
export function splitCells(text: string, separator: string): string[] | 'open' | 'broken' | 'long' {
  if (text.length > LONGEST_RECORD) return 'long';
  // The parser takes thirty times as long, and most lines have no quotation mark.
  if (!text.includes('"')) return text.split(separator);
  try {
    const [cells, ...more] = parse(text, { delimiter: separator, record_delimiter: '\n', trim: true });
    return cells === undefined || more.length > 0 ? 'broken' : cells;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return error.code === 'CSV_QUOTE_NOT_CLOSED' ? 'open' : 'broken';
  }
}
