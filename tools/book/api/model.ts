/** The parts of an OpenAPI 3.1 document that the page reads, and a schema in a few words. */
import { HOUR } from '../../../src/domain/values/time.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

export interface Answer {
  readonly description: string;
  readonly content?: Content;
}

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** What a key is asked for; absent where keys are not looked at. */
  readonly 'x-scope'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /** By the type of event. */
  readonly webhooks?: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The name of a schema of `components`, or null for any other. */
export function schemaName(schema: Schema): string | null {
  return schema.$ref?.replace('#/components/schemas/', '') ?? null;
}

/** The schema itself where it is only named. */
export function resolved(document: OpenApiDocument, schema: Schema): Schema {
  const name = schemaName(schema);
  return name === null ? schema : (document.components?.schemas?.[name] ?? {});
}

/** The alternatives of a schema; itself when there are none. */
export function alternatives(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? schema.oneOf ?? [schema];
}

/** All properties, those of combined schemas too, with whether each is always there. */
export function propertiesOf(document: OpenApiDocument, given: Schema): { name: string; schema: Schema; required: boolean }[] {
  const schema = resolved(document, given);
  const own = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    schema: property,
    required: schema.required?.includes(name) ?? false,
  }));
  return [...(schema.allOf ?? []).flatMap((part) => propertiesOf(document, part)), ...own];
}

/** Bounds and formats as a reader would say them. */
export function limitsOf(schema: Schema): string {
  const parts: string[] = [];
  if (schema.format !== undefined) parts.push(schema.format);
  if (schema.minLength !== undefined || schema.maxLength !== undefined) {
    parts.push(`${range(schema.minLength, schema.maxLength)} characters`);
  }
  if (schema.minimum !== undefined || schema.maximum !== undefined) parts.push(range(schema.minimum, schema.maximum));
  if (schema.minItems !== undefined || schema.maxItems !== undefined) {
    parts.push(`${range(schema.minItems, schema.maxItems)} entries`);
  }
  if (schema.default !== undefined) parts.push(`${JSON.stringify(schema.default)} when left out`);
  return parts.join(', ');
}

function range(from: number | undefined, to: number | undefined): string {
  if (to === undefined || to >= Number.MAX_SAFE_INTEGER) return `at least ${grouped(from ?? 0)}`;
  return from === undefined || from <= Number.MIN_SAFE_INTEGER ? `at most ${grouped(to)}` : `${grouped(from)} to ${grouped(to)}`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/**
 * A value of this schema to show: its own example where it has one, otherwise made from its parts. A time is always one
 * that lies ahead: what ends in the past is refused.
 */
export function exampleOf(document: OpenApiDocument, given: Schema, depth = 0): unknown {
  const schema = resolved(document, given);
  if (schema.format === 'date-time') return new Date(Math.ceil(Date.now() / HOUR + 1) * HOUR).toISOString();
  const [own] = [
    given.example,
    ...(given.examples ?? []),
    schema.example,
    ...(schema.examples ?? []),
    schema.const,
    schema.default,
  ].filter((value) => value !== undefined);
  if (own !== undefined) return own;
  if (schema.enum !== undefined) return schema.enum[0];
  if (depth > 6) return null;
  const [first] = alternatives(schema);
  if (first !== undefined && first !== schema) return exampleOf(document, first, depth + 1);
  const [type] = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [schema.properties ? 'object' : 'string']);
  switch (type) {
    case 'object':
      return Object.fromEntries(
        propertiesOf(document, schema)
          .filter((property) => property.required || hasExample(document, property.schema))
          .map((property) => [property.name, exampleOf(document, property.schema, depth + 1)]),
      );
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(document, schema.items, depth + 1)];
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, Math.min(1, schema.maximum ?? 1));
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return schema.format === 'uri' ? 'https://shop.example/' : '…';
  }
}

function hasExample(document: OpenApiDocument, schema: Schema): boolean {
  return (schema.example ?? resolved(document, schema).example) !== undefined;
}
