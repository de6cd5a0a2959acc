/**
 * How much of the service's texts and numbers is kept and sent. The specification shows no limits, so these are far above what it
 * describes: a text is cut with a mark that people see; an amount or a currency is never cut, but refused with its answer.
 */
import { type Decimal, isDecimal, type JsonValue, stringifyExact } from './exact-json.ts';

/** Characters of a text whose field has no bound of its own. */
export const LONGEST_TEXT = 256;
/** Of a currency's code, which has three. */
const LONGEST_CURRENCY = 16;
/** At the end of a text that was cut; its length counts. */
const CUT = '… (cut)';
/** The digits of a 128-bit decimal, before and after the point; an exponent of no more. */
const AMOUNT = /^-?\d{1,29}(\.\d{1,29})?([eE][-+]?[0-2]?\d)?$/;
const LARGEST_AMOUNT = 1e29;

/** The text, or as much of it as `most` characters hold with the mark. */
export function cutText(text: string, most = LONGEST_TEXT): string {
  if (text.length <= most) return text;
  return text.slice(0, most - CUT.length).replace(/[\uD800-\uDBFF]$/, '') + CUT;
}

/** Whether a number can be an amount of money. */
export function isAmount({ rawJSON }: Decimal): boolean {
  return AMOUNT.test(rawJSON) && Math.abs(Number(rawJSON)) <= LARGEST_AMOUNT;
}

/** Whether a text can be the code of a currency. */
export function isCurrency(text: string): boolean {
  return text.length <= LONGEST_CURRENCY;
}

/** Any JSON, where it is no longer than a text may be; otherwise the beginning of its text. */
export function cutJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return cutText(value);
  const text = isDecimal(value) ? value.rawJSON : stringifyExact(value);
  return text.length <= LONGEST_TEXT ? value : cutText(text);
}
