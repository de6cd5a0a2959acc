import { expect, test } from 'vitest';
import { piecesOf, placeIn, quickLocal } from '../../../src/domain/trends/pieces.ts';
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
  const at = placeIn(period, DAY, quickLocal(stockholm));
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

test('the local time is as the zone says it, also on the day on which clocks change', () => {
  const local = quickLocal(stockholm);
  for (let moment = period.from; moment < period.to; moment += HOUR) expect(local(moment)).toBe(stockholm.local(moment));
});
