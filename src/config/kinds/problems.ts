/** Problems of the settings in words, gathered so that a person mends all of them at once. */
import type { z } from 'zod';
import { HIDDEN_PATH, isShortened } from '../../domain/values/shown-address.ts';
import { isHeaderName } from './headers.ts';
import type { Kind } from './kinds.ts';
import { suggestion } from './nearest.ts';

type Issue = z.core.$ZodIssue;

/** The parts of a kind that a problem names. */
type Expected = Omit<Kind<never>, 'read' | 'write' | 'outline'>;

/** Characters of a value or name that a problem repeats. */
const LONGEST_SHOWN = 100;

/** Paths as people write them: `sites.se.baseUrl`, `webhooks.schedule[2]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`))
    .join('');
}

/** A path in a problem: a text in the place of a header's name that is no such name may be a secret value, and is left out. */
export function placeText(path: readonly PropertyKey[]): string {
  const name = path.indexOf('headers') + 1;
  const placed = name > 0 && name < path.length && !isHeaderName(String(path[name])) ? path.slice(0, name) : path;
  return pathText(placed.map((key) => (typeof key === 'string' ? cut(key) : key)));
}

/** A list or mapping in the wrong place is not repeated: a secret may lie anywhere in it. */
function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a mapping';
  const text = JSON.stringify(value) ?? String(value);
  return cut(text);
}

function cut(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** Credentials typed into an address are refused, and not repeated; a password may hold slashes and signs of its own. */
function withoutCredentials(value: unknown, { isAddress }: Expected): unknown {
  if (typeof value !== 'string') return value;
  const left = value.replace(/^.*@/s, '…@').replace(/\?.*$/s, '?…');
  // The slashes of the scheme stay.
  return isAddress ? left.replace(/(?<![:/])\/(?=[^/]).*$/s, HIDDEN_PATH) : left;
}

/** One line: where, what was written, what is expected, and what was probably meant. */
export function wrongValue(where: string, value: unknown, kind: Expected): string {
  if (value === undefined || value === null) return `${where}: is missing; expected ${kind.expected}`;
  const fault = kind.fault?.(value);
  if (fault !== undefined) return `${where}: ${fault}`;
  const quotes = typeof value !== 'string' && kind.json.type === 'string' ? ' (put it in quotes)' : '';
  if (kind.secret) return `${where}: its value (not shown) is not ${kind.expected}${quotes}`;
  const hint = typeof value === 'string' && kind.names ? suggestion(value, kind.names) : '';
  const written = shown(withoutCredentials(value, kind));
  if (kind.isAddress && typeof value === 'string' && isShortened(value))
    return `${where}: ${written} is shortened, as addresses are shown; write the whole address`;
  return `${where}: ${written} is not ${kind.expected}${quotes}${hint}`;
}

const NOT_THIS: ReadonlyMap<string, string> = new Map([
  ['array', 'a list'],
  ['record', 'a mapping by name'],
  ['string', 'text'],
]);

/**
 * The lines of one zod issue. `written` finds what the file says at a path: before `${…}` was filled in, because what a
 * placeholder stands for may be a secret in the wrong place.
 */
export function issueLines(
  issue: Issue,
  at: readonly PropertyKey[],
  written: (path: readonly PropertyKey[]) => unknown,
): string[] {
  const path = [...at, ...issue.path];
  const where = placeText(path);
  if (issue.code === 'custom' && issue.params?.fault) return [`${where}: ${issue.params.fault}`];
  if (issue.code === 'custom' && issue.params?.kind) return [wrongValue(where, written(path), issue.params.kind as Kind<never>)];
  // Not wrong by itself, but beside another one; the sentence is ready.
  if (issue.code === 'custom' && issue.params?.problem) return [`${where}: ${issue.params.problem}`];
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(', ');
    return issue.keys.map(
      (key) => `${placeText([...path, key])}: is not a setting${suggestion(key, known)}; known here: ${issue.message}`,
    );
  }
  if (issue.code === 'invalid_key') {
    const key = String(issue.path.at(-1));
    const [inner] = issue.issues;
    const names = inner?.code === 'custom' ? (inner.params?.names as readonly string[]) : [];
    return [`${where}: ${shown(key)} is not ${inner?.message}${suggestion(key, names)}`];
  }
  // Left are lists and mappings that are something else; what that is, is not repeated either.
  const expected = issue.code === 'invalid_type' ? (NOT_THIS.get(issue.expected) ?? issue.message) : issue.message;
  return [`${where}: is not ${expected}`];
}
