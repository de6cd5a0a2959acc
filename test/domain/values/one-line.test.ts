import { expect, test } from 'vitest';
import { bare, LONGEST_TEXT, lineProblem } from '../../../src/domain/values/one-line.ts';

const LONE_SURROGATE = '\ud83d';
const LINE_SEPARATOR = String.fromCodePoint(0x2028);
const SOFT_HYPHEN = String.fromCodePoint(0xad);

test.each<[string, string, string | null]>([
  ['a word', 'ORD-1', null],
  ['blanks inside', 'ORD 1', null],
  ['nothing', '', 'is empty; give a name'],
  ['as many characters as there may be', 'x'.repeat(LONGEST_TEXT), null],
  ['as many characters of two code units', '😀'.repeat(LONGEST_TEXT), null],
  ['one more', 'x'.repeat(LONGEST_TEXT + 1), 'is 201 characters long; at most 200 are accepted'],
  ['half of a character', `a${LONE_SURROGATE}`, 'holds half of a character (a lone surrogate); send well-formed Unicode'],
  ['a tab', 'a\tb', 'holds a control character such as a line break or tab; leave it out'],
  ['a line separator', `a${LINE_SEPARATOR}b`, 'holds a control character such as a line break or tab; leave it out'],
])('a text of %s', (_, text, problem) => expect(lineProblem(text, 'a name')).toBe(problem));

test('blanks and characters that cannot be seen go from the ends, and from nowhere else', () => {
  expect(bare(` ${SOFT_HYPHEN}\ta b${SOFT_HYPHEN}c \n`)).toBe(`a b${SOFT_HYPHEN}c`);
  expect([bare(' \n '), bare('')]).toEqual(['', '']);
});
