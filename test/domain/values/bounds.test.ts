import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutJson, cutText, isAmount, isCurrency, LONGEST_TEXT } from '../../../src/domain/values/bounds.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';

test('a text stays as it is, or is cut to the most with a mark, and never within a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), fc.integer({ min: 10, max: 600 }), (text, most) => {
      const cut = cutText(text, most);
      if (text.length <= most) expect(cut).toBe(text);
      else {
        expect(cut.length).toBeLessThanOrEqual(most);
        expect(cut.endsWith('… (cut)')).toBe(true);
        expect(text.startsWith(cut.slice(0, -'… (cut)'.length))).toBe(true);
        expect(cut.isWellFormed()).toBe(true);
      }
    }),
  );
});

test('JSON that is too long becomes the beginning of its text', () => {
  const whole = { rates: [1, 2] };
  expect(cutJson(whole)).toBe(whole);
  for (const value of [null, true, 7, 'short', decimal('1.50')]) expect(cutJson(value)).toBe(value);
  const long = cutJson({ rates: Array.from({ length: 1_000 }, () => 'x') });
  expect(long).toMatch(/^\{"rates":\["x",.*… \(cut\)$/);
  expect((long as string).length).toBe(LONGEST_TEXT);
  const fits = ['x'.repeat(LONGEST_TEXT - 4)];
  expect(cutJson(fits)).toBe(fits);
  expect(cutJson('x'.repeat(LONGEST_TEXT + 1))).toBe(cutText('x'.repeat(LONGEST_TEXT + 1)));
  expect(cutJson(decimal('9'.repeat(1_000)))).toMatch(/^9+… \(cut\)$/);
});

test('of a text as much is kept as fits', () => {
  expect(cutText('x'.repeat(257))).toBe(`${'x'.repeat(249)}… (cut)`);
  expect(cutText(`${'x'.repeat(248)}😀${'x'.repeat(9)}`)).toBe(`${'x'.repeat(248)}… (cut)`);
  expect(cutText('x'.repeat(256))).toBe('x'.repeat(256));
});

test('an amount has the digits of a 128-bit decimal, and a currency a short code', () => {
  const [most, more] = ['9'.repeat(29), '9'.repeat(30)];
  const amounts = ['0', '249.50', '-1', most, `0.${most}`, '1e29', '1e5', '1E+05', '25e-10'];
  expect(amounts.filter((rawJSON) => !isAmount({ rawJSON }))).toEqual([]);
  const none = [more, `0.${more}`, '2e29', '-2e29', '1e30', '1e-030', '1e', '1.', 'x1', '1x'];
  expect(none.filter((rawJSON) => isAmount({ rawJSON }))).toEqual([]);
  expect(['SEK', 'X'.repeat(16), 'X'.repeat(17)].map(isCurrency)).toEqual([true, true, false]);
});
