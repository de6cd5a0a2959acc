import { expect, test } from 'vitest';
import { earliest, isoTime, isoTimeOrNull } from '../../../src/domain/values/time.ts';

test('the first of some instants, and none of none', () => {
  expect([earliest([3, 1, 2]), earliest([])]).toEqual([1, null]);
});

test('instants are written in UTC with milliseconds', () => {
  const at = Date.UTC(2026, 10, 20, 9, 15);
  expect([isoTime(at), isoTimeOrNull(at), isoTimeOrNull(null)]).toEqual([
    '2026-11-20T09:15:00.000Z',
    '2026-11-20T09:15:00.000Z',
    null,
  ]);
});
