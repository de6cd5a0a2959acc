/** Documents about the settings: the reference for people and the JSON Schema for editors. */
import * as z from 'zod';
import { DEFAULT_POLL_POLICY, defaultPolicyOf } from '../domain/polling/poll-plan.ts';
import { knownState, STATE_NAMES } from '../domain/purchases/states.ts';
import { planInWords } from './describe.ts';
import { jsonSchema, notes } from './kinds/field.ts';
import { pathText } from './kinds/problems.ts';
import { file } from './schema/file-schema.ts';
import { VARIABLE_NAMES, VARIABLES } from './schema/variables.ts';

const escaped = (text: string) => text.replaceAll('|', '\\|');
const code = (text: string) =>
  /^[\w./:,*{} -]+$/.test(text) && !/^(?:none|all|required|by state|as the )/.test(text) ? `\`${text}\`` : text;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n');
}

/** Placeholders of names in mappings whose names the operator does not choose. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['states', '<state>'],
  ['headers', '<header>'],
  ['minimumAmount', '<currency>'],
]);

type Line = readonly [path: string, setting: z.ZodType];

/** Every setting below a schema, with its path; `<name>` stands for names that the operator chooses. */
function lines(schema: z.ZodType, path: readonly string[]): Line[] {
  if (notes.has(schema)) return [[pathText(path), schema]];
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, inner]) => lines(inner as z.ZodType, [...path, key]));
  if (schema instanceof z.ZodRecord)
    return lines(schema.valueType as z.ZodType, [...path, KEYS.get(String(path.at(-1))) ?? '<name>']);
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? lines(schema.unwrap() as z.ZodType, path) : [];
}

/** A row for each setting of the file; a setting that several sections share has one, and one that a variable sets refers to it. */
function settings(): string[][] {
  const variables = new Map<z.ZodType, string>(VARIABLE_NAMES.map((name) => [VARIABLES[name], name]));
  return [...Map.groupBy(lines(file, []), ([, setting]) => setting)].map(([setting, same]) => {
    const { meaning, otherwise, isList } = notes.get(setting)!;
    const variable = variables.get(setting);
    return [
      same.map(([path]) => `\`${path}\``).join(', '),
      code(otherwise),
      variable === undefined ? `${meaning}${isList ? ' (a list)' : ''}` : `as \`${variable}\``,
    ];
  });
}

function states(): string[][] {
  const known = STATE_NAMES.map((name, value) => [
    String(value),
    `\`${name}\``,
    knownState(value)!.meaning,
    planInWords(defaultPolicyOf(value)),
  ]);
  return [
    ...known,
    ['any other', '`default`', 'A state that the specification does not list', planInWords(DEFAULT_POLL_POLICY.fallback)],
  ];
}

/** The tables of docs/configuration.md, in Markdown. */
export function markdownReference(): string {
  const variables = VARIABLE_NAMES.map((name) => {
    const { meaning, otherwise, kind, isList } = notes.get(VARIABLES[name])!;
    return [
      `\`${name}\``,
      code(otherwise),
      `${meaning}${kind.secret ? ` (or \`${name}_FILE\`)` : ''}${isList ? ' (a list)' : ''}`,
    ];
  });
  return [
    '### Variables',
    '',
    table(['variable', 'default', 'meaning'], variables),
    '',
    '### File',
    '',
    table(['setting', 'default', 'meaning'], settings()),
    '',
    '### States',
    '',
    table(['number', 'state', 'meaning', 'default plan'], states()),
    '',
  ].join('\n');
}

/** JSON Schema (draft 2020-12) of the settings file. */
export function publishedSchema(): Record<string, unknown> {
  return { title: 'purchase-watch settings', ...jsonSchema(file) };
}
