/** The fields of a registration that merchants choose: a reference, and any JSON object as metadata, within what the database keeps. */
import { isDecimal, isJsonObject } from '../../domain/values/exact-json.ts';
import { lineProblem } from '../../domain/values/one-line.ts';

/** The most that metadata may have, in characters and in levels. */
const LARGEST = 8_192;
const DEEPEST = 64;

/** Why a text cannot be a reference, or null. */
export function referenceProblem(text: string): string | null {
  return lineProblem(text, 'your own reference, or leave the field out');
}

/** Why a value cannot be metadata, or null. */
export function metadataProblem(value: unknown): string | null {
  if (!isJsonObject(value)) return 'must be a JSON object, such as {"cart": 7}';
  const found = measure(value, 1);
  if (typeof found === 'string') return found;
  return found > LARGEST ? `is ${found} characters long as JSON; at most ${LARGEST} are kept` : null;
}

/**
 * The length that the database will count: it writes a space after each colon and comma, and numbers without exponent.
 * Or, as text, what makes the value impossible to store.
 */
function measure(value: unknown, depth: number): number | string {
  if (typeof value === 'string') return textProblem(value) ?? textLength(value);
  if (typeof value === 'number') return numberLength(String(value));
  if (isDecimal(value)) return numberLength(value.rawJSON);
  if (typeof value !== 'object' || value === null) return String(value).length;
  if (depth > DEEPEST) return `has more than ${DEEPEST} levels of lists and objects`;
  const isList = Array.isArray(value);
  let length = 2;
  for (const [key, item] of Object.entries(value)) {
    const inside = measure(item, depth + 1);
    const name = isList ? 0 : (textProblem(key) ?? textLength(key) + 2);
    if (typeof inside === 'string') return inside;
    if (typeof name === 'string') return name;
    length += (length === 2 ? 0 : 2) + name + inside;
  }
  return length;
}

/** In characters, as the database counts them, and not in halves of them. */
function textLength(text: string): number {
  let length = 0;
  for (const _ of JSON.stringify(text)) length += 1;
  return length;
}

function textProblem(text: string): string | null {
  if (text.includes('\u0000')) return 'holds the character \\u0000, which the database cannot keep; leave it out';
  return text.isWellFormed() ? null : 'holds half of a character (a lone surrogate such as \\ud800); leave it out';
}

/** Never too short: an exponent counts as so many digits. */
function numberLength(text: string): number {
  const [digits, exponent = '0'] = text.toLowerCase().split('e');
  return digits!.length + Math.abs(Number(exponent));
}
