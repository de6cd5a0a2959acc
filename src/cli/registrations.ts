/** Reads registrations from lines: plain ids, CSV with a header, or JSON lines. */
import { purchaseIdField, referenceField } from '../api/fields.ts';
import { metadataProblem } from '../api/metadata.ts';
import { nearest } from '../config/nearest.ts';
import { AppError } from '../core/errors.ts';
import { type JsonValue, parseExact, stringifyExact } from '../core/exact-json.ts';
import type { Registration } from '../store/purchases.ts';
import { siteProblem } from './site.ts';

/** What the fields are when a line does not say, and which sites there are. */
export interface Defaults {
  readonly site: string | null;
  readonly reference: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  readonly sites: readonly string[];
}

/** One line as it was meant; every field is still text. */
interface Written {
  readonly purchaseId: string;
  readonly site?: string | undefined;
  readonly reference?: string | undefined;
  readonly metadata?: string | undefined;
}

export type Read = { readonly registration: Registration } | { readonly problem: string } | 'nothing';

const FIELDS = ['purchaseId', 'site', 'reference', 'metadata'] as const;
/** What the column of the ids is called. */
const HEADERS = ['purchase_id', 'purchaseId'];
/** Fields that were ignored are named, so many at most. */
const MOST_NAMED = 10;
type FieldName = (typeof FIELDS)[number];

/** Checks one registration; answers it complete, or why it cannot be. */
export function checkRegistration(written: Written, defaults: Defaults): Registration | { readonly problem: string } {
  const site = written.site ?? defaults.site;
  const reference = written.reference ?? defaults.reference;
  const metadata = written.metadata ?? defaults.metadata;
  const problem =
    problemOf(purchaseIdField, written.purchaseId, 'the purchase ID') ??
    (site === null ? missingSite(defaults.sites) : siteProblem(site, defaults.sites)) ??
    (reference === null ? null : problemOf(referenceField, reference, 'the reference')) ??
    (metadata === null ? null : metadataTrouble(metadata));
  return problem === null ? { purchaseId: written.purchaseId, site, reference, metadata } : { problem };
}

function problemOf(field: typeof purchaseIdField, value: string, what: string): string | null {
  const checked = field.safeParse(value);
  return checked.success ? null : `${what} ${checked.error.issues[0]?.message}`;
}

/** The database finds the site itself where there is no doubt. */
function missingSite(sites: readonly string[]): string | null {
  if (sites.length === 1 || sites.includes('default')) return null;
  if (sites.length === 0) return siteProblem('', sites);
  return `no site is given, and there are several: ${sites.join(', ')}; choose one with --site`;
}

function metadataTrouble(text: string): string | null {
  try {
    const problem = metadataProblem(parseExact(text));
    return problem === null ? null : `the metadata ${problem}`;
  } catch {
    return 'the metadata is not JSON; expected an object such as {"cart": 7}';
  }
}

/**
 * Reads line after line. What kind of lines they are is told by the file's name, or else by the first line: an object is
 * JSON, a header that names the purchase ID is CSV, and anything else is plain ids. Throws AppError `invalid` when the
 * first line shows that the whole cannot be read.
 */
export function registrationReader(fileName: string, defaults: Defaults) {
  let read: ((text: string) => Written | { readonly problem: string }) | null = null;
  const unused = new Set<string>();

  function begin(first: string): boolean {
    if (/\.(?:jsonl|ndjson)$/i.test(fileName) || first.startsWith('{')) {
      read = (text) => readJson(text, unused);
      return false;
    }
    if (first.startsWith('[')) {
      throw new AppError('invalid', 'the file is a JSON array; write one object a line instead, for example with: jq -c ".[]"');
    }
    const separator = [',', ';', '\t'].find((each) => first.includes(each));
    const titles = (splitCells(first, separator ?? ',') ?? []).map((title) => title.trim());
    const columns = titles.map(columnOf);
    if (!columns.includes('purchaseId')) {
      if (separator === undefined) {
        if (nearest(first, HEADERS) !== null)
          throw new AppError('invalid', `line 1: ${JSON.stringify(first)} looks like a header; it must be purchase_id`);
        read = (text) => ({ purchaseId: text });
        return false;
      }
      throw new AppError('invalid', `line 1: has several columns, and none is named purchase_id${meantHeader(titles)}`);
    }
    titles.forEach((title, index) => {
      if (columns[index] === null) unused.add(title);
    });
    read = (text) => readCells(text, separator ?? ',', columns);
    return true;
  }

  return {
    /** One line; blank ones and the header mean nothing. */
    line(text: string): Read {
      const trimmed = text.trim();
      if (trimmed === '' || (read === null && begin(trimmed))) return 'nothing';
      const written = read!(trimmed);
      const checked = 'problem' in written ? written : checkRegistration(written, defaults);
      return 'problem' in checked ? checked : { registration: checked };
    },
    /** Columns and fields that were there and mean nothing here. */
    unused: (): readonly string[] => [...unused],
  };
}

function columnOf(title: string): FieldName | null {
  const plain = title.toLowerCase().replaceAll(/[ _-]/g, '');
  return FIELDS.find((name) => name.toLowerCase() === plain) ?? null;
}

function meantHeader(titles: readonly string[]): string {
  const meant = titles.find((title) => nearest(title, HEADERS) !== null);
  return meant === undefined ? '; begin with a header such as: purchase_id,site,reference' : ` (is it ${JSON.stringify(meant)}?)`;
}

function readCells(text: string, separator: string, columns: readonly (FieldName | null)[]): Written | { problem: string } {
  const cells = splitCells(text, separator);
  if (cells === null) return { problem: 'a quotation mark is missing, or stands inside a cell that is not quoted' };
  if (cells.length > columns.length) return { problem: `has ${cells.length} cells, and the header names ${columns.length}` };
  const written: Partial<Record<FieldName, string>> = {};
  cells.forEach((cell, index) => {
    const column = columns[index];
    const value = cell.trim();
    if (column !== null && column !== undefined && value !== '') written[column] = value;
  });
  return { ...written, purchaseId: written.purchaseId ?? '' };
}

/** The cells of a line as RFC 4180 quotes them; null when the quotation marks do not fit. */
function splitCells(text: string, separator: string): string[] | null {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(text.slice(at));
    const end = quoted === null ? text.indexOf(separator, at) : at + quoted[0].length;
    const cell = quoted === null ? text.slice(at, end < 0 ? undefined : end) : quoted[1]!.replaceAll('""', '"');
    if (quoted === null && cell.includes('"')) return null;
    cells.push(cell);
    if (end < 0 || end >= text.length) return cells;
    if (text[end] !== separator) return null;
    at = end + 1;
  }
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
