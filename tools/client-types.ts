/** The types of the client, written from the schemas of the OpenAPI document and of the events. */

import { createApi } from '../src/api/routes.ts';
import { loadSettings } from '../src/config/load-settings.ts';
import { systemEventsSchema } from '../src/domain/events/documents.ts';
import { EVENT_TYPES, SYSTEM_EVENTS } from '../src/domain/events/system-event-types.ts';
import type { OpenApiDocument, Schema } from './book/api/model.ts';

/** What the client exports; what these refer to follows. */
const RESOURCES = [
  'Purchase',
  'PurchaseWithTransitions',
  'Registration',
  'BatchResult',
  'Invoice',
  'ProblemField',
  'PurchaseEventData',
];
const HEAD = `/** Written by \`npm run contract\` from the schemas of the API and of the events; change those instead. */
import type { Decimal, JsonObject, JsonValue } from './json.ts';
`;

/** The text of the file. */
export async function clientTypes(): Promise<string> {
  const { components } = await openApiDocument();
  const schemas: Readonly<Record<string, Schema>> = {
    ...(systemEventsSchema().$defs as Record<string, Schema>),
    ...components?.schemas,
  };
  const events = EVENT_TYPES.map((type) => String(SYSTEM_EVENTS[type].meta()?.id));
  const declared = new Set<string>();
  const parts: string[] = [];
  const declare = (name: string): void => {
    if (declared.has(name)) return;
    declared.add(name);
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
    const text = typeOf(withoutRepeats(schema, schemas.PurchaseEventData), '');
    parts.push(
      `\n${comment(schema, '')}export ${text.startsWith('{') ? `interface ${name} ${text}` : `type ${name} = ${text};`}\n`,
    );
    for (const [, other] of JSON.stringify(schema).matchAll(/#\/(?:components\/schemas|\$defs)\/(\w+)"/g)) declare(other!);
  };
  for (const name of [...RESOURCES, ...events]) declare(name);
  parts.push('\n/** Every event there is. Later versions may add types: end a `switch` with a `default` that ignores them. */\n');
  parts.push(`export type WatchEvent =\n${events.map((name) => `  | ${name}`).join('\n')};\n`);
  return HEAD + parts.join('');
}

/** The OpenAPI document. It needs no database: it is made from the routes' definitions. */
export async function openApiDocument(): Promise<OpenApiDocument> {
  const site = { name: 'default' } as never;
  const app = createApi({
    sql: null as never,
    settings: { ...loadSettings({}), sites: [site] },
    health: null as never,
    log: { debug: () => undefined } as never,
  });
  return (await (await app.request('http://localhost/openapi.json')).json()) as OpenApiDocument;
}

/** An event whose data refers to the fields that every event of a purchase has, in place of repeating them. */
function withoutRepeats(event: Schema, shared: Schema | undefined): Schema {
  const common = Object.entries(shared?.properties ?? {});
  const { data } = event.properties ?? {};
  const own = data?.properties ?? {};
  if (!common.every(([name, field]) => JSON.stringify(own[name]) === JSON.stringify(field))) return event;
  const properties = Object.fromEntries(Object.entries(own).filter(([name]) => !common.some(([each]) => each === name)));
  const allOf = [{ $ref: '#/$defs/PurchaseEventData' }, { ...data, properties }];
  return { ...event, properties: { ...event.properties, data: { allOf } } };
}

function typeOf(schema: Schema, indent: string): string {
  const { $ref, enum: words, type, format, properties, items } = schema;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return literal(schema.const);
  if (words !== undefined) return words.map(literal).join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map((each) => typeOf(each, indent)).join(' & ');
  const choices =
    schema.anyOf ?? schema.oneOf ?? (typeof type === 'object' ? type.map((each) => ({ ...schema, type: each })) : null);
  if (choices !== null) return isAnything(type) ? 'JsonValue' : choices.map((each) => typeOf(each, indent)).join(' | ');
  if (type === 'array') return `readonly ${grouped(typeOf(items ?? {}, indent))}[]`;
  if (type === 'object') return properties === undefined ? 'JsonObject' : objectOf(schema, indent);
  if (type === 'integer' || type === 'number') return format === 'decimal' ? 'Decimal' : 'number';
  return typeof type === 'string' ? type : 'JsonValue';
}

function objectOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const text = typeOf(schema, inner);
    const isThere = required.includes(name);
    return `${comment(schema, inner)}${inner}readonly ${name}${isThere ? '' : '?'}: ${text}${isThere ? '' : ' | undefined'};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

function comment({ $ref, description }: Schema, indent: string): string {
  return description === undefined || $ref !== undefined ? '' : `${indent}/** ${description.replaceAll('*/', '* /')} */\n`;
}

function isAnything(type: Schema['type']): boolean {
  return typeof type === 'object' && type.includes('object') && type.includes('string');
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function grouped(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type;
}
