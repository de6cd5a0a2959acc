/** Reads the settings file: YAML, then `${NAME}` from the environment, then the schema. */
import { resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { unreadFile } from '../../domain/values/errors.ts';
import { issueLines, pathText, placeText } from '../kinds/problems.ts';
import { type FileSettings, file } from '../schema/file-schema.ts';
import type { Environment } from './environment.ts';
import { readPlainFile } from './plain-file.ts';

function at(tree: unknown, path: readonly PropertyKey[]): unknown {
  let here = tree;
  for (const key of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<PropertyKey, unknown>)[key];
  }
  return here;
}

// In YAML's flow style (`{ secret: ${NAME} }`) a brace ends a plain value, so while YAML is read, placeholders wear other
// brackets: characters that no text uses, one for one, which keeps line and column.
const OPEN = '\uE000';
const CLOSE = '\uE001';
const hidden = (text: string) => text.replace(/\$\{([A-Za-z0-9_]*)\}/g, `$${OPEN}$1${CLOSE}`);
const restored = (text: string) => text.replaceAll(OPEN, '{').replaceAll(CLOSE, '}');

function restore(tree: unknown): unknown {
  if (typeof tree === 'string') return restored(tree);
  if (Array.isArray(tree)) return tree.map(restore);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [restored(key), restore(value)]));
}

function parseTree(path: string, text: string, problems: string[]): unknown {
  const lines = new LineCounter();
  const document = parseDocument(hidden(text), { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors; // the others mostly follow from the first
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    // The library's own message quotes the file, which may hold secrets; its code says the same in a word.
    const what = error.code.toLowerCase().replaceAll('_', ' ');
    problems.push(`${path}: line ${line}, column ${col}: cannot be read as YAML (${what})`);
    return undefined;
  }
  try {
    return restore(document.toJS());
  } catch {
    problems.push(`${path}: cannot be read as YAML (an alias without its anchor, or too many of them)`);
    return undefined;
  }
}

/** Fills in `${NAME}`; `$${` stands for `${` itself. `spoilt` gathers the paths where that failed. */
function fill(
  tree: unknown,
  path: readonly PropertyKey[],
  environment: Environment,
  spoilt: Set<string>,
  problems: string[],
): unknown {
  if (typeof tree === 'string') {
    const where = pathText(path);
    const spoil = (problem: string) => {
      spoilt.add(where);
      problems.push(`${placeText(path)}: ${problem}`);
      return '';
    };
    return tree.replace(/\$\$\{|\$\{([^}]*)\}?/g, (found, name: string) => {
      if (found === '$${') return '${';
      if (!/^\$\{[A-Za-z_]\w*\}$/.test(found))
        return spoil(`a placeholder is written \${NAME}; the characters \${ themselves $\${`);
      return environment.lookUp(name, problems) ?? spoil(`${found}: there is no variable ${name} (nor ${name}_FILE)`);
    });
  }
  const inside = (value: unknown, key: PropertyKey) => fill(value, [...path, key], environment, spoilt, problems);
  if (Array.isArray(tree)) return tree.map(inside);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, inside(value, key)]));
}

function originsOf(tree: unknown, path: readonly string[], name: string): [string, string][] {
  if (typeof tree === 'object' && tree !== null && !Array.isArray(tree)) {
    return Object.entries(tree).flatMap(([key, value]) => originsOf(value, [...path, key], name));
  }
  const placeholders = JSON.stringify(tree).match(/(?<!\$)\$\{[^}]*\}/g) ?? [];
  return [[path.join('.'), [`file ${name}`, ...placeholders].join(' ')]];
}

/** A section without the entries that issues are about. */
function without(section: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  if (typeof section !== 'object' || section === null) return section;
  const wrong = new Set(issues.flatMap(({ path, ...issue }) => (issue.code === 'unrecognized_keys' ? issue.keys : path[0])));
  return Object.fromEntries(Object.entries(section).filter(([key]) => !wrong.has(key)));
}

/**
 * Reads and checks the file section by section, so that a slip in one hides no problem in another. Null when it cannot be used at all; else
 * the checked sections without what has problems in them, what was written at a path, `${…}` and all, and where each value came from.
 */
export function readSettingsFile(path: string, environment: Environment, problems: string[]) {
  let text: string;
  try {
    text = readPlainFile(path);
  } catch (error) {
    problems.push(`PURCHASE_WATCH_CONFIG: ${unreadFile(resolve(path), error)}`);
    return null;
  }
  const tree = parseTree(path, text, problems) ?? {};
  if (typeof tree !== 'object' || Array.isArray(tree)) {
    problems.push(`${path}: is not a mapping with ${Object.keys(file.shape).join(', ')}`);
    return null;
  }
  const written = (where: readonly PropertyKey[]) => at(tree, where);
  // A section whose lines are all commented out reads as null: the same as absent.
  const given = Object.fromEntries(Object.entries(tree).filter(([, value]) => value !== null));
  const spoilt = new Set<string>();
  const filled = fill(given, [], environment, spoilt, problems) as Record<string, unknown>;
  const list = (issues: readonly z.core.$ZodIssue[], at: readonly PropertyKey[]) => {
    // A value with a placeholder that could not be filled in has its problem already; an issue beside the value is listed.
    const isBeside = (issue: z.core.$ZodIssue) => issue.code === 'custom' && issue.params?.problem !== undefined;
    const fresh = issues.filter((issue) => isBeside(issue) || !spoilt.has(pathText([...at, ...issue.path])));
    problems.push(...fresh.flatMap((issue) => issueLines(issue, at, written)));
  };

  const sections = new Map<string, unknown>();
  const strays = new Map(Object.entries(filled));
  for (const [key, schema] of Object.entries(file.shape)) {
    if (!strays.has(key)) continue;
    const result = schema.safeParse(strays.get(key));
    strays.delete(key);
    if (result.success) sections.set(key, result.data);
    else {
      list(result.error.issues, [key]);
      // Entries without issues are compared with the rest of the settings, so that those problems are listed, too.
      const rest = schema.safeParse(without(filled[key], result.error.issues));
      if (rest.success) sections.set(key, rest.data);
    }
  }
  list(file.safeParse(Object.fromEntries(strays)).error?.issues ?? [], []);
  return { sections: Object.fromEntries(sections) as Partial<FileSettings>, written, origins: originsOf(given, [], path) };
}
