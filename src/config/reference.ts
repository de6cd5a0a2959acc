/** What is published about the settings: the reference for people and the JSON Schema for editors. */
import * as z from 'zod';
import { DEFAULT_STATE_POLICY, knownState, STATE_NAMES } from '../domain/purchases/states.ts';
import { planInWords } from './describe.ts';
import { jsonSchema, notes } from './kinds/field.ts';
import { pathText } from './kinds/problems.ts';
import { file } from './schema/file-schema.ts';
import { VARIABLE_NAMES, VARIABLES } from './schema/variables.ts';

const escaped = (text: string) => text.replaceAll('|', '\\|');
const code = (text: string) => (/^[\w./:,*{} -]+$/.test(text) && !/^(?:none|all|required|as )/.test(text) ? `\`${text}\`` : text);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n');
}

/** What stands for a name in mappings whose names are not one's own. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['states', '<state>'],
  ['headers', '<header>'],
]);

/** Every setting below a schema, with its path; `<name>` stands for names of one's own. */
function lines(schema: unknown, path: readonly string[]): string[][] {
  const note = notes.get(schema as z.ZodType);
  if (note !== undefined)
    return [[`\`${pathText(path)}\``, code(note.otherwise), `${note.meaning}${note.isList ? ' (a list)' : ''}`]];
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape).flatMap(([key, inner]) => lines(inner, [...path, key]));
  if (schema instanceof z.ZodRecord) return lines(schema.valueType, [...path, KEYS.get(String(path.at(-1))) ?? '<name>']);
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? lines(schema.unwrap(), path) : [];
}

function states(): string[][] {
  const known = STATE_NAMES.map((name, value) => {
    const { meaning, plan } = knownState(value)!;
    return [String(value), `\`${name}\``, meaning, planInWords(plan)];
  });
  return [
    ...known,
    ['any other', '`default`', 'A state that the specification does not list', planInWords(DEFAULT_STATE_POLICY)],
  ];
}

/** The tables of docs/configuration.md, in Markdown. */
export function markdownReference(): string {
  const variables = VARIABLE_NAMES.map((name) => {
    const { meaning, otherwise, kind, isList } = notes.get(VARIABLES[name])!;
    return [
      `\`${name}\``,
      code(otherwise),
      `${meaning}${kind.secret ? ` (or a file: \`${name}_FILE\`)` : ''}${isList ? ' (a list)' : ''}`,
    ];
  });
  return [
    '### Variables',
    '',
    table(['variable', 'default', 'meaning'], variables),
    '',
    '### File',
    '',
    table(['setting', 'default', 'meaning'], lines(file, [])),
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
