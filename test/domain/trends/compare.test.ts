import { describe, expect, test } from 'vitest';
import { addedShares, changeOf, shareOf } from '../../../src/domain/trends/compare.ts';
import { createRandom } from '../../simulation/world/random.ts';

test('a share of fewer than thirty customers is not given', () => {
  expect(shareOf({ customers: 29, paid: 10 })).toBeNull();
  expect(shareOf({ customers: 30, paid: 15 })).toBe(0.5);
});

test('shares are added up by their customers', () => {
  expect(
    addedShares([
      { customers: 30, paid: 15 },
      { customers: 70, paid: 5 },
    ]),
  ).toEqual({ customers: 100, paid: 20 });
  expect(addedShares([])).toEqual({ customers: 0, paid: 0 });
});

describe('a change', () => {
  test.each([
    [{ customers: 29, paid: 1 }, { customers: 1_000, paid: 900 }, 'too_few'],
    [{ customers: 1_000, paid: 900 }, { customers: 29, paid: 1 }, 'too_few'],
    [{ customers: 1_000, paid: 800 }, { customers: 1_000, paid: 810 }, 'as_before'],
    [{ customers: 1_000, paid: 700 }, { customers: 1_000, paid: 800 }, 'worse'],
    [{ customers: 1_000, paid: 800 }, { customers: 1_000, paid: 700 }, 'better'],
    [{ customers: 100, paid: 100 }, { customers: 100, paid: 100 }, 'as_before'],
    [{ customers: 100, paid: 0 }, { customers: 100, paid: 0 }, 'as_before'],
  ] as const)('of %o beside %o: %s', (now, before, change) => {
    expect(changeOf(now, before)).toBe(change);
  });

  test('needs more where more of them are looked at', () => {
    const [now, before] = [
      { customers: 1_000, paid: 750 },
      { customers: 1_000, paid: 803 },
    ];
    expect([changeOf(now, before), changeOf(now, before, 20)]).toEqual(['worse', 'as_before']);
  });

  // From tables of the normal distribution: beyond so many standard deviations on either side lie 1, 0.1 and 0.01 %.
  test.each([
    [1, 2.5758],
    [10, 3.2905],
    [100, 3.8906],
  ])('among %i that are looked at is named from %f standard deviations on', (looks, deviations) => {
    const before = { customers: 1e10, paid: 5e9 };
    const after = (off: number) => ({ ...before, paid: before.paid + Math.round(off * Math.sqrt(before.customers / 2)) });
    expect([deviations - 0.001, deviations + 0.001].map((off) => changeOf(after(off), before, looks))).toEqual([
      'as_before',
      'better',
    ]);
  });

  test('is named by chance in about one of a hundred cases, however many are looked at together', () => {
    const random = createRandom(11);
    const drawn = () => ({ customers: 400, paid: Array.from({ length: 400 }).filter(() => random.chance(0.77)).length });
    const named = (looks: number) => changeOf(drawn(), drawn(), looks) !== 'as_before';
    const single = Array.from({ length: 3_000 }).filter(() => named(1)).length;
    expect(single).toBeGreaterThan(12);
    expect(single).toBeLessThan(50);
    const together = Array.from({ length: 300 }).filter(() => Array.from({ length: 10 }).some(() => named(10))).length;
    expect(together).toBeLessThan(10);
  });
});
