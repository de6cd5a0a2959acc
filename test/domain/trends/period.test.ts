import { expect, test } from 'vitest';
import { periodsOf, TREND_RANGES } from '../../../src/domain/trends/period.ts';
import { DAY, HOUR, isoTime } from '../../../src/domain/values/time.ts';
import { zoneOf } from '../../../src/runtime/loops/schedule.ts';

const shown = ({ from, to }: { from: number; to: number }) => [isoTime(from), isoTime(to)];

test('whole days of the zone up to today, and as many before', () => {
  const { present, before } = periodsOf('7d', Date.UTC(2026, 10, 20, 9, 19), zoneOf('Europe/Stockholm'));
  expect(shown(present)).toEqual(['2026-11-12T23:00:00.000Z', '2026-11-19T23:00:00.000Z']);
  expect(shown(before)).toEqual(['2026-11-05T23:00:00.000Z', '2026-11-12T23:00:00.000Z']);
});

test('a day on which clocks go back has 25 hours', () => {
  const { present } = periodsOf('7d', Date.UTC(2026, 9, 28, 12), zoneOf('Europe/Stockholm'));
  expect(present.to - present.from).toBe(7 * DAY + HOUR);
});

test('24 hours are whole hours beside those of a week ago', () => {
  const { present, before } = periodsOf('24h', Date.UTC(2026, 10, 20, 9, 19), zoneOf('UTC'));
  expect(shown(present)).toEqual(['2026-11-19T09:00:00.000Z', '2026-11-20T09:00:00.000Z']);
  expect(present.from - before.from).toBe(7 * DAY);
});

test('no time is in both, and the present one has ended', () => {
  const now = Date.UTC(2026, 10, 20, 9, 19);
  for (const range of TREND_RANGES) {
    const { present, before } = periodsOf(range, now, zoneOf('America/New_York'));
    expect(before.to).toBeLessThanOrEqual(present.from);
    expect(present.to).toBeLessThanOrEqual(now);
  }
});
