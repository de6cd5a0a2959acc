import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, humanDuration, parseDuration } from '../../../src/domain/values/duration.ts';

describe('durations in settings', () => {
  test.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['10m', 600_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('%s is %i ms', (text, length) => {
    expect(parseDuration(text)).toBe(length);
  });

  test.each(['', '5', 's', '1.5s', '-5s', '5 s', '5S', '5sec', '1h30m', '999999999999999d'])('%j is not a duration', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  test('are written in the largest unit that is exact', () => {
    expect([0, 250, 90_000, 600_000, 86_400_000, 90_000_000].map(formatDuration)).toEqual([
      '0s',
      '250ms',
      '90s',
      '10m',
      '1d',
      '25h',
    ]);
  });

  test('come back as they were written', () => {
    fc.assert(fc.property(fc.nat(), (length) => parseDuration(formatDuration(length)) === length));
  });
});

describe('durations for people', () => {
  test.each([
    [0, '0 s'],
    [250, '250 ms'],
    [5_000, '5 s'],
    [5_400, '5 s'],
    [130_000, '2 min 10 s'],
    [3_599_900, '1 h'],
    [277_200_000, '3 d 5 h'],
    [2_592_000_000, '30 d'],
    [-60_000, '-1 min'],
  ])('%i ms is %s', (length, text) => {
    expect(humanDuration(length)).toBe(text);
  });
});
