import { expect, test } from 'vitest';
import { splitCells } from '../../../src/actions/registrations/csv.ts';

test.each<[string, string, readonly string[] | 'open' | 'broken']>([
  ['a,b,c', ',', ['a', 'b', 'c']],
  ['', ',', ['']],
  ['a,', ',', ['a', '']],
  [',a', ',', ['', 'a']],
  ['\ta', '\t', ['', 'a']],
  ['"a"\t"b"', '\t', ['a', 'b']],
  ['"a,b";c', ';', ['a,b', 'c']],
  ['"say ""yes"""', ',', ['say "yes"']],
  ['""', ',', ['']],
  [' "a" , "b" ', ',', ['a', 'b']],
  ['a, b', ',', ['a', ' b']],
  ['"a\nb",c', ',', ['a\nb', 'c']],
  ['a,"b', ',', 'open'],
  ['a,"b""', ',', 'open'],
  ['"a"b,c', ',', 'broken'],
  ['a"b,c', ',', 'broken'],
])('%j by %j is %j', (text, separator, cells) => {
  expect(splitCells(text, separator)).toEqual(cells);
});
