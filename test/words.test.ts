/** Phrases that a stranger cannot understand stay out of the sources. docs/glossary.md has the words to use. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
/** In every comment, name and text, and in the pages for users. */
const REFUSED = [
  /\banew\b/,
  /due for ever/,
  /below the rope/,
  /keeps? house/i,
  /\bIN_VAIN\b|\bA_MOMENT\b|\bsmallThings\b/,
  /told_to_nobody/,
  /reasons? of ours/,
];
/** In the pages for users, besides. */
const REFUSED_FOR_USERS = [
  /hears? of it\b/,
  /would have been said/,
  /nobody is reminded/,
  /what (?:waits|is for it)[^.]* goes out/,
  /\btold (?:on|to|in) Slack\b/,
];
/** Fixed by a landed migration: comments of columns. */
const OF_MIGRATIONS = 'docs/sql.md';
/** In comments: the actor and the thing have names, and the verb is alert, deliver, notify or log. */
const REFUSED_IN_COMMENTS = [
  /\bwhoever\b/i,
  /\bnobody\b/i,
  /\bsomebody\b/i,
  /how it stands/i,
  /\btells? of\b/,
  /\btold\b/i,
  /\bheard?\b/,
  /\bhears\b/,
];
/** Folders of tests are stories about people, who may tell and hear; their helpers are not. */
const FOLDERS = ['src', 'packages/client/src', 'packages/simulator/src', 'bench', 'tools', 'test/support'];

interface Line {
  readonly place: string;
  readonly text: string;
}

const linesOf = (file: string): Line[] =>
  readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .map((text, index) => ({ place: `${file}:${index + 1}`, text }));
const sourcesIn = (folder: string): Line[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .flatMap((file) => linesOf(`${folder}/${file}`));
const isComment = ({ text }: Line): boolean => /^\s*(\/\/|\/?\*)|\s\/\/\s/.test(text);
const holding = (found: readonly Line[], phrases: readonly RegExp[]): string[] =>
  found.filter(({ text }) => phrases.some((phrase) => phrase.test(text))).map(({ place, text }) => `${place} ${text.trim()}`);

test('no source holds a phrase that was replaced by a plain one', () => {
  const lines = FOLDERS.flatMap(sourcesIn);
  expect(lines.length).toBeGreaterThan(10_000);
  expect(holding(lines, REFUSED)).toEqual([]);
});

const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith('.md') && name !== OF_MIGRATIONS),
];
test.each(PAGES)('%s holds no phrase that was replaced by a plain one', (page) => {
  const found = linesOf(page);
  expect(found.length).toBeGreaterThan(10);
  expect(holding(found, [...REFUSED, ...REFUSED_FOR_USERS])).toEqual([]);
});

const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
test.each([...rooms.map(({ name }) => `src/${name}`), ...FOLDERS.slice(1)])(
  'comments of %s name the actor and the thing',
  (folder) => {
    const comments = sourcesIn(folder).filter(isComment);
    expect(comments.length).toBeGreaterThan(20);
    expect(holding(comments, REFUSED_IN_COMMENTS)).toEqual([]);
  },
);

/** The sources; of a docstring of several lines the first line has its words. */
const begun = ['src', 'packages']
  .flatMap(sourcesIn)
  .map((line, index, lines) =>
    line.text.trim() === '/**' ? { ...line, text: `/** ${lines[index + 1]!.text.replace(/^\s*\* /, '')}` } : line,
  );
test.each([
  ['"What"', /(?:\/\*\*?|^\s*\*|\/\/) What\b/],
  ['a pronoun without a noun', /\/\*\* (?:It|Its|They|Them|This|That|These|Those)\b/],
])('no comment begins with %s', (_, phrase) => {
  expect(begun.filter(isComment).length).toBeGreaterThan(5_000);
  expect(holding(begun, [phrase])).toEqual([]);
});
