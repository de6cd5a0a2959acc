/**
 * The fields that events are made of. A schema's input is what a body holds, its output what is read from it: times become
 * instants, and what an older version left out or wrote otherwise becomes null.
 */
import { z } from 'zod';
import { type NamedState, namedState } from '../purchases/states.ts';
import { type Decimal, isDecimal, type JsonValue } from '../values/exact-json.ts';
import type { Instant } from '../values/time.ts';

/** UTC with milliseconds, as text. */
export const timeText = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), 'is no time')
  .meta({ format: 'date-time' });

/** The same, read as an instant. */
export const time = timeText.transform((text): Instant => Date.parse(text));

/** A text that is not empty. Not `min(1)`: what is written may be empty, and only reading takes it for nothing. */
export const word = z.string().refine((text) => text !== '');
/** A number of things or of milliseconds. */
export const count = z.int().min(0);
/** A number that is not negative, with or without a fraction. */
export const quantity = z.number().min(0);
export const share = z.number().min(0).max(1);

/** A state of the specification with its number. */
export const state = z
  .object({ value: z.int(), name: z.string().min(1) })
  .meta({ id: 'State', description: 'A state of the specification; `Unknown(17)` for a number that it does not list.' });

/** A state, read with the name that its number has here where the body has none. */
export const readableState = z
  .object({ value: z.int(), name: z.string().min(1).catch('') })
  .transform(({ value, name }): NamedState => ({ value, name: name === '' ? namedState(value).name : name }))
  .meta({ id: 'State' });

export const jsonObject = z
  .custom<{ readonly [key: string]: JsonValue }>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isDecimal(value),
  )
  .meta({ type: 'object', additionalProperties: true });

/** A number with the digits that the service sent. */
export const amount = z
  .custom<Decimal | number>((value) => typeof value === 'number' || isDecimal(value))
  .meta({ type: 'number', format: 'decimal' });

/** An amount as text. */
export const amountText = z
  .union([word, amount.transform((value) => (typeof value === 'number' ? String(value) : value.rawJSON))])
  .meta({ type: 'string', format: 'decimal' });

/** The same or null; what cannot be read is null, too. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().catch(null);

/** A list; entries that cannot be read are left out. */
export const listOf = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).catch(({ value }) => {
    const given: unknown[] = Array.isArray(value) ? value : [];
    return given.flatMap((each) => {
      const read = entry.safeParse(each);
      return read.success ? [read.data] : [];
    });
  });
