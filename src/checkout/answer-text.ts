/** From the bytes of an answer to JSON: the one reader of status, invoice, authorization, token and errors. */

import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Reply } from './call.ts';

/** The answer's text and what `JSON.parse` makes of it; numbers are doubles here, exact digits are found in the text. */
export interface JsonReply {
  readonly text: string;
  readonly value: unknown;
}

/** An unpacked answer; a longer one is as odd as one that was sent so. */
const MOST_UNPACKED = 256 * 1024;
/** Marks that programs leave at the ends of a text: byte order marks, NUL, the end mark of old editors, zero-width characters. */
const MARKS = /^[\ufeff\u200b\u2060]+|[\0\x1a\ufeff\u200b\u2060\s]+$/g;

/**
 * Reads the body whatever the headers say of its type: a mark at an end is forbidden in JSON and sent by some services all the
 * same, and some proxies compress what nothing asked them to. Null when it is no JSON.
 */
export function readBody(reply: Pick<Reply, 'headers' | 'body'>): JsonReply | null {
  return readText(reply.body) ?? readText(unpacked(reply));
}

function readText(body: Buffer | null): JsonReply | null {
  if (body === null || !isUtf8(body)) return null;
  const text = body.toString('utf8');
  return parsed(text) ?? parsed(text.replace(MARKS, ''));
}

function parsed(text: string): JsonReply | null {
  try {
    return { text, value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The body without the compression that its header names, or that its first bytes show; null when it has none, or is broken. */
function unpacked({ headers, body }: Pick<Reply, 'headers' | 'body'>): Buffer | null {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  const encoding = isGzip ? 'gzip' : String(headers['content-encoding'] ?? '').toLowerCase();
  const unpack = UNPACK.get(encoding);
  try {
    return unpack === undefined ? null : unpack(body, { maxOutputLength: MOST_UNPACKED });
  } catch {
    return null;
  }
}

const UNPACK = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

// Lists of code and message, with which services of this family answer errors. Codes are shown to people; messages may hold
// people's data, so they only decide whether the service says that there is no such purchase.

/** The errors that an answer lists beside its HTTP status. */
export interface ErrorList {
  /** The first few codes: short words and digits. Empty where none can be shown. */
  readonly codes: readonly string[];
  /** Whether a code or a message says that there is no such purchase. */
  readonly saysNoPurchase: boolean;
}

const MOST_CODES = 3;
const MOST_ENTRIES = 20;
const DEEPEST = 3;
const CODE_KEY = /^(?:error[_ ]?)?(?:code|key|number)$|^error$/i;
const MESSAGE_KEY = /^(?:error[_ ]?)?(?:message|description|text|title|detail|reason)$/i;
/** Short words with few digits: no phone number, number of a person, address or sentence passes. */
const CODE = /^(?!(?:\D*\d){7})[A-Za-z0-9](?:[A-Za-z0-9_.:-]{0,46}[A-Za-z0-9])?$/;

/** Reads parsed JSON of any form; null when it holds neither a code nor a message of an error. */
export function readErrorList(value: unknown): ErrorList | null {
  const found = { codes: new Set<string>(), texts: [] as string[] };
  collect(value, found, 0);
  if (found.codes.size + found.texts.length === 0) return null;
  return {
    codes: [...found.codes].filter((code) => CODE.test(code)).slice(0, MOST_CODES),
    saysNoPurchase: [...found.codes, ...found.texts].some(saysNoPurchase),
  };
}

/** The codes in words that follow a status, for sentences: `, code X`. */
export function codesText(codes: readonly string[]): string {
  return codes.length === 0 ? '' : `, ${codes.length === 1 ? 'code' : 'codes'} ${codes.join(', ')}`;
}

function collect(value: unknown, found: { codes: Set<string>; texts: string[] }, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return;
  if (Array.isArray(value)) {
    for (const each of value.slice(0, MOST_ENTRIES)) collect(each, found, depth + 1);
    return;
  }
  for (const [key, field] of Object.entries(value).slice(0, MOST_ENTRIES)) {
    const isScalar = typeof field === 'string' || typeof field === 'number';
    if (!isScalar) collect(field, found, depth + 1);
    else if (CODE_KEY.test(key)) found.codes.add(String(field));
    else if (MESSAGE_KEY.test(key)) found.texts.push(String(field));
  }
}

const PURCHASE = `(?:purchase|check ?out)(?: ?ids?)?`;
/** Words, ids and quotes that may stand between the purchase and its absence. */
const BETWEEN = String.raw`(?:\s+(?:with|for|by|having|the|this|that|given|specified|requested|purchase|id|was|is|could|can|has|been|of|named|called|["'«{(\[]\S*|\S*\d\S*)){0,8}`;
const ABSENT = `(?:not (?:be )?found|unknown|not known|does not exist|do not exist|doesn'?t exist|not exist|non ?existent|no longer exists|cannot be found)`;
const ABSENT_BEFORE = `(?:unknown|no such|not find|cannot find|can'?t find|there is no|no|non ?existent)`;
/** "The customer of this purchase does not exist" says that there is one. */
const OF = String.raw`(?<!\b(?:of|for|in|on|to|with)\s(?:(?:this|the|that|your|a)\s)?)`;
const NO_PURCHASE = new RegExp(
  String.raw`\b${OF}${PURCHASE}${BETWEEN}\s+${ABSENT}\b|\b${ABSENT_BEFORE}(?:\s+(?:a|any|the|this|such))?\s+${PURCHASE}\b(?!\s+(?:\w+\s+)?(?:method|type|state|status|date|amount|is|are|has))`,
);

/** `PURCHASE_NOT_FOUND`, `UnknownPurchaseId`, "There is no purchase with this id". */
function saysNoPurchase(text: string): boolean {
  const words = text
    .slice(0, 500)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_.:]+/g, ' ')
    .toLowerCase();
  return NO_PURCHASE.test(words);
}
