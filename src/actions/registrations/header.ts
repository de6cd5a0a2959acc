/** The first rows of a text, and what follows from them for the rest: the separator, the columns, or why none of it can be read. */

import { nearest } from '../../config/kinds/nearest.ts';
import { AppError } from '../../domain/values/errors.ts';
import { bare } from '../../domain/values/one-line.ts';
import { splitCells } from './csv.ts';
import type { TextLine } from './lines.ts';

export const FIELDS = ['purchaseId', 'site', 'reference', 'metadata'] as const;
export type FieldName = (typeof FIELDS)[number];

/** A line with content. */
export interface Row {
  readonly number: number;
  readonly text: string;
}

/** How rows are split, and what their cells are. */
export interface Layout {
  /** Null for rows of ids alone, where any separator is one too many. */
  readonly separator: string | null;
  /** Null for a column that means nothing. */
  readonly columns: readonly (FieldName | null)[];
  /** Titles of the header; empty without one. */
  readonly titles: readonly string[];
}

/** Titles of the column of ids. */
const HEADERS = ['purchase_id', 'purchaseId'];
const SEPARATORS = [',', ';', '\t', '|', ' '];
/** A row of separators and empty cells. */
const EMPTY_ROW = /^(?:[\s,;|\p{Cf}]|"[\s\p{Cf}]*")*$/u;
/** The line that some spreadsheets write to say what separates the cells. */
const SEPARATOR_LINE = /^"?sep=(.?)"?[\s,;|]*$/i;
const DIGIT = /\p{Nd}/u;
/** Characters of a line that are repeated in an error. */
const MOST_SHOWN = 60;
/** Characters of a header that is looked for below other lines. */
const LONGEST_BELOW = 1_000;

/** The separator between the cells of a row without a header, or undefined for one cell. */
export const separatorOf = (text: string): string | undefined => SEPARATORS.find((each) => bare(text).includes(each));

/** The field of this title, in any case and with any signs between its words, or null. */
export function columnOf(title: string): FieldName | null {
  const plain = title.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  return FIELDS.find((name) => name.toLowerCase() === plain) ?? null;
}

/** Whether a line has no content: blanks, separators, empty cells. */
export const isEmptyRow = (text: string): boolean => EMPTY_ROW.test(text);

/**
 * The lines of a header, and how the rows below it are read; null when no line has content. Throws AppError `invalid` when they
 * cannot be read. `sites`: those that the second of several columns without a header may name, or null where a header is needed.
 */
export function beginningOf(
  lines: readonly TextLine[],
  { fileName, sites }: { fileName: string; sites: readonly string[] | null },
): { header: Row[]; layout: Layout | 'json' | null } {
  const rows = lines.flatMap(({ number, text }) => (text === null || isEmptyRow(text) ? [] : [{ number, text }]));
  const named = SEPARATOR_LINE.exec(rows[0]?.text ?? '');
  const header = named === null ? [] : rows.splice(0, 1);
  const [first, ...others] = rows;
  if (first === undefined) return { header, layout: null };
  refuseOtherKinds(first);
  if (/\.(?:jsonl|ndjson)$/i.test(fileName) || first.text.trim().startsWith('{')) return { header, layout: 'json' };
  const separator = named?.[1] || undefined;
  const layout = headerOf(first.text, separator);
  if (layout !== null) return { header: [...header, first], layout };
  const below = others.find(({ text }) => text.length <= LONGEST_BELOW && headerOf(text, separator) !== null);
  if (below !== undefined) throw refusal(first, `is above the header in line ${below.number}; delete the lines above the header`);
  return { header, layout: layoutWithout(first, others, { separator, sites }) };
}

/** Throws when the first row begins a kind of text that is not read line after line. */
function refuseOtherKinds({ text }: Row): void {
  const first = text.trim();
  const instead = first.startsWith('[')
    ? 'a JSON array; write one object a line instead, for example with: jq -c ".[]"'
    : first === '{'
      ? 'JSON over several lines; write one object a line instead, for example with: jq -c .'
      : /^<[!?\w]/.test(first)
        ? 'HTML or XML; open it in a spreadsheet, and save it as "CSV UTF-8"'
        : null;
  if (instead !== null) throw new AppError('invalid', `the file is ${instead}`);
}

/** The layout of a row that names the purchase ID, or null. */
function headerOf(text: string, separator: string | undefined): Layout | null {
  if (!/purchase[^\p{L}\p{N}]{0,3}id/iu.test(text)) return null;
  const present = [...SEPARATORS, ':'].filter((each) => text.includes(each));
  for (const each of separator === undefined ? [...present, ','] : [separator]) {
    const titles = titlesOf(text, each);
    const columns = titles.map(columnOf);
    if (columns.includes('purchaseId')) return { separator: each, titles, columns };
  }
  return null;
}

/** The layout of rows without a header. Throws when the first looks like a header or a title. */
function layoutWithout(
  first: Row,
  others: readonly Row[],
  { separator, sites }: { separator: string | undefined; sites: readonly string[] | null },
): Layout {
  const { text } = first;
  const used = separator ?? separatorOf(text);
  const titles = used === undefined ? [bare(text)] : titlesOf(text, used);
  const meant = titles.find((title) => nearest(title, HEADERS) !== null);
  if (titles.length === 1) {
    if (meant !== undefined || isTitle(titles[0]!, others))
      throw refusal(first, 'looks like a header; it must be purchase_id, or have a column of that name, with no title above it');
    return { separator: null, columns: ['purchaseId'], titles: [] };
  }
  if (titles.length === 0) throw refusal(first, 'has quotation marks that do not fit; a header must be in one line');
  const isRow = meant === undefined && used !== ' ' && (DIGIT.test(titles[0]!) || sites?.includes(titles[1]!) === true);
  if (sites === null || !isRow) {
    const cure =
      meant === undefined ? '; begin with a header such as: purchase_id,site,reference' : ` (is it ${JSON.stringify(meant)}?)`;
    throw refusal(first, `has several columns, and none is named purchase_id${cure}`);
  }
  if (titles.length > FIELDS.length)
    throw refusal(first, `has ${titles.length} cells, and without a header there are at most ${FIELDS.length}`);
  return { separator: used!, columns: FIELDS.slice(0, titles.length), titles: [] };
}

/** Ids have digits: a line without any above lines that have some is no id, and neither is a line above a table. */
function isTitle(first: string, others: readonly Row[]): boolean {
  const ids = others.filter(({ text }) => separatorOf(text) === undefined);
  if (others.length > 0 && ids.length === 0) return true;
  return !DIGIT.test(first) && (/(^|[ _-])ids?$/i.test(first) || ids.some(({ text }) => DIGIT.test(text)));
}

function refusal({ number, text }: Row, problem: string): AppError {
  const shown = bare(text).slice(0, MOST_SHOWN);
  return new AppError('invalid', `line ${number}: ${JSON.stringify(shown)} ${problem}`);
}

function titlesOf(header: string, separator: string): string[] {
  const cells = splitCells(header, separator);
  return typeof cells === 'string' ? [] : cells.map(bare);
}
