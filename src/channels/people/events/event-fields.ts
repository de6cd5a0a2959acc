/** Reads values out of an event's body, of which nothing may be taken for granted: what is not as expected is null. */

import { type NamedState, namedState } from '../../../domain/purchases/states.ts';
import { isDecimal, type JsonValue, parseExact } from '../../../domain/values/exact-json.ts';
import type { Instant } from '../../../domain/values/time.ts';

export type Fields = { readonly [key: string]: JsonValue | undefined };

/** A body as JSON; null when it is none. */
export function parsed(body: string): JsonValue {
  try {
    return parseExact(body);
  } catch {
    return null;
  }
}

/** The fields of an object; none of anything else. */
export function fields(value: JsonValue | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** A text that says something. */
export function text(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function whole(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** A number of things or of milliseconds. */
export function count(value: JsonValue | undefined): number | null {
  const number = whole(value);
  return number === null || number < 0 ? null : number;
}

/** A number between 0 and 1. */
export function share(value: JsonValue | undefined): number | null {
  const number = quantity(value);
  return number === null || number > 1 ? null : number;
}

/** A number that is not negative, with or without fraction. */
export function quantity(value: JsonValue | undefined): number | null {
  const number = value !== undefined && isDecimal(value) ? Number(value.rawJSON) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}

/** An amount, as text or as a number, with the digits it came with. */
export function digits(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return value !== undefined && isDecimal(value) ? value.rawJSON : text(value);
}

export function instant(value: JsonValue | undefined): Instant | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** A state with its name, or the name that its number has here. */
export function state(value: JsonValue | undefined): NamedState | null {
  const given = fields(value);
  const number = whole(given.value);
  return number === null ? null : { value: number, name: text(given.name) ?? namedState(number).name };
}
