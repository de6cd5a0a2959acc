/**
 * What is promised of detection, held against simulated customers, by seed. Measured values are in docs/decisions/0015-detection.md;
 * the bounds here leave some room.
 */

import { expect, test } from 'vitest';
import { createRandom } from '../../../packages/simulator/src/values/random.ts';
import { feed, newDetection } from '../../../src/domain/incidents/detection.ts';
import { averageRunLength } from '../../../src/domain/stays/run-length.ts';
import type { SiteStay } from '../../../src/domain/stays/stay.ts';
import { alarmsIn, CARD, DAY, HOUR, learning, quantile, type Visits, visits } from '../../support/visits.ts';

const MINUTE = 60_000;
const LIMIT = 15 * MINUTE;
const SEEDS = Array.from({ length: 200 }, (_, n) => 1_000 + n);

const counts = ({ outcome }: SiteStay): boolean => outcome === 'well' || outcome === 'overdue';
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

interface Outage {
  /** Customers that the broken page made stuck, and all that were counted, from the first stuck one to the alarm. */
  readonly overdue: number;
  readonly entrants: number;
  /** From the moment the page broke. */
  readonly noticedAfter: number;
  /** Alarms that came while it was broken. */
  readonly alarms: number;
  /** From the moment it was fixed to the end of the last alarm; and how many had come by then and left well. */
  readonly clearedAfter: number;
  readonly wellByThen: number;
}

type Page = Pick<Visits, 'perHour' | 'site' | 'retry'> & { calm: number; broken: number; share?: number; after?: number };

/** A page that works, is broken and works again. */
function outage(seed: number, { calm, broken, share = 1, after = 4 * HOUR, ...rest }: Page): Outage {
  const fixedAt = calm + broken;
  const stays = visits({ seed, ...rest, until: fixedAt + after, broken: [{ from: calm, until: fixedAt, share }] });
  // An alarm that was on already, by mistake, names the page at once.
  const alarms = alarmsIn(stays, { share: null, perDay: rest.perHour * 24 })
    .map(({ detection, clearedAt }) => ({ at: detection.alarm!.at, until: clearedAt ?? Number.POSITIVE_INFINITY }))
    .filter(({ at, until }) => until > calm + LIMIT && at < fixedAt + LIMIT + MINUTE);
  const noticedAt = alarms[0]?.at ?? Number.POSITIVE_INFINITY;
  const clearedAt = alarms.at(-1)?.until ?? Number.POSITIVE_INFINITY;
  const begun = stays.findIndex(
    ({ outcome, enteredAt, at }) => outcome === 'overdue' && enteredAt > calm - 2 * MINUTE && at > calm,
  );
  const noticed = stays.slice(begun).filter((stay) => counts(stay) && stay.at <= noticedAt);
  const customersOf = (some: readonly SiteStay[]): number => new Set(some.map(({ customer }) => customer)).size;
  return {
    overdue: customersOf(noticed.filter(({ outcome }) => outcome === 'overdue')),
    entrants: customersOf(noticed),
    noticedAfter: noticedAt - calm,
    alarms: alarms.length,
    clearedAfter: clearedAt - fixedAt,
    wellByThen: stays.filter(({ outcome, enteredAt, at }) => outcome === 'well' && enteredAt >= fixedAt && at <= clearedAt)
      .length,
  };
}

const of = (all: readonly Outage[], value: keyof Outage, part = 0.5): number =>
  quantile(
    all.map((one) => one[value]),
    part,
  );
const mean = (all: readonly Outage[], value: keyof Outage): number => sum(all.map((one) => one[value])) / all.length;

/** As many as are to be expected, and two standard errors. */
const atMost = (expected: number): number => expected + 2 * Math.sqrt(expected);

test('in healthy weeks at most one alarm in 5 000 customers is false', () => {
  const weeks = SEEDS.slice(0, 40).map((seed, n) => visits({ seed, perHour: [2, 10, 40][n % 3]!, until: 7 * DAY }));
  const entrants = sum(weeks.map((stays) => stays.filter(counts).length));
  const falseAlarms = sum(weeks.map((stays) => alarmsIn(stays).length));
  expect(entrants).toBeGreaterThan(100_000);
  expect(falseAlarms).toBeLessThanOrEqual(entrants / 5_000);
});

test('where 5 % are overdue, as many as are expected anywhere, false alarms are as rare as computed', () => {
  const random = createRandom(5);
  const stays = 1_000_000;
  let detection = newDetection('se', CARD);
  let falseAlarms = 0;
  for (let n = 0; n < stays; n++) {
    const outcome = random() < 0.05 ? 'overdue' : 'well';
    const known = {
      site: 'se',
      state: CARD,
      customer: `${n}`,
      firstSight: false,
      foundLate: false,
      toState: null,
      shortest: 0,
      longest: 0,
    };
    detection = feed(detection, { ...known, outcome, enteredAt: n, at: n + 1 }, { share: null, perDay: null });
    if (detection.alarm === null) continue;
    falseAlarms += 1;
    detection = newDetection('se', CARD);
  }
  const expected = stays / averageRunLength({ share: 0.05, p0: 0.05, p1: 0.25, threshold: 6 });
  expect(Math.abs(falseAlarms - expected)).toBeLessThan(atMost(expected) - expected);
});

test.each([
  { perHour: 2, calm: 10 * HOUR, broken: 20 * HOUR, after: 10 * HOUR },
  { perHour: 200, calm: HOUR / 4, broken: 0.75 * HOUR, after: HOUR },
])('a page that is broken for all is named at the fourth customer overdue, at $perHour an hour', (page) => {
  const all = SEEDS.map((seed) => outage(seed, page));
  // Fewer where customers left at the bank just before.
  expect(of(all, 'overdue', 1)).toBe(4);
  expect(of(all, 'overdue')).toBeGreaterThanOrEqual(3);
  expect(of(all, 'entrants', 1)).toBeLessThanOrEqual(14);
});

