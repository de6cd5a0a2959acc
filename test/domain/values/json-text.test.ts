import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExact, parseExactQuickly, stringifyExact } from '../../../src/domain/values/exact-json.ts';
import { isDeeper, JsonText, membersOf, objectText } from '../../../src/domain/values/json-text.ts';

const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
const indent = fc.constantFrom('', ' ', '\n\t ');

test('an object taken apart and put together again is the same, to the digit', () => {
  fc.assert(
    fc.property(object, indent, (value, space) => {
      const text = JSON.stringify(value, null, space);
      const members = membersOf(text);
      expect([...members.keys()].sort()).toEqual(Object.keys(value).sort());
      expect(stringifyExact(parseExact(objectText(Object.fromEntries(members))))).toBe(JSON.stringify(value));
    }),
  );
  const text = '{"Price":249.50,"a\\"b":{"x":[1,"},{"]},"big":12345678901234567890,"__proto__":null}';
  expect(objectText(Object.fromEntries(membersOf(text)))).toBe(text);
  expect(membersOf('{ }').size).toBe(0);
  expect([...membersOf('{ "a" : ["b", 1.50] , "c" : {"d":"e"} }')].map(([name, { text }]) => [name, text])).toEqual([
    ['a', '["b", 1.50]'],
    ['c', '{"d":"e"}'],
  ]);
  expect(objectText({ a: new JsonText('[1.50]'), b: 2, c: undefined })).toBe('{"a":[1.50],"b":2}');
});

test('levels are counted outside of texts', () => {
  const text = '{"a":[{"b":"[[[[\\"[["}],"c":[]}';
  expect([2, 3, 4].map((levels) => isDeeper(text, levels))).toEqual([true, false, false]);
  expect(isDeeper(`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 100)).toBe(true);
});

test('parsed quickly, JSON is what it is parsed exactly', () => {
  const number = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9]\d{0,19})(\.\d{1,4})?([eE][-+]?\d{1,2})?$/),
    fc.constantFrom('-0', '0.10', '1e5', '9007199254740993', '123456789012345', '1234567890123456'),
  );
  const text = fc.oneof(
    number,
    fc.array(number).map((list) => `[ ${list.join(' ,\n')}]`),
    fc.dictionary(fc.string(), number).map((pairs) => `{${Object.entries(pairs).map(([k, v]) => `${JSON.stringify(k)}:${v}`)}}`),
    fc.json(),
  );
  fc.assert(
    fc.property(text, (json) => {
      expect(stringifyExact(parseExactQuickly(json))).toBe(stringifyExact(parseExact(json)));
    }),
    { numRuns: 500 },
  );
});
