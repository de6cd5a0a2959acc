import { expect, test } from 'vitest';
import { createSchedule } from '../../src/runtime/schedule.ts';

const latest = (expression: string, now: string): string | null => {
  const at = createSchedule(expression).latest(Date.parse(now));
  return at === null ? null : new Date(at).toISOString();
};

test.each([
  ['17 3 * * *', '2026-11-20T03:17:00Z', '2026-11-20T03:17:00.000Z'],
  ['17 3 * * *', '2026-11-20T03:16:59.999Z', '2026-11-19T03:17:00.000Z'],
  ['17 3 * * *', '2026-11-20T23:59:59Z', '2026-11-20T03:17:00.000Z'],
  // Neither the zone of this machine nor a change of clocks matters.
  ['30 2 * * *', '2026-03-29T12:00:00Z', '2026-03-29T02:30:00.000Z'],
  ['*/20 * * * *', '2026-11-20T00:05:00Z', '2026-11-20T00:00:00.000Z'],
  ['30 */10 * * * *', '2026-11-20T00:00:29Z', '2026-11-19T23:50:30.000Z'],
  ['0 4 * * 1', '2026-11-20T00:00:00Z', '2026-11-16T04:00:00.000Z'],
  ['0 4 L * *', '2026-11-20T00:00:00Z', '2026-10-31T04:00:00.000Z'],
  ['0 4 29 2 *', '2026-11-20T00:00:00Z', '2024-02-29T04:00:00.000Z'],
])('%s was due at or before %s last at %s', (expression, now, expected) => {
  expect(latest(expression, now)).toBe(expected);
});
