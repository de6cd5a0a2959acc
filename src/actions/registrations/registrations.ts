/** Reads registrations from lines: plain ids, CSV with a header, or JSON lines. */

import { newIdProblem } from '../../domain/purchases/purchase-id.ts';
import { counted } from '../../domain/values/counts.ts';
import { type JsonValue, parseExact, stringifyExact } from '../../domain/values/exact-json.ts';
import { bare } from '../../domain/values/one-line.ts';
import { siteProblem } from '../sites/site-problem.ts';
import { splitCells } from './csv.ts';
import { metadataProblem, referenceProblem } from './fields.ts';
import { beginningOf, columnOf, type FieldName, isEmptyRow, type Layout, type Row, separatorOf } from './header.ts';
import type { TextLine } from './lines.ts';
import type { Registration } from './register.ts';

/** The fields of lines that do not name them, and which sites there are. */
export interface Defaults {
  readonly site: string | null;
  readonly reference: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  readonly sites: readonly string[];
  /** Former names of sites among them. */
  readonly former?: ReadonlySet<string>;
  /** Sites that were registered at, and that no running daemon has in its settings. */
  readonly unnamed?: readonly string[];
}

/** One line as it was meant; every field is still text. */
interface Written {
  readonly purchaseId: string;
  readonly site?: string | undefined;
  readonly reference?: string | undefined;
  readonly metadata?: string | undefined;
}

export type Read = { readonly registration: Registration } | { readonly problem: string } | 'nothing';

/** The fault of a line whose quotation marks do not fit. */
export const BROKEN_QUOTES = 'a quotation mark is missing, or stands inside a cell that is not quoted';
/** The fault of a line or a record that is longer than any good one. */
export const TOO_LONG = 'is far too long to be a purchase';
/** The character in the place of bytes that are not UTF-8. */
const NO_TEXT = '\ufffd';
/** Fields that were ignored are named, so many at most. */
const MOST_NAMED = 10;

/** Checks one registration; answers it complete, or why it cannot be. */
export function checkRegistration(written: Written, defaults: Defaults): Registration | { readonly problem: string } {
  const site = written.site ?? defaults.site;
  const reference = written.reference ?? defaults.reference;
  const metadata = written.metadata ?? defaults.metadata;
  const problem =
    named('the purchase ID', newIdProblem(written.purchaseId)) ??
    (site === null ? missingSite(defaults.sites) : siteProblem(site, defaults.sites, defaults.unnamed)) ??
    (reference === null ? null : named('the reference', referenceProblem(reference))) ??
    (metadata === null ? null : metadataTrouble(metadata));
  return problem === null ? { purchaseId: written.purchaseId, site, reference, metadata } : { problem };
}

function named(what: string, problem: string | null): string | null {
  return problem === null ? null : `${what} ${problem}`;
}

/** The database finds the site itself where there is no doubt. */
function missingSite(sites: readonly string[]): string | null {
  if (sites.length === 1 || sites.includes('default')) return null;
  if (sites.length === 0) return siteProblem('', sites);
  return `no site is given, and there are several: ${sites.join(', ')}; choose one with --site`;
}

function metadataTrouble(text: string): string | null {
  try {
    return named('the metadata', metadataProblem(parseExact(text)));
  } catch {
    return 'the metadata is not JSON; expected an object such as {"cart": 7}';
  }
}

/**
 * Reads line after line. The file's name says what kind of lines they are, or else the first line does: an object is
 * JSON, a header that names the purchase ID is CSV, and anything else is plain ids. Lines that a person pasted
 * (`isPasted`) need no header: their columns are purchase ID, site, reference and metadata, of which only the first must
 * be there.
 */
export function registrationReader(fileName: string, defaults: Defaults, { isPasted = false } = {}) {
  let read: (text: string) => Written | { readonly problem: string } | 'unfinished' = () => ({ problem: TOO_LONG });
  let header: readonly Row[] = [];
  const unused = new Set<string>();

  return {
    /**
     * Learns from the first lines how all are read; answers the number of the line in which a header ends, or 0. Throws
     * AppError `invalid` when they show that the whole cannot be read.
     */
    begin(lines: readonly TextLine[]): number {
      const begun = beginningOf(lines, { fileName, sites: isPasted ? defaults.sites : null });
      const { layout } = begun;
      header = begun.header;
      if (layout === 'json') read = (text) => readJson(text, unused);
      else if (layout !== null) {
        for (const [index, title] of layout.titles.entries())
          if (title !== '' && layout.columns[index] === null) unused.add(title);
        read = (text) => readCells(text, layout);
      }
      return header.at(-1)?.number ?? 0;
    },
    /** One line; blank ones mean nothing. One in which a quoted cell stays open is unfinished: give it again with the next one behind it. */
    line(text: string): Read | 'unfinished' {
      if (isEmptyRow(text)) return 'nothing';
      if (text.includes(NO_TEXT)) return { problem: 'is not UTF-8; save the file in that encoding' };
      const written = read(text);
      if (written === 'unfinished') return written;
      const checked = 'problem' in written ? written : checkRegistration(written, defaults);
      return 'problem' in checked ? checked : { registration: checked };
    },
    /** The lines of the header, empty without one. */
    header: (): string => header.map(({ text }) => text).join('\n'),
    /** Columns and fields that were there and mean nothing here. */
    unused: (): readonly string[] => [...unused],
  };
}

function readCells(text: string, layout: Layout): Written | { readonly problem: string } | 'unfinished' {
  const { separator, columns } = layout;
  if (text.trimStart().startsWith('{')) return { problem: 'is JSON, and the lines before it are not' };
  const cells = separator === null ? splitCells(bare(text), separatorOf(text) ?? ',') : splitCells(text, separator);
  if (cells === 'open') return 'unfinished';
  if (cells === 'broken') return { problem: BROKEN_QUOTES };
  if (cells === 'long') return { problem: TOO_LONG };
  if (cells.length !== columns.length) return { problem: countProblem(cells.length, layout) };
  const written: Partial<Record<FieldName, string>> = {};
  cells.forEach((cell, index) => {
    const column = columns[index];
    const value = bare(cell);
    if (column !== null && column !== undefined && value !== '') written[column] = value;
  });
  return { ...written, purchaseId: written.purchaseId ?? '' };
}

/** A row with too few cells may be half of one: spreadsheets leave line ends in cells that are not quoted. */
function countProblem(count: number, { columns, titles }: Layout): string {
  const norm = titles.length > 0 ? 'the header names' : 'the first line has';
  if (columns.length === 1) return `has several columns, and ${norm} one`;
  const cure = count < columns.length ? '; write the empty ones, too, and put a cell with a line end in quotation marks' : '';
  return `has ${counted(count, 'cell')}, and ${norm} ${columns.length}${cure}`;
}

function readJson(text: string, unused: Set<string>): Written | { problem: string } {
  let value: JsonValue;
  try {
    value = parseExact(text);
  } catch {
    return { problem: 'is not JSON' };
  }
  if (typeof value === 'string') return { purchaseId: value };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'is neither an object such as {"purchaseId": "…"} nor a text' };
  }
  const written: Partial<Record<FieldName, string>> = {};
  for (const [key, given] of Object.entries(value)) {
    const field = columnOf(key);
    if (field === null) {
      if (unused.size < MOST_NAMED) unused.add(key);
    } else if (field === 'metadata' && given !== null) written.metadata = stringifyExact(given);
    else if (typeof given === 'string') written[field] = given;
    else if (given !== null) return { problem: `${key} must be text` };
  }
  return { ...written, purchaseId: written.purchaseId ?? '' };
}
