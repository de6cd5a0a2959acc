import { expect, test } from 'vitest';
import { longestFirstPolls, roughly, sizedFirstPolls, withinText } from '../../../src/domain/polling/first-polls.ts';

const sized = (site: string, waiting: number, ceiling: number | null) => sizedFirstPolls({ site, waiting, ceiling });

test('first polls take as long as the ceiling lets them, in whole seconds', () => {
  const within = [sized('a', 100, 50), sized('a', 101, 50), sized('a', 0, 50), sized('a', 5, null), sized('a', 5, 0)];
  expect(within.map((each) => each.within)).toEqual([2_000, 3_000, 0, null, null]);
});

test('how long is said with the rate, or that it is not known', () => {
  expect(withinText(sized('a', 7, 1))).toBe('within about 7 s at 1 call a second');
  expect(withinText(sized('a', 200, 3.33333))).toBe('within about 1 min 1 s at 3.33 calls a second');
  expect(withinText(sized('a', 7, null))).toMatch(/^at a time that is not known/);
});

test('the site that takes longest is one of which the time is not known, then the slowest that has any', () => {
  const [slow, quick, unknown, empty] = [
    sized('slow', 100, 1),
    sized('quick', 100, 50),
    sized('x', 1, null),
    sized('e', 0, null),
  ];
  expect(longestFirstPolls([quick, slow, empty])).toBe(slow);
  expect(longestFirstPolls([quick, unknown, slow])).toBe(unknown);
  expect(longestFirstPolls([empty])).toBeNull();
});

test('of an estimate two digits are said', () => expect([7, 1_249, 20_224].map(roughly)).toEqual([7, 1_200, 20_000]));
