/** How a kind of value becomes one line of the schema: checked by zod, with its meaning and its default beside it. */
import * as z from 'zod';
import type { Kind } from './kinds.ts';

/** The reference's words about a setting. */
export interface Note {
  readonly meaning: string;
  // biome-ignore lint/suspicious/noExplicitAny: notes of all kinds live in one registry; each kind only meets its own values
  readonly kind: Kind<any>;
  /** The default in the words of the settings, or what happens without a value. */
  readonly otherwise: string;
  readonly isList: boolean;
}

/** One setting's schema: unknown in, checked and converted out. */
export type Field<T> = z.ZodType<T, unknown>;

/** Notes by schema; the JSON Schema, the reference and `config` read them. */
export const notes = z.registry<Note>();
const kinds = z.registry<{ kind: Kind<unknown> }>();

function checked<T>(kind: Kind<T>): Field<T> {
  const schema = z.unknown().transform((value, context): T => {
    const meant = value === undefined ? undefined : kind.read(value);
    if (meant !== undefined) return meant;
    context.addIssue({ code: 'custom', input: value, message: kind.expected, params: { kind, fault: kind.fault?.(value) } });
    return z.NEVER;
  });
  kinds.add(schema, { kind: kind as Kind<unknown> });
  return schema;
}

function noted<T>(schema: Field<T>, note: Note): Field<T> {
  notes.add(schema, note);
  return schema;
}

/** A setting without which its section makes no sense. */
export function required<T>(kind: Kind<T>, meaning: string): Field<T> {
  return noted(checked(kind), { meaning, kind, otherwise: 'required', isList: false });
}

/** A setting with a default, written as it would be in the file. */
export function preset<T>(kind: Kind<T>, initial: string | number | boolean, meaning: string): Field<T> {
  return noted(checked(kind).prefault(initial), { meaning, kind, otherwise: String(initial), isList: false });
}

/** A setting that may be absent; `otherwise` says what that means. */
export function optional<T>(kind: Kind<T>, meaning: string, otherwise = 'none'): Field<T | null> {
  return noted(checked(kind).nullable().default(null), { meaning, kind, otherwise, isList: false });
}

/** A setting that, when absent, leaves what is decided elsewhere: undefined, where null would say "none". */
export function open<T>(kind: Kind<T>, meaning: string, otherwise: string): Field<T | undefined> {
  return noted(checked(kind).optional(), { meaning, kind, otherwise, isList: false });
}

/** The value under each name of a mapping whose names are not known beforehand. */
export function entry<T>(kind: Kind<T>, meaning: string): Field<T> {
  return noted(checked(kind), { meaning, kind, otherwise: 'none', isList: false });
}

/** A list with a default; empty when that is empty too. In a variable its items are separated by commas. */
export function list<T>(kind: Kind<T>, initial: readonly (string | number)[], meaning: string): Field<T[]> {
  const otherwise = initial.length === 0 ? 'none' : initial.join(', ');
  const items = z.array(checked(kind)).min(initial.length === 0 ? 0 : 1, 'a list with at least one entry');
  return noted(items.prefault([...initial]), { meaning, kind, otherwise, isList: true });
}

/** A list that may be absent, which is not the same as empty. */
export function openList<T>(kind: Kind<T>, meaning: string, otherwise: string): Field<T[] | undefined> {
  return noted(z.array(checked(kind)).optional(), { meaning, kind, otherwise, isList: true });
}

/** A mapping with known keys. Its error for an unknown key is the list of the known ones: see problems.ts. */
export function section<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? known.join(', ') : `a mapping with ${known.join(', ')}`),
  });
}

/** A section that may be absent: everything in it has its default then. */
export function absentable<Section extends z.ZodType>(schema: Section) {
  return schema.prefault({} as z.core.util.NoUndefined<z.input<Section>>);
}

/** The JSON Schema of what may be written: from the same definitions that check it. */
export function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema: made }) => {
      const kind = kinds.get(zodSchema as unknown as z.ZodType)?.kind;
      if (kind !== undefined) Object.assign(made, kind.json);
      const note = notes.get(zodSchema as unknown as z.ZodType);
      if (note !== undefined) made.description = note.meaning;
    },
  });
}
