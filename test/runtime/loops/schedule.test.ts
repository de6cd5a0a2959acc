import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSchedule, type Schedule } from '../../../src/runtime/loops/schedule.ts';

const MINUTE = 60_000;
const shown = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
const latest = (expression: string, now: string, zone?: string): string | null =>
  shown(createSchedule(expression, zone).latest(Date.parse(now)));

/** The moments at which somebody who looks every so often finds that it is due. */
function found(schedule: Schedule, from: string, to: string, every: number): string[] {
  const moments: string[] = [];
  let last = schedule.latest(Date.parse(from));
  for (let now = Date.parse(from); now <= Date.parse(to); now += every) {
    const due = schedule.latest(now);
    if (due !== null && due !== last) moments.push(new Date(due).toISOString());
    last = due;
  }
  return moments;
}

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

test.each([
  ['0 8 * * *', 'Europe/Stockholm', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00.000Z', '2026-11-21T07:00:00.000Z'],
  ['0 8 * * *', 'Europe/Stockholm', '2026-07-20T06:00:00Z', '2026-07-20T06:00:00.000Z', '2026-07-21T06:00:00.000Z'],
  ['0 8 * * *', 'Europe/Helsinki', '2026-11-20T06:00:00Z', '2026-11-20T06:00:00.000Z', '2026-11-21T06:00:00.000Z'],
  // It is Saturday there already, or still Thursday.
  ['0 0 * * 6', 'Pacific/Kiritimati', '2026-11-20T12:00:00Z', '2026-11-20T10:00:00.000Z', '2026-11-27T10:00:00.000Z'],
  ['0 23 * * 4', 'Pacific/Honolulu', '2026-11-20T12:00:00Z', '2026-11-20T09:00:00.000Z', '2026-11-27T09:00:00.000Z'],
  // Zones need not lie at whole hours, nor clocks change at night or by an hour.
  ['0 8 * * *', 'Asia/Kathmandu', '2026-11-20T12:00:00Z', '2026-11-20T02:15:00.000Z', '2026-11-21T02:15:00.000Z'],
  ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T20:00:00Z', '2026-10-03T15:45:00.000Z', '2026-10-04T15:15:00.000Z'],
  ['0 4 29 2 *', 'Europe/Stockholm', '2026-11-20T00:00:00Z', '2024-02-29T03:00:00.000Z', '2028-02-29T03:00:00.000Z'],
])('%s in %s at %s: last at %s, next at %s', (expression, zone, now, last, next) => {
  const schedule = createSchedule(expression, zone);
  expect(shown(schedule.latest(Date.parse(now)))).toBe(last);
  expect(shown(schedule.next(Date.parse(now)))).toBe(next);
});

describe('when clocks change', () => {
  test('a time that they skip comes later by what they skip, once', () => {
    const moments = found(
      createSchedule('30 2 * * *', 'Europe/Stockholm'),
      '2026-03-27T12:00:00Z',
      '2026-03-31T12:00:00Z',
      MINUTE,
    );
    expect(moments).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ]);
  });

  test('a time that they show twice is the first of the two, once', () => {
    const moments = found(
      createSchedule('30 2 * * *', 'Europe/Stockholm'),
      '2026-10-23T12:00:00Z',
      '2026-10-27T12:00:00Z',
      MINUTE,
    );
    expect(moments).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
      '2026-10-27T01:30:00.000Z',
    ]);
  });

  test('what is due both in the hour they skip and after it is due at each moment once', () => {
    const moments = found(
      createSchedule('0,40 2,3 * * *', 'Europe/Stockholm'),
      '2026-03-28T12:00:00Z',
      '2026-03-29T12:00:00Z',
      MINUTE,
    );
    expect(moments).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-29T01:40:00.000Z']);
  });

  test('a midnight that they set back over is found at once', () => {
    // On 28 October 2001 clocks in St. John's went from 00:01 back to 23:01 of the day before.
    const now = '2001-10-28T02:31:30Z';
    expect(latest('0 0 * * *', now, 'America/St_Johns')).toBe('2001-10-28T02:30:00.000Z');
  });

  test('a day that a zone leaves out is made up for', () => {
    // Samoa went from the 29th to the 31st of December 2011.
    expect(latest('0 8 30 12 *', '2011-12-31T12:00:00Z', 'Pacific/Apia')).toBe('2011-12-30T18:00:00.000Z');
  });
});

test('in every zone, a daily time comes once on each day, a day apart but for the change of clocks', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 1_439 }),
      fc.integer({ min: Date.UTC(2024), max: Date.UTC(2032) }),
      (zone, minute, from) => {
        const schedule = createSchedule(`${minute % 60} ${Math.floor(minute / 60)} * * *`, zone);
        let at = schedule.latest(from)!;
        expect(from - at).toBeLessThan(26 * 60 * MINUTE);
        for (let day = 0; day < 10; day++) {
          const next = schedule.next(at)!;
          expect(schedule.latest(next)).toBe(next);
          expect(schedule.latest(next - 1)).toBe(at);
          expect(Math.abs(next - at - 1_440 * MINUTE)).toBeLessThanOrEqual(180 * MINUTE);
          at = next;
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('a zone that does not exist is refused', () => {
  expect(() => createSchedule('0 8 * * *', 'Europe/Nowhere')).toThrow(RangeError);
});
