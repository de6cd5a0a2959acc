/** What SECURITY.md and docs/security.md name exists, and docs/security.md leaves out no requirement of ASVS 5.0, levels 1 and 2. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Requirements of levels 1 and 2 in OWASP ASVS 5.0.0. */
const REQUIREMENTS = 253;
const STATES = ['Open', 'Met', 'Not applicable'];

interface Row {
  readonly ids: readonly string[];
  readonly state: string;
  readonly text: string;
}

/** `1.2.3` and `1.2.3–5` (the last number runs). */
function expanded(ids: string): string[] {
  return ids.split(', ').flatMap((each) => {
    const [first = '', last] = each.split('–');
    const [chapter, section, from] = first.split('.').map(Number);
    const to = last === undefined ? from! : Number(last);
    return Array.from({ length: to - from! + 1 }, (_, index) => `${chapter}.${section}.${from! + index}`);
  });
}

/** The page has a table below each state. */
function rows(): Row[] {
  return STATES.flatMap((state) => {
    const [, section = ''] = read('docs/security.md').split(`\n## ${state}\n`);
    const table = section.split('\n## ', 1)[0]!;
    return [...table.matchAll(/^\| (\d[\d., –]*) \| [^|]+ \| ([^|]+) \|$/gm)].map(([, ids, text]) => ({
      ids: expanded(ids!.trim()),
      state,
      text: text!.trim(),
    }));
  });
}

test.each(['SECURITY.md', 'docs/security.md'])('every file that %s names exists', (page) => {
  const named = [...read(page).matchAll(/`((?:src|test|tools|docs|\.ci)\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('each requirement stands in the page once', () => {
  const ids = rows().flatMap((row) => row.ids);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids).toHaveLength(REQUIREMENTS);
});

test('what is met names code or a test, and what is not says why', () => {
  expect([...read('docs/security.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(STATES);
  expect(
    rows().filter(({ state, text }) => state === 'Met' && !/`(?:src|test|tools|docs|Dockerfile|\.npmrc)/.test(text)),
  ).toEqual([]);
  expect(rows().filter(({ state, text }) => state === 'Open' && text.length < 15)).toEqual([]);
});
