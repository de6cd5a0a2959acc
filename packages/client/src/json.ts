/** JSON as this client hands it out: nothing rounded. */
import {
  type Decimal as ExactNumber,
  isDecimal,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExact,
} from '../../../src/domain/values/exact-json.ts';

export type { ExactNumber, JsonObject, JsonValue };

/**
 * An amount as text, with the digits the checkout service sent, such as `"249.50"`. Give it to a decimal library, or
 * show it as it is; as a `number` it would be rounded.
 */
export type Decimal = string;

/** The digits of a JSON number, for amounts within `details` and `metadata`; null for everything else. */
export function decimalText(value: JsonValue | undefined): Decimal | null {
  if (typeof value === 'number') return String(value);
  return isDecimal(value) ? value.rawJSON : null;
}

/** A parsed object, or null where the text is none. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = parseExact(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
