import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/notifier/retry-after.ts';

const now = Date.UTC(2026, 10, 20, 9, 15);

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['Fri, 20 Nov 2026 09:17:00 GMT', 120_000],
  ['Friday, 20-Nov-26 09:17:00 GMT', 120_000],
  ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
])('%j is understood', (header, expected) => {
  expect(parseRetryAfter(header, now)).toBe(expected);
});

test.each([undefined, null, '', '-5', '1.5', 'soon', '2026-11-20', 'Fri, never', '12 monkeys'])(
  '%j asks for nothing',
  (header) => {
    expect(parseRetryAfter(header, now)).toBeNull();
  },
);
