/**
 * JSON that keeps the digits of numbers. `JSON.parse` turns 249.50 into 249.5 and loses what does not fit a double;
 * here such numbers become `JSON.rawJSON` values, which `JSON.stringify` writes out again digit for digit.
 */

/** A number kept as the text it came as. Made by `decimal`; `JSON.stringify` writes `rawJSON` unchanged. */
export interface Decimal {
  readonly rawJSON: string;
}

export type JsonValue = null | boolean | number | string | Decimal | readonly JsonValue[] | JsonObject;
/** Numbers in it that a double cannot hold digit for digit are `Decimal`s. */
export type JsonObject = { readonly [key: string]: JsonValue };

// Both are in Node 24's V8; TypeScript's library does not describe them yet.
const json = JSON as unknown as {
  rawJSON(text: string): Decimal;
  isRawJSON(value: unknown): value is Decimal;
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

/** Wraps a JSON number's text, for example `"249.50"`. Throws SyntaxError when the text is not a JSON primitive. */
export function decimal(text: string): Decimal {
  return json.rawJSON(text);
}

/** Whether the value is a number kept as text. */
export function isDecimal(value: unknown): value is Decimal {
  return json.isRawJSON(value);
}

/** Whether a parsed value is an object; a number kept as text is none. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isDecimal(value);
}

/** A key with an escape in it, from its last escape on. It matches a little more: what it finds only costs time. */
const ESCAPED_KEY = /\\.[^"\\]*"\s*:/;
const STRING_OR_KEY = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

const exactNumber = (value: unknown, source: string | undefined) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value;

/**
 * Parses JSON. A number whose shortest form differs from its source (trailing zeros, more digits than a double holds,
 * exponents) becomes a Decimal; every other number stays a number. Throws SyntaxError on text that is not JSON and
 * RangeError on nesting too deep for the stack.
 */
export function parseExact(text: string): JsonValue {
  const value = json.parse(text, (_key, value, { source }) => exactNumber(value, source)) as JsonValue;
  return ESCAPED_KEY.test(text) ? parseNumberingKeys(text) : value;
}

/**
 * Parses JSON by way of a text whose keys are numbers. Node takes a key with an escape for another one that it read before and
 * that begins with the same characters as the escaped text (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\":1}`,
 * the `"\n"` of `{"a":1,"\n":1}` would be read as `"\\"`.
 */
function parseNumberingKeys(text: string): JsonValue {
  const keys: string[] = [];
  const numbered = text.replace(STRING_OR_KEY, (all, key: string, colon?: string) =>
    colon === undefined ? all : `"${keys.push(JSON.parse(key)) - 1}":`,
  );
  return json.parse(numbered, (_key, value, { source }) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([number, under]) => [keys[Number(number)], under]))
      : exactNumber(value, source),
  ) as JsonValue;
}

/**
 * Numbers that a double may not keep: those with a point or an exponent, of 16 digits, and -0. What looks like one within a string
 * only costs time.
 */
const DIGITS_AT_RISK = /(?:^|[\s:,[])(-?\d+[.eE][\d.eE+-]*|-?\d{16,}|-0)(?=[\s,}\]]|$)/g;

/**
 * The answer of `parseExact`, five times as fast where no number needs its digits kept. For text whose nesting was checked: how
 * deep it may be is open.
 */
export function parseExactQuickly(text: string): JsonValue {
  for (const [, digits] of text.matchAll(DIGITS_AT_RISK)) if (String(Number(digits)) !== digits) return parseExact(text);
  return ESCAPED_KEY.test(text) ? parseExact(text) : (JSON.parse(text) as JsonValue);
}

/** Writes JSON; Decimals come out with the digits they came with. */
export function stringifyExact(value: JsonValue): string {
  return JSON.stringify(value);
}

/** Whether two values are the same: of objects and lists, all that they hold, in whatever order. */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return Object.is(one, other);
  const [fields, others] = [Object.entries(one), new Map(Object.entries(other))];
  return fields.length === others.size && fields.every(([field, value]) => others.has(field) && isSame(value, others.get(field)));
}
