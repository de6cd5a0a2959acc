import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decimal,
  isDecimal,
  isSame,
  parseExact,
  parseExactQuickly,
  stringifyExact,
} from '../../../src/domain/values/exact-json.ts';

test.each(['249.50', '0.10', '1.0', '12345678901234567890', '-0', '1e2', '1E400', '0.1000000000000000055511151231257827'])(
  'the digits of %s survive reading and writing',
  (digits) => {
    const text = `{"price":${digits},"rows":[${digits}]}`;
    expect(stringifyExact(parseExact(text))).toBe(text);
    expect(isDecimal((parseExact(text) as { price: unknown }).price)).toBe(true);
  },
);

test('numbers that lose nothing stay numbers', () => {
  expect(parseExact('{"a":1,"b":-2.5,"c":0,"d":9007199254740991}')).toEqual({ a: 1, b: -2.5, c: 0, d: 9007199254740991 });
});

test('what is no number is read as it is', () => {
  for (const parse of [parseExact, parseExactQuickly])
    expect(parse('["x",true,null,{"a":"1.50"}]')).toEqual(['x', true, null, { a: '1.50' }]);
});

test('a decimal is written with its digits, and must be a number or another plain value', () => {
  expect(stringifyExact({ price: decimal('249.50') })).toBe('{"price":249.50}');
  expect(() => decimal('{"a":1}')).toThrow(SyntaxError);
  expect(() => decimal('12,50')).toThrow(SyntaxError);
});

test('what was read and written once is read and written the same again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(stringifyExact(parseExact(text))).toBe(text);
    }),
  );
});

test('a key with escapes is itself, whatever keys were read before', () => {
  const keys = ['"', '\n', '\u0001', 'a"b', '\\', '"":', '__proto__'];
  const text = (key: string) => `{"a":1.50,${JSON.stringify(key)}:[{${JSON.stringify(key)}:"a\\": "}],"z":1}`;
  for (const before of ['\\', 'a\\"', 'caf\\']) {
    JSON.parse(text(before));
    for (const parse of [parseExact, parseExactQuickly])
      for (const key of keys) {
        expect(stringifyExact(parse(text(key)))).toBe(text(key));
        expect(Object.keys(parse(`{"a":1.50,${JSON.stringify(key)} :1}`) as object)).toEqual(['a', key]);
      }
    expect(parseExact('{"a":1.50,"caf\\u00e9":1}')).toHaveProperty('café');
  }
});

test('any number keeps its text', () => {
  const numberText = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 10n ** 30n }),
      fc.stringMatching(/^(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/),
    )
    .map(([sign, whole, rest]) => `${sign}${whole}${rest}`);
  fc.assert(
    fc.property(numberText, (text) => {
      expect(stringifyExact(parseExact(`[${text}]`))).toBe(`[${text}]`);
    }),
  );
});

test.each(['', '{', '{"a":}', '01', '1.', 'NaN', '{"a":1} x'])('%j is refused', (text) => {
  expect(() => parseExact(text)).toThrow(SyntaxError);
});

test.each<[unknown, unknown, boolean]>([
  [{ a: 1, b: null }, { b: null, a: 1 }, true],
  [{ alarm: { at: 1, rule: 'share' } }, { alarm: { rule: 'share', at: 1 } }, true],
  [{ alarm: { at: 1 } }, { alarm: { at: 2 } }, false],
  [{ alarm: null }, { alarm: { at: 1 } }, false],
  [{ a: 1 }, { a: 1, b: undefined }, false],
  [{ a: 1, b: 2 }, { a: 1, b: 3 }, false],
  [[1, 2], [2, 1], false],
  [undefined, { a: 1 }, false],
])('%j and %j are the same: %j', (one, other, same) => {
  expect(isSame(one, other)).toBe(same);
  expect(isSame(other, one)).toBe(same);
});
