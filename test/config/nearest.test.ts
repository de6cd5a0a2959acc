import { expect, test } from 'vitest';
import { distance, nearest, suggestion } from '../../src/config/nearest.ts';

test('a swap of neighbours is one step', () => {
  expect(distance('stuck', 'stcuk')).toBe(1);
  expect(distance('', 'abc')).toBe(3);
});

test.each([
  ['timout', 'timeout'],
  ['TIMEOUT', 'timeout'],
  ['concur', 'concurrency'],
])('%s means %s', (given, meant) => {
  expect(nearest(given, ['baseUrl', 'timeout', 'concurrency'])).toBe(meant);
});

test('nothing is suggested for something else altogether', () => {
  expect(nearest('colour', ['baseUrl', 'timeout'])).toBeNull();
  expect(suggestion('colour', ['baseUrl'])).toBe('');
});
