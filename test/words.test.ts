/** Phrases that a stranger cannot understand stay out of the sources. docs/glossary.md has the words to use. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');
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
/** In comments of the folders whose comments name actor and thing already. */
const REFUSED_IN_CLEAR = [/\bwhoever\b/i, /\bnobody\b/i, /\bsomebody\b/i, /how it stands/i, /\btells? of\b/];
const CLEAR = [
  'actions',
  'api',
  'channels',
  'checkout',
  'cli',
  'client',
  'config',
  'daemon',
  'demo',
  'domain',
  'postgres',
  'receiver',
  'runtime',
  'simulator',
];

interface Line {
  readonly place: string;
  readonly text: string;
}

const lines: Line[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) =>
    readFileSync(join(SRC, file), 'utf8')
      .split('\n')
      .map((text, index) => ({ place: `${file}:${index + 1}`, text })),
  );
const isComment = ({ text }: Line): boolean => /^\s*(\/\/|\/?\*)|\s\/\/\s/.test(text);
const holding = (found: readonly Line[], phrases: readonly RegExp[]): string[] =>
  found.filter(({ text }) => phrases.some((phrase) => phrase.test(text))).map(({ place, text }) => `${place} ${text.trim()}`);

test('no source holds a phrase that was replaced by a plain one', () => {
  expect(lines.length).toBeGreaterThan(10_000);
  expect(holding(lines, REFUSED)).toEqual([]);
});

const ROOT = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith('.md') && name !== OF_MIGRATIONS),
];
test.each(PAGES)('%s holds no phrase that was replaced by a plain one', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8').split('\n');
  const found = text.map((line, index) => ({ place: `${page}:${index + 1}`, text: line }));
  expect(found.length).toBeGreaterThan(10);
  expect(holding(found, [...REFUSED, ...REFUSED_FOR_USERS])).toEqual([]);
});

test.each(CLEAR)('comments of %s name the actor and the thing', (folder) => {
  const comments = lines.filter((line) => line.place.startsWith(`${folder}/`) && isComment(line));
  expect(comments.length).toBeGreaterThan(20);
  expect(holding(comments, REFUSED_IN_CLEAR)).toEqual([]);
});
