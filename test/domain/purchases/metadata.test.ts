import { expect, test } from 'vitest';
import { metadataText, parseMetadata } from '../../../src/domain/purchases/metadata.ts';
import { stringifyExact } from '../../../src/domain/values/exact-json.ts';

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test('metadata goes on digit for digit', () => {
  const text = '{"total": 10.50, "id": 12345678901234567890}';
  expect(metadataText(text).text).toBe(text);
  expect(stringifyExact(parseMetadata(text))).toBe('{"total":10.50,"id":12345678901234567890}');
});

test('metadata that is nested too deep for a program is replaced by an object that says so', () => {
  expect(metadataText(nested(100)).text).toBe(nested(100));
  expect(JSON.parse(metadataText(nested(101)).text)).toEqual({ unreadable: expect.stringContaining('nested too deep') });
});

test('metadata that is nested too deep for this program fails no other row', () => {
  expect(parseMetadata(nested(200_000))).toEqual({ unreadable: expect.stringContaining('nested too deep') });
});

test('a text that is no JSON is an error of the caller', () => expect(() => parseMetadata('{')).toThrow(SyntaxError));
