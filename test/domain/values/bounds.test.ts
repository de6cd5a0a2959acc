import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutJson, cutText, LONGEST_TEXT } from '../../../src/domain/values/bounds.ts';
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
  expect(cutJson(decimal('9'.repeat(1_000)))).toMatch(/^9+… \(cut\)$/);
});
