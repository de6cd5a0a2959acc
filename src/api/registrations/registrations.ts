/** Reads registrations from lines: plain ids, CSV with a header, or JSON lines. */

import { nearest } from '../../config/kinds/nearest.ts';
import { AppError } from '../../domain/values/errors.ts';
import { type JsonValue, parseExact, stringifyExact } from '../../domain/values/exact-json.ts';
import type { Registration } from '../../postgres/purchases/purchases.ts';
import { newPurchaseIdField, referenceField } from '../http/fields.ts';
import { metadataProblem } from '../http/metadata.ts';
import { splitCells } from './csv.ts';
import { siteProblem } from './site-problem.ts';

/** What the fields are when a line does not say, and which sites there are. */
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

/** What is wrong with a line whose quotation marks do not fit. */
export const BROKEN_QUOTES = 'a quotation mark is missing, or stands inside a cell that is not quoted';
/** What is wrong with a line or a record that is longer than any that is good. */
export const TOO_LONG = 'is far too long to be a purchase';
const FIELDS = ['purchaseId', 'site', 'reference', 'metadata'] as const;
/** What the column of the ids is called. */
const HEADERS = ['purchase_id', 'purchaseId'];
/** What stands in the place of bytes that are not UTF-8. */
const NO_TEXT = '\ufffd';
const SEPARATORS = [',', ';', '\t'];
/** Fields that were ignored are named, so many at most. */
const MOST_NAMED = 10;
type FieldName = (typeof FIELDS)[number];

/** Checks one registration; answers it complete, or why it cannot be. */
export function checkRegistration(written: Written, defaults: Defaults): Registration | { readonly problem: string } {
  const site = written.site ?? defaults.site;
  const reference = written.reference ?? defaults.reference;
  const metadata = written.metadata ?? defaults.metadata;
  const problem =
    problemOf(newPurchaseIdField, written.purchaseId, 'the purchase ID') ??
    (site === null ? missingSite(defaults.sites) : siteProblem(site, defaults.sites, defaults.unnamed)) ??
    (reference === null ? null : problemOf(referenceField, reference, 'the reference')) ??
    (metadata === null ? null : metadataTrouble(metadata));
  return problem === null ? { purchaseId: written.purchaseId, site, reference, metadata } : { problem };
}

function problemOf(field: typeof newPurchaseIdField, value: string, what: string): string | null {
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
 * Reads line after line. The file's name says what kind of lines they are, or else the first line does: an object is
 * JSON, a header that names the purchase ID is CSV, and anything else is plain ids. Throws AppError `invalid` when the
 * first line shows that the whole cannot be read. Lines that a person pasted (`isPasted`) need no header: their columns are
 * purchase ID, site, reference and metadata, of which only the first must be there.
 */
export function registrationReader(fileName: string, defaults: Defaults, { isPasted = false } = {}) {
  let read: ((text: string) => Written | { readonly problem: string } | 'unfinished') | null = null;
  const unused = new Set<string>();

  /** Answers whether the first line is a header. */
  function begin(first: string): boolean {
    const trimmed = first.trim();
    if (trimmed.startsWith('[')) {
      throw new AppError('invalid', 'the file is a JSON array; write one object a line instead, for example with: jq -c ".[]"');
    }
    if (trimmed === '{') {
      throw new AppError(
        'invalid',
        'the file is JSON over several lines; write one object a line instead, for example with: jq -c .',
      );
    }
    if (/\.(?:jsonl|ndjson)$/i.test(fileName) || trimmed.startsWith('{')) {
      read = (text) => readJson(text, unused);
      return false;
    }
    const separators = SEPARATORS.filter((each) => first.includes(each));
    for (const separator of separators.length === 0 ? [','] : separators) {
      const titles = titlesOf(first, separator);
      const columns = titles.map(columnOf);
      if (!columns.includes('purchaseId')) continue;
      titles.forEach((title, index) => {
        if (columns[index] === null) unused.add(title);
      });
      read = (text) => readCells(text, separator, columns);
      return true;
    }
    if (isPasted && hasNoHeader(first)) {
      read = (text) =>
        readCells(text, SEPARATORS.find((each) => text.includes(each)) ?? ',', FIELDS, 'without a header there are at most');
      return false;
    }
    refuseHeader(first, separators);
    read = readId;
    return false;
  }

  return {
    /**
     * One line; blank ones and the header mean nothing. One in which a quoted cell stays open is unfinished: give it again
     * with the next one behind it.
     */
    line(text: string): Read | 'unfinished' {
      if (text.trim() === '' || (read === null && begin(text))) return 'nothing';
      if (text.includes(NO_TEXT)) return { problem: 'is not UTF-8; save the file in that encoding' };
      const written = read!(text);
      if (written === 'unfinished') return written;
      const checked = 'problem' in written ? written : checkRegistration(written, defaults);
      return 'problem' in checked ? checked : { registration: checked };
    },
    /** Columns and fields that were there and mean nothing here. */
    unused: (): readonly string[] => [...unused],
  };
}

/** Throws when a first line that is neither a usable header nor an id. */
function refuseHeader(first: string, separators: readonly string[]): void {
  const trimmed = first.trim();
  if (separators.length > 0) {
    const meant = meantHeader(titlesOf(first, separators[0]!));
    throw new AppError('invalid', `line 1: has several columns, and none is named purchase_id${meant}`);
  }
  if (nearest(trimmed, HEADERS) !== null)
    throw new AppError('invalid', `line 1: ${JSON.stringify(trimmed)} looks like a header; it must be purchase_id`);
}

/** Whether no cell of a first line is nearly the title of the ids. */
function hasNoHeader(first: string): boolean {
  return SEPARATORS.every((each) => titlesOf(first, each).every((title) => nearest(title, HEADERS) === null));
}

function titlesOf(header: string, separator: string): string[] {
  const cells = splitCells(header, separator);
  return typeof cells === 'string' ? [] : cells.map((title) => title.trim());
}

function columnOf(title: string): FieldName | null {
  const plain = title.toLowerCase().replaceAll(/[ _-]/g, '');
  return FIELDS.find((name) => name.toLowerCase() === plain) ?? null;
}

function meantHeader(titles: readonly string[]): string {
  const meant = titles.find((title) => nearest(title, HEADERS) !== null);
  return meant === undefined ? '; begin with a header such as: purchase_id,site,reference' : ` (is it ${JSON.stringify(meant)}?)`;
}

/** A first line of another kind says how the whole is to be read; a later one is no id for that reason alone. */
function readId(text: string): Written | { problem: string } {
  const purchaseId = text.trim();
  if (purchaseId.startsWith('{')) return { problem: 'is JSON, and the lines before it are plain ids' };
  if (SEPARATORS.some((each) => purchaseId.includes(each)))
    return { problem: 'has several columns, and the lines before it are plain ids' };
  return { purchaseId };
}

function readCells(
  text: string,
  separator: string,
  columns: readonly (FieldName | null)[],
  most = 'the header names',
): Written | { problem: string } | 'unfinished' {
  const cells = splitCells(text, separator);
  if (cells === 'open') return 'unfinished';
  if (cells === 'broken') return { problem: BROKEN_QUOTES };
  if (cells === 'long') return { problem: TOO_LONG };
  if (cells.length > columns.length) return { problem: `has ${cells.length} cells, and ${most} ${columns.length}` };
  const written: Partial<Record<FieldName, string>> = {};
  cells.forEach((cell, index) => {
    const column = columns[index];
    const value = cell.trim();
    if (column !== null && column !== undefined && value !== '') written[column] = value;
  });
  return { ...written, purchaseId: written.purchaseId ?? '' };
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
