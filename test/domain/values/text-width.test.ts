import { createInterface, type Interface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { cutToWidth, padToWidth, textWidth, wrapToWidth } from '../../../src/domain/values/text-width.ts';

/** Node.js knows how wide texts are, and tells it by where its line editor has the cursor. */
const editor = createInterface({ input: new PassThrough(), output: new PassThrough().resume(), prompt: '', terminal: true });
afterAll(() => editor.close());
function widthInNode(text: string): number {
  Object.assign(editor as { -readonly [K in keyof Interface]: Interface[K] }, { line: text, cursor: text.length });
  const { rows, cols } = editor.getCursorPos();
  expect(rows).toBe(0);
  return cols;
}

test('texts are as wide as Node.js measures them, but for a few signs that nobody types', () => {
  const wrong: string[] = [];
  let tried = 0;
  for (let code = 0x20; code < 0x3_0000; code += 1) {
    const character = String.fromCodePoint(code);
    if (/[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\u2028\u2029]/u.test(character)) continue;
    tried += 1;
    if (textWidth(`a${character}b`) !== widthInNode(`a${character}b`)) wrong.push(character);
  }
  expect(tried).toBeGreaterThan(140_000);
  expect(wrong.length).toBeLessThan(250);
  // What does appear in names and references: letters of any language, digits and emoji. Half a flag is in none.
  const common = wrong.filter((character) => /[\p{Letter}\p{Nd}\p{Emoji_Presentation}]/u.test(character));
  expect(common.filter((character) => !/\p{Regional_Indicator}/u.test(character))).toEqual([]);
  expect(textWidth('日本 🦊 é ①')).toBe(widthInNode('日本 🦊 é ①'));
  expect(textWidth('🇸🇪')).toBe(2);
});

test('a text is cut to columns, not to characters', () => {
  expect([cutToWidth('日本 🦊 fox', 20), cutToWidth('日本', 4)]).toEqual(['日本 🦊 fox', '日本']);
  expect([0, 1, 2, 3, 4, 5].map((most) => cutToWidth('日本 🦊 fox', most))).toEqual(['', '…', '…', '日…', '日…', '日本…']);
});

test('a line breaks at spaces, and not before a unit', () => {
  expect(wrapToWidth('stuck for 20 s at demo-se', 12)).toEqual(['stuck for', '20 s at', 'demo-se']);
  expect(wrapToWidth('a https://shop.example/long b', 8)).toEqual(['a', 'https://shop.example/long', 'b']);
  expect(wrapToWidth('https://shop.example/long b', 8)).toEqual(['https://shop.example/long', 'b']);
  expect(wrapToWidth('', 8)).toEqual(['']);
  expect([wrapToWidth('fox ran', 7), wrapToWidth('fox ran', 6)]).toEqual([['fox ran'], ['fox', 'ran']]);
});

test('a text is filled up with blanks behind or before it, and one that is wider stays', () => {
  expect([padToWidth('日本', 6), padToWidth('日本', 6, true), padToWidth('日本', 3)]).toEqual(['日本  ', '  日本', '日本']);
});
