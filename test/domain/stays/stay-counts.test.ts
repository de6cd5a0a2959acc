import { expect, test } from 'vitest';
import { bucketOf } from '../../../src/domain/stays/dwell.ts';
import type { SiteStay } from '../../../src/domain/stays/stay.ts';
import { createStayCounts, dayOf } from '../../../src/domain/stays/stay-counts.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 23, 59);
const aStay = (differs: Partial<SiteStay> = {}): SiteStay =>
  ({
    site: 'se',
    state: 6,
    at: T,
    outcome: 'well',
    shortest: MINUTE,
    longest: 2 * MINUTE,
    firstSight: false,
    foundLate: false,
    ...differs,
  }) as SiteStay;

test('a day is that of UTC', () => expect([dayOf(T), dayOf(T + MINUTE)]).toEqual(['2026-11-20', '2026-11-21']));

test('stays are counted by site, state, day, calm and outcome', () => {
  const counts = createStayCounts();
  for (const stay of [aStay(), aStay(), aStay({ outcome: 'overdue' }), aStay({ outcome: 'other' })]) counts.add(stay, true);
  counts.add(aStay({ at: T + MINUTE }), true);
  counts.add(aStay({ outcome: 'overdue' }), false);
  const day = { site: 'se', state: 6, day: '2026-11-20', calm: true, well: 2, overdue: 1, other: 1 };
  expect(counts.stays()).toEqual([
    day,
    { ...day, day: '2026-11-21', well: 1, overdue: 0, other: 0 },
    { ...day, calm: false, well: 0, other: 0 },
  ]);
});

test('lengths are learned of stays that ended well while all was calm, the shortest and the longest they can have been', () => {
  const counts = createStayCounts();
  counts.add(aStay(), true);
  for (const stay of [aStay({ outcome: 'overdue' }), aStay({ outcome: 'other' })]) counts.add(stay, true);
  counts.add(aStay({ shortest: 9 * MINUTE, longest: 9 * MINUTE }), false);
  const row = { site: 'se', state: 6, day: '2026-11-20' };
  expect(counts.dwell()).toEqual([
    { ...row, bucket: bucketOf(MINUTE), shortest: 1, longest: 0 },
    { ...row, bucket: bucketOf(2 * MINUTE), shortest: 0, longest: 1 },
  ]);
});

test('nothing is counted of stays that began before the first look, were found late, or were counted when they became stuck', () => {
  const counts = createStayCounts();
  for (const stay of [aStay({ firstSight: true }), aStay({ foundLate: true }), aStay({ outcome: 'late' })])
    counts.add(stay, true);
  expect([counts.stays(), counts.dwell()]).toEqual([[], []]);
});
