import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRandom } from '../../../packages/simulator/src/values/random.ts';
import { averageRunLength, averageUntilInARow, customersInARow, detectorFor } from '../../../src/domain/stays/run-length.ts';

const BASE = { p0: 0.05, p1: 0.25, threshold: 6 };

/** After how many stays the alarm came on average, by trying. */
function tried(share: number, { p0, p1, threshold }: typeof BASE, stays: number): number {
  const random = createRandom(7);
  const [gain, loss] = [Math.log(p1 / p0), Math.log((1 - p0) / (1 - p1))];
  let score = 0;
  let alarms = 0;
  for (let n = 0; n < stays; n++) {
    score = random() < share ? score + gain : Math.max(0, score - loss);
    if (score < threshold) continue;
    alarms += 1;
    score = 0;
  }
  return stays / alarms;
}

test('with a usual share of 5 % the base detector raises one false alarm in 5 585 stays, computed and tried', () => {
  const computed = averageRunLength({ share: 0.05, ...BASE });
  expect(computed).toBeCloseTo(5585, 0);
  // About 1 800 alarms: two standard errors are 5 %.
  expect(Math.abs(tried(0.05, BASE, 10_000_000) / computed - 1)).toBeLessThan(0.05);
});

test('a page that is broken for all is named after 4 stays, for half of them after 9.5, for 30 % after 19', () => {
  const until = (share: number): number => averageRunLength({ share, ...BASE });
  expect(until(1)).toBe(4);
  expect(until(0.5)).toBeCloseTo(9.5, 1);
  expect(until(0.3)).toBeCloseTo(19.2, 1);
  expect(Math.abs(tried(0.5, BASE, 1_000_000) / until(0.5) - 1)).toBeLessThan(0.02);
});

test('the rarer overdue stays are in truth, the rarer a false alarm', () => {
  const lengths = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].map((share) => averageRunLength({ share, ...BASE }));
  expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
});

test('where one good stay undoes all, the computation is that of so many in a row', () => {
  // A stuck stay adds 0.81, a good one takes 1.79 away.
  const inARow = (threshold: number, share: number) => averageRunLength({ share, p0: 0.4, p1: 0.9, threshold });
  for (const share of [0.02, 0.3, 0.8]) {
    expect(inARow(1.5, share)).toBeCloseTo(averageUntilInARow(share, 2), 6);
    expect(averageUntilInARow(share, 1)).toBeCloseTo(1 / share, 9);
  }
});

test('up to a usual share of 5 %, and while none is known, the detector is the base one', () => {
  expect(detectorFor(null)).toMatchObject({ ...BASE, falseAlarmEvery: 5600 });
  expect(detectorFor(0)).toBe(detectorFor(null));
  expect(detectorFor(0.05)).toBe(detectorFor(null));
  expect(detectorFor(0.0501)).toMatchObject({ p0: 0.06 });
});

test('whatever the usual share, false alarms are as rare as promised, and the threshold is the lowest that keeps them so', () => {
  const base = averageRunLength({ share: 0.05, ...BASE });
  fc.assert(
    fc.property(fc.double({ min: 0.05, max: 0.4, noNaN: true }), (share) => {
      const { p0, p1, threshold, falseAlarmEvery } = detectorFor(share);
      const every = (level: number) => averageRunLength({ share, p0, p1, threshold: level });
      expect(p0 - share).toBeGreaterThanOrEqual(-1e-9);
      expect(p0 - share).toBeLessThan(0.01);
      expect((p1 / (1 - p1) / p0) * (1 - p0)).toBeCloseTo(19 / 3, 6);
      expect(every(threshold)).toBeGreaterThanOrEqual(base * 0.999_999);
      expect(Math.abs(falseAlarmEvery / averageRunLength({ share: p0, p0, p1, threshold }) - 1)).toBeLessThan(0.05);
      if (threshold > BASE.threshold)
        expect(averageRunLength({ share: p0, p0, p1, threshold: threshold - 0.1 })).toBeLessThan(base);
    }),
  );
});

test('no detector names a page for fewer than four customers, and none needs more than ten in a row', () => {
  const inARow = Array.from({ length: 101 }, (_, percent) => averageRunLength({ share: 1, ...detectorFor(percent / 100) }));
  expect(Math.min(...inARow)).toBe(4);
  expect(Math.max(...inARow)).toBe(10);
});

test('a usual share above 40 % counts as 40 %', () => {
  expect(detectorFor(0.9)).toBe(detectorFor(0.4));
});

test('the plain rule asks for as many in a row as are as rare as two at 5 %', () => {
  expect([null, 0.05, 0.12, 0.3].map(customersInARow)).toEqual([2, 2, 3, 5]);
  expect(averageUntilInARow(0.05, 2)).toBeCloseTo(420, 6);
});
