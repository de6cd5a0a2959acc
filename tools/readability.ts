/** Measures how hard the docs are to read: `npm run readability`, or `npm run readability -- --page docs/alerts.md` for the sentences of one page. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { marked, type Token, type Tokens } from 'marked';

const ROOT = join(import.meta.dirname, '..');
/** A sentence with more words than this is long. */
const LONG = 30;
/** Pages that a command writes, wholly or (configuration.md) in part. */
const GENERATED = ['commands', 'configuration', 'errors', 'schema', 'third-party'].map((name) => `docs/${name}.md`);
const VERB =
  "is|are|was|were|has|have|had|does|do|did|can|may|must|will|would|should|needs?|means?|says?|gets?|takes?|holds?|comes?|goes|isn't";
/** Sentences that begin with a pronoun and name no thing: some pronouns always, others where a verb follows at once. */
const BARE = new RegExp(`^(?:(?:it|they|what|whoever|nobody)\\b|(?:this|that|these|those|one|all)\\s+(?:${VERB})\\b)`, 'i');
/** Periods that end no sentence. */
const ABBREVIATION = /\b(?:e\.g|i\.e|etc|vs)\.$/;

/** One sentence, the line of its paragraph, cell or list item (from 1), and what makes it hard. */
export interface Sentence {
  text: string;
  line: number;
  words: number;
  bare: boolean;
}

/** The text of inline tokens without markup; an image has none, code in a line counts as it stands. */
function plain(tokens: Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'image' || token.type === 'html') return '';
      if (token.type === 'br') return ' ';
      return 'tokens' in token && token.tokens ? plain(token.tokens) : 'text' in token ? String(token.text) : '';
    })
    .join('');
}

/** The blocks of prose below a token with their lines: paragraphs, list items, cells of tables. */
function blocks(tokens: Token[], firstLine: number): { text: string; line: number }[] {
  let line = firstLine;
  return tokens.flatMap((token) => {
    const at = line;
    line += token.raw.split('\n').length - 1;
    if (token.type === 'table') {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].flatMap((cells, row) =>
        cells.map((cell) => ({ text: plain(cell.tokens), line: at + (row === 0 ? 0 : row + 1) })),
      );
    }
    if (token.type === 'list') return blocks((token as Tokens.List).items, at);
    if (token.type === 'list_item' || token.type === 'blockquote') return blocks(token.tokens ?? [], at);
    if (token.type === 'paragraph' || token.type === 'text') return [{ text: plain(token.tokens ?? []), line: at }];
    return [];
  });
}

/**
 * The sentences of a Markdown text. A sentence ends at `.`, `!`, `?` before a space, or with its paragraph, list item or cell;
 * headings and code blocks have none, and neither has a text without a letter.
 */
export function sentencesOf(markdown: string): Sentence[] {
  return blocks(marked.lexer(markdown), 1).flatMap(({ text, line }) => {
    const sentences: string[] = [];
    let start = '';
    for (const part of text
      .replaceAll(/\s+/g, ' ')
      .trim()
      .split(/(?<=[.!?]["”)]?) (?=["“(]?[\p{Lu}`\d])/u)) {
      start = start === '' ? part : `${start} ${part}`;
      if (ABBREVIATION.test(start)) continue;
      sentences.push(start);
      start = '';
    }
    return [...sentences, start]
      .filter((sentence) => /\p{L}/u.test(sentence))
      .map((sentence) => ({ text: sentence, line, words: sentence.split(' ').length, bare: BARE.test(sentence) }));
  });
}

/**
 * The figures of a page. `score` is the percentage of its words that stand in sentences above 30 words, plus the percentage of its
 * sentences that begin with a bare pronoun: both are what a reader must hold in mind. Words are counted, and not sentences,
 * so that the short cells of a table do not hide long ones.
 */
export function figures(sentences: Sentence[]) {
  const count = (some: Sentence[]): number => some.reduce((sum, { words }) => sum + words, 0);
  const long = sentences.filter(({ words }) => words > LONG);
  const bare = sentences.filter((sentence) => sentence.bare).length;
  const total = Math.max(sentences.length, 1);
  const score = 100 * (count(long) / Math.max(count(sentences), 1) + bare / total);
  return { sentences: sentences.length, mean: count(sentences) / total, long: (100 * long.length) / total, bare, score };
}

if (import.meta.main) {
  const { page } = parseArgs({ options: { page: { type: 'string' } } }).values;
  const read = (path: string): Sentence[] => sentencesOf(readFileSync(join(ROOT, path), 'utf8'));
  if (page === undefined) {
    const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const rows = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)]
      .map((path) => ({ path, ...figures(read(path)) }))
      .toSorted((a, b) => b.score - a.score);
    console.log('score  sentences  words each  above 30  bare  page');
    for (const { path, sentences, mean, long, bare, score } of rows) {
      const cells = [score.toFixed(1).padStart(5), `${sentences}`.padStart(9), mean.toFixed(1).padStart(10)];
      const note = GENERATED.includes(path) ? ' (generated, wholly or in part)' : '';
      console.log([...cells, `${long.toFixed(1)}%`.padStart(8), `${bare}`.padStart(4), path + note].join('  '));
    }
  } else {
    const hard = read(page).filter(({ words, bare }) => words > LONG || bare);
    for (const { text, line, words, bare } of hard.toSorted((a, b) => b.words - a.words))
      console.log(`${page}:${line}: ${words} words${bare ? ', bare pronoun' : ''}: ${text}`);
  }
}
