import { expect, test } from 'vitest';
import { sentence } from '../../../src/domain/values/sentence.ts';

test.each([
  ['the database is away', 'The database is away'],
  ['Is it away?', 'Is it away?'],
  ['2 sites are paused', '2 sites are paused'],
])('%j is said as %j', (text, said) => {
  expect(sentence(text)).toBe(said);
});
