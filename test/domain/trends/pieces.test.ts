import { expect, test } from 'vitest';
import { periodsOf, TREND_RANGES } from '../../../src/domain/trends/period.ts';
import { hoursIn, PIECE_LENGTHS, piecesOf, placeIn, quickZone } from '../../../src/domain/trends/pieces.ts';
import { DAY, HOUR } from '../../../src/domain/values/time.ts';
import { zoneOf } from '../../../src/runtime/loops/schedule.ts';

const stockholm = zoneOf('Europe/Stockholm');
/** Three days of Stockholm; in the night to the second one, clocks go back. */
const period = { from: Date.UTC(2026, 9, 23, 22), to: Date.UTC(2026, 9, 26, 23) };

test('days are as long as clocks make them, and follow each other', () => {
  const pieces = piecesOf(period, DAY, stockholm);
  expect(pieces.map(({ from, to }) => (to - from) / HOUR)).toEqual([24, 25, 24]);
  expect(pieces[0]!.from).toBe(period.from);
  expect(pieces[2]!.to).toBe(period.to);
});

test('each moment is in the piece of its local day', () => {
  const at = placeIn(period, DAY, quickZone(stockholm).local);
  expect(
    [
      period.from,
      Date.UTC(2026, 9, 24, 21, 59),
      Date.UTC(2026, 9, 24, 22),
      Date.UTC(2026, 9, 25, 22, 59),
      Date.UTC(2026, 9, 25, 23),
    ].map(at),
  ).toEqual([0, 0, 1, 1, 2]);
});

test.each(['Europe/Stockholm', 'Pacific/Kiritimati', 'Pacific/Niue', 'Australia/Lord_Howe'])(
  'the local time in %s, and the moment of one, are as the zone says them, also on days on which clocks change',
  (name) => {
    const [zone, quick] = [zoneOf(name), quickZone(zoneOf(name))];
    for (const from of [Date.UTC(2026, 2, 27), Date.UTC(2026, 9, 2), period.from])
      for (let moment = from; moment < from + 4 * DAY; moment += HOUR / 2) {
        expect(quick.local(moment)).toBe(zone.local(moment));
        expect(quick.instant(moment)).toBe(zone.instant(moment));
      }
  },
);

test('a day is counted by hours and a quarter of a year by days; shares are of enough customers', () => {
  const zone = zoneOf('UTC');
  const pieces = TREND_RANGES.map((range) => {
    const { present } = periodsOf(range, period.to, zone);
    const { counts, shares } = PIECE_LENGTHS[range];
    return [range, piecesOf(present, counts, zone).length, piecesOf(present, shares, zone).length];
  });
  expect(pieces).toEqual([
    ['24h', 24, 8],
    ['7d', 168, 7],
    ['30d', 30, 30],
    ['90d', 90, 90],
  ]);
});

test('the first piece begins and the last one ends with the period, in an hour that clocks show twice and within a piece', () => {
  const again = { from: Date.UTC(2026, 9, 25, 1), to: Date.UTC(2026, 9, 26, 5) };
  const pieces = piecesOf(again, DAY, stockholm);
  expect(pieces.map(({ from, to }) => [from, to])).toEqual([
    [again.from, again.from + DAY],
    [again.from + DAY, again.to],
  ]);
});

test('a zone is asked once for the beginning of each day of UTC, and for each moment of a day on which clocks change', () => {
  let asked = 0;
  const { local } = quickZone({
    ...stockholm,
    local: (at) => {
      asked += 1;
      return stockholm.local(at);
    },
  });
  const hours = (day: number): number => {
    asked = 0;
    for (let hour = 0; hour < 24; hour++) local(day + hour * HOUR);
    return asked;
  };
  expect(hours(Date.UTC(2026, 9, 24))).toBe(2);
  expect(hours(Date.UTC(2026, 9, 24))).toBe(0);
  expect(hours(Date.UTC(2026, 9, 25))).toBe(1 + 24);
});

test('the hours of a weekday are those of UTC that begin in it by local clocks: twice where clocks go back, never where they go forward', () => {
  const found = (from: number, days: number, zone: string, weekday: number, hour: number): string[] =>
    hoursIn(
      { from, to: from + days * DAY },
      quickZone(zoneOf(zone)).local,
      (at) => at.weekday === weekday && at.hour === hour,
    ).map((at) => new Date(at).toISOString().slice(5, 16));
  expect(found(Date.UTC(2026, 9, 17, 22), 15, 'Europe/Stockholm', 7, 2)).toEqual([
    '10-18T00:00',
    '10-25T00:00',
    '10-25T01:00',
    '11-01T01:00',
  ]);
  expect(found(Date.UTC(2026, 2, 21, 23), 15, 'Europe/Stockholm', 7, 2)).toEqual(['03-22T01:00', '04-05T00:00']);
  // A day of Kolkata begins within an hour of UTC, which belongs to the day before.
  expect(found(Date.UTC(2026, 10, 22, 18, 30), 1, 'Asia/Kolkata', 1, 0)).toEqual(['11-22T19:00']);
  expect(found(Date.UTC(2026, 10, 22, 18, 30), 1, 'Asia/Kolkata', 1, 23)).toEqual(['11-23T18:00']);
  expect(found(Date.UTC(2026, 10, 22, 18, 30), 1, 'Asia/Kolkata', 2, 0)).toEqual([]);
  expect(found(Date.UTC(2026, 10, 23), 0, 'UTC', 1, 0)).toEqual([]);
});
