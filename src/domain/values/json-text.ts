/** JSON that is handed on as the text it is: parsed and written again it would cost time for nothing. */
import { type JsonValue, stringifyExact } from './exact-json.ts';

export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The text of an object; `undefined` is left out, as `JSON.stringify` does. */
export function objectText(members: Readonly<Record<string, JsonValue | JsonText | undefined>>): string {
  const texts = Object.entries(members).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(name)}:${value instanceof JsonText ? value.text : stringifyExact(value)}`],
  );
  return `{${texts.join()}}`;
}

/** The members of an object, by name, from its JSON text, which must be valid: each value as its text. */
export function membersOf(text: string): Map<string, JsonText> {
  const members = new Map<string, JsonText>();
  let depth = 0;
  let name: string | null = null;
  let begin = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '"') {
      const end = endOfString(text, at);
      name ??= JSON.parse(text.slice(at, end + 1)) as string;
      at = end;
      continue;
    }
    if (depth === 1 && sign === ':') begin = at + 1;
    if (depth === 1 && name !== null && (sign === ',' || sign === '}')) {
      members.set(name, new JsonText(text.slice(begin, at).trim()));
      name = null;
    }
    depth += levelsOf(sign);
  }
  return members;
}

/** Whether a valid JSON text has more levels of lists and objects. */
export function isDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '"') at = endOfString(text, at);
    else depth += levelsOf(sign);
    if (depth > levels) return true;
  }
  return false;
}

/** How many levels a sign outside strings opens; negative where it closes one. */
function levelsOf(sign: string): number {
  if (sign === '{' || sign === '[') return 1;
  return sign === '}' || sign === ']' ? -1 : 0;
}

/** Where the quotation mark is that ends the string which begins here. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; ; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
}
