/** JSON as this client hands it out: nothing rounded. */
import { type Decimal as ExactNumber, isDecimal, type JsonValue, parseExact } from '../../../src/domain/values/exact-json.ts';

export type { ExactNumber, JsonValue };

/**
 * An amount as text, with the digits the checkout service sent, such as `"249.50"`. Give it to a decimal library, or
 * show it as it is; as a `number` it would be rounded.
 */
export type Decimal = string;

/** A JSON object. Numbers in it that a double cannot hold digit for digit are `ExactNumber`s. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** The digits of a JSON number, for amounts within `details` and `metadata`; null for everything else. */
export function decimalText(value: JsonValue | undefined): Decimal | null {
  if (typeof value === 'number') return String(value);
  return isDecimal(value) ? value.rawJSON : null;
}

/** A parsed object, or null where the text is none. */
export function parseObject(text: string): JsonObject | null {
  let value: JsonValue;
  try {
    value = parseExact(text);
  } catch {
    return null;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isDecimal(value) ? (value as JsonObject) : null;
}