test('at 200 an hour a broken page is named within two minutes after its first customer is stuck, and told once', () => {
  const all = SEEDS.slice(0, 50).map((seed) => outage(seed, { perHour: 200, calm: HOUR / 4, broken: 0.75 * HOUR, after: HOUR }));
  expect(of(all, 'noticedAfter', 0.95)).toBeLessThanOrEqual(LIMIT + 3 * MINUTE);
  expect(of(all, 'alarms', 1)).toBe(1);
});

test.each([
  { perHour: 2, calm: 10 * HOUR, broken: 20 * HOUR, alarms: 2.5 },
  { perHour: 20, calm: HOUR, broken: 4 * HOUR, alarms: 1.4 },
  { perHour: 200, calm: HOUR / 4, broken: 1.5 * HOUR, alarms: 1 },
])('a page that is broken for half is named after about ten customers, at $perHour an hour', ({ alarms, ...page }) => {
  const all = SEEDS.slice(0, 100).map((seed) => outage(seed, { ...page, share: 0.5, after: HOUR }));
  expect(of(all, 'entrants')).toBeLessThanOrEqual(10);
  expect(of(all, 'entrants', 0.95)).toBeLessThanOrEqual(25);
  // Customers who get on in between do not make it look well again and again.
  expect(mean(all, 'alarms')).toBeLessThanOrEqual(alarms);
});

test('an alarm is over soon after the page is fixed, and not before those who came in time would be overdue', () => {
  const busy = SEEDS.slice(0, 50).map((seed) =>
    outage(seed, { perHour: 200, calm: HOUR / 4, broken: 0.75 * HOUR, after: 2 * HOUR }),
  );
  expect(of(busy, 'clearedAfter', 0)).toBeGreaterThan(LIMIT);
  expect(of(busy, 'clearedAfter', 0.95)).toBeLessThanOrEqual(45 * MINUTE);
  const quiet = SEEDS.slice(0, 100).map((seed) => outage(seed, { perHour: 20, calm: HOUR, broken: 3 * HOUR }));
  expect(of(quiet, 'clearedAfter', 0.95)).toBeLessThanOrEqual(75 * MINUTE);
  expect(of(quiet, 'wellByThen')).toBeGreaterThanOrEqual(5);
  expect(of(quiet, 'wellByThen', 0.95)).toBeLessThanOrEqual(25);
});

test('where two customers an hour come, half an hour without one does not end the alarm of a page that is still broken', () => {
  const all = SEEDS.map((seed) => outage(seed, { perHour: 2, calm: 10 * HOUR, broken: 20 * HOUR, after: 10 * HOUR }));
  expect(mean(all, 'alarms')).toBeLessThanOrEqual(2);
});

test('customers who try again and again are each counted once', () => {
  const all = SEEDS.slice(0, 50).map((seed) => outage(seed, { perHour: 20, retry: 0.7, calm: HOUR, broken: 4 * HOUR }));
  expect(of(all, 'overdue')).toBe(4);
  expect(of(all, 'overdue', 1)).toBe(4);
});

test('a deploy at a site with two customers a day is named at the second', () => {
  const all = SEEDS.map((seed) => outage(seed, { perHour: 2 / 24, calm: 5 * DAY, broken: 5 * DAY, after: 10 * DAY }));
  expect(of(all, 'overdue', 1)).toBe(2);
  expect(of(all, 'overdue')).toBe(2);
});

test('a provider that is down is noticed at both sites within half an hour', () => {
  const page: Page = { perHour: 20, calm: HOUR, broken: 2 * HOUR, after: HOUR };
  const apart = SEEDS.slice(0, 50).map((seed) => {
    const [se, fi] = [outage(seed, { ...page, site: 'se' }), outage(seed + 10_000, { ...page, site: 'fi' })];
    return Math.abs(se.noticedAfter - fi.noticedAfter);
  });
  expect(Math.max(...apart)).toBeLessThanOrEqual(HOUR / 2);
});

test.each([
  { abandon: 0.12, falseAtFirst: 2 },
  { abandon: 0.3, falseAtFirst: 9 },
])('where a share of $abandon leaves at the bank, the promise holds once that is known', ({ abandon, falseAtFirst }) => {
  const sites = SEEDS.slice(0, 8).map((seed) => {
    const learned = learning(480);
    const stays = visits({ seed, perHour: 20, until: 21 * DAY, abandon });
    const alarms = alarmsIn(stays, learned.usual).map(({ detection }) => detection.alarm!.at);
    const knownAt = learned.knownAt() ?? Number.POSITIVE_INFINITY;
    const before = alarms.filter((at) => at <= knownAt).length;
    const learnedFrom = stays.filter((stay) => counts(stay) && stay.at <= knownAt).length;
    const counted = stays.filter((stay) => counts(stay) && stay.at > knownAt).length;
    return { before, learnedFrom, after: alarms.length - before, counted };
  });
  const total = (key: keyof (typeof sites)[number]): number => sum(sites.map((site) => site[key]));
  expect(total('counted')).toBeGreaterThan(50_000);
  expect(total('after')).toBeLessThanOrEqual(atMost(total('counted') / 5_600));
  expect(total('before') / sites.length).toBeLessThanOrEqual(falseAtFirst);
  expect(Math.max(...sites.map(({ learnedFrom }) => learnedFrom))).toBeLessThan(1_000);
});
