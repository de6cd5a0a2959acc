/** Values for requests, made from the schemas of the OpenAPI document: good ones, bad ones, and the odd ones in between. */
import fc from 'fast-check';
import {
  exampleOf,
  type OpenApiDocument,
  type Parameter,
  propertiesOf,
  resolved,
  type Schema,
} from '../../tools/book/api/model.ts';

/** What is known to exist, by the name of the parameter or field that may hold it. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** Text that has been somebody's trouble before. */
const ODD_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  'a\nb',
  '\u2028',
  '\ud800',
  '\u{1f600}',
  'é'.normalize('NFD'),
  '\u202eabc',
  '%00',
  '%',
  '../..',
  "' or 1=1 --",
  '$(x)',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e400',
  '9007199254740993',
  '99999999999999999999',
  '2147483648',
  '-1',
  '0x10',
  'true',
  '2026-02-30T00:00:00Z',
  '0000-00-00',
  '+275760-09-13T00:00:00.001Z',
  'infinity',
  'x'.repeat(201),
  'x'.repeat(5_000),
];

const oddText = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ maxLength: 60 }),
);

const oddValue = fc.oneof(
  oddText,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, true, 0, -1, 1.5, 1e300, 2 ** 53, [], {}, [[]], [null], { a: { b: [1] } }),
);

/** A value that the schema allows, as far as a schema can say. */
function validValue(document: OpenApiDocument, given: Schema, known: Known, name = '', depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(document, given);
  const examples = [given.example, schema.example].filter((value) => value !== undefined);
  const made = madeFrom(document, schema, known, name, depth);
  const existing = known[name];
  return fc.oneof(
    { weight: 3, arbitrary: made },
    ...(examples.length > 0 ? [{ weight: 2, arbitrary: fc.constantFrom(...examples) }] : []),
    ...(existing !== undefined && existing.length > 0 ? [{ weight: 4, arbitrary: fc.constantFrom(...existing) }] : []),
  );
}

function madeFrom(document: OpenApiDocument, schema: Schema, known: Known, name: string, depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fc.oneof(...options.map((each) => validValue(document, each, known, name, depth + 1)));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [schema.properties ? 'object' : 'any']);
  return fc.oneof(...types.map((type) => ofType(type, { document, schema, known, name, depth })));
}

interface Making {
  readonly document: OpenApiDocument;
  readonly schema: Schema;
  readonly known: Known;
  readonly name: string;
  readonly depth: number;
}

function ofType(type: string, making: Making): fc.Arbitrary<unknown> {
  const { document, schema, known, depth } = making;
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number': {
      const [min, max] = [schema.minimum ?? -10, schema.maximum ?? 1_000];
      return fc.oneof(fc.constantFrom(min, max), fc.integer({ min: Math.ceil(min), max: Math.floor(max) }));
    }
    case 'array': {
      const item = schema.items === undefined ? oddValue : validValue(document, schema.items, known, making.name, depth + 1);
      return fc.array(item, { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 4, 4) });
    }
    case 'object': {
      const properties = propertiesOf(document, schema);
      if (typeof schema.additionalProperties === 'object') return mapping(making, schema.additionalProperties);
      if (properties.length === 0) {
        // The framework reads `__proto__` as any other key; a parsed object keeps it as its own.
        return fc.dictionary(fc.string({ minLength: 1, maxLength: 12 }), fc.jsonValue({ maxDepth: 2 }), {
          maxKeys: 4,
          noNullPrototype: true,
        });
      }
      const fields = Object.fromEntries(
        properties.map((each) => [each.name, validValue(document, each.schema, known, each.name, depth + 1)]),
      );
      const requiredKeys = properties.filter((each) => each.required).map((each) => each.name);
      return fc.record(fields, { requiredKeys, noNullPrototype: true });
    }
    case 'string':
      return textOf(schema);
    default:
      return oddValue;
  }
}

/** Names of one's own, each with a value of the same schema. */
function mapping({ document, schema, known, name, depth }: Making, values: Schema): fc.Arbitrary<unknown> {
  const { propertyNames = {} } = schema as { propertyNames?: Schema };
  const names = validValue(document, { type: 'string', ...propertyNames }, known, '', depth + 1).map((name) =>
    typeof name === 'string' ? name : (JSON.stringify(name) ?? ''),
  );
  return fc.dictionary(names, validValue(document, values, known, name, depth + 1), { maxKeys: 3, noNullPrototype: true });
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern, 'u'));
  if (schema.format === 'date-time') {
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
      .map((at) => at.toISOString());
  }
  // Where nobody listens: whatever is accepted may be called.
  if (schema.format === 'uri' || schema.format === 'url') {
    return fc.webPath().map((path) => `https://127.0.0.1:9${path}`);
  }
  const [minLength, maxLength] = [schema.minLength ?? 0, Math.min(schema.maxLength ?? 40, 300)];
  const printable = fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 30)) });
  return fc.oneof(printable, fc.constantFrom('x'.repeat(Math.max(1, minLength)), 'x'.repeat(maxLength)));
}

/** A body: good, or a good one with something wrong, or something else altogether. */
export function bodyValue(document: OpenApiDocument, schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const example = exampleOf(document, schema);
  const made = validValue(document, schema, known);
  // What is made of the whole schema at once is often wrong in some field; the example with another field seldom is.
  const varied = fc.tuple(made, fc.nat(9)).map(([value, pick]) => {
    if (typeof example !== 'object' || example === null || typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return entries.length === 0 ? example : { ...example, ...Object.fromEntries([entries[pick % entries.length]!]) };
  });
  const good = fc.oneof(made, varied, fc.constant(example));
  const names = propertiesOf(document, schema).map((each) => each.name);
  const name = fc.oneof(
    ...(names.length > 0 ? [fc.constantFrom(...names)] : []),
    fc.constantFrom('__proto__', 'constructor', 'extra', ''),
  );
  const changed = (change: (value: Record<string, unknown>, key: string, other: unknown) => void) =>
    fc.tuple(good, name, oddValue).map(([value, key, other]) => {
      if (typeof value !== 'object' || value === null) return value;
      const copy = { ...(value as Record<string, unknown>) };
      change(copy, key, other);
      return copy;
    });
  const set = (copy: Record<string, unknown>, key: string, value: unknown): void => {
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  };
  return fc.oneof(
    { weight: 5, arbitrary: good },
    { weight: 2, arbitrary: changed((copy, key, other) => set(copy, key, other)) },
    { weight: 1, arbitrary: changed((copy, key) => delete copy[key]) },
    { weight: 1, arbitrary: changed((copy, key, other) => set(copy, `${key}x`, other)) },
    { weight: 1, arbitrary: oddValue },
  );
}

/** What goes where a parameter's value belongs; several times the same name where `many` says so. */
export function parameterText(document: OpenApiDocument, parameter: Parameter, known: Known): fc.Arbitrary<string> {
  const good =
    // A valid one may be half a minute.
    parameter.name === 'wait'
      ? fc.constantFrom('0', '1ms', '20ms')
      : validValue(document, parameter.schema, known, parameter.name).map((value) =>
          typeof value === 'object' ? JSON.stringify(value) : String(value),
        );
  return fc.oneof(
    { weight: 5, arbitrary: good },
    { weight: 1, arbitrary: oddText.filter((text) => parameter.name !== 'wait' || !/\d/.test(text)) },
  );
}

export { oddText };
