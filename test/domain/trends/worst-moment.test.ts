/** When most customers of an incident were stuck at once: at whole ten minutes, for Then shows no others. */
import { expect, test } from 'vitest';
import { worstMoment } from '../../../src/domain/trends/worst-moment.ts';
import { HOUR, MINUTE } from '../../../src/domain/values/time.ts';
import { aMember } from './a-member.ts';

test('the worst moment is the first whole ten minutes at which most were stuck, of those that have passed', () => {
  const stuck = (from: number, over: { leftAt?: number; endedAt?: number } = {}) => ({
    ...aMember(`c-${from}`, 0, 'open'),
    stuckAt: from * MINUTE,
    leftAt: over.leftAt === undefined ? null : over.leftAt * MINUTE,
    endedAt: over.endedAt === undefined ? null : over.endedAt * MINUTE,
  });
  const worst = (members: Parameters<typeof worstMoment>[0], now = HOUR): number | null => {
    const at = worstMoment(members, now);
    return at === null ? null : at / MINUTE;
  };
  expect(worst([stuck(1), stuck(10), stuck(12)])).toBe(20);
  expect(worst([stuck(10)])).toBe(10);
  // The first went on to another state, and the second was paid by another purchase: two at once are left at ten minutes.
  expect(worst([stuck(1, { leftAt: 15, endedAt: 55 }), stuck(2, { endedAt: 12 }), stuck(21)])).toBe(10);
  expect(worst([stuck(1, { leftAt: 20 }), stuck(11, { leftAt: 21 }), stuck(15, { leftAt: 30 }), stuck(25)])).toBe(20);
  expect(worst([stuck(1), stuck(11), stuck(12), stuck(51)], 59 * MINUTE)).toBe(20);
  expect(worst([])).toBeNull();
  expect(worst([stuck(1, { leftAt: 9 })])).toBeNull();
  expect(worst([stuck(51)], 59 * MINUTE)).toBeNull();
});
