import { expect, test } from 'vitest';
import { ENOUGH_STAYS, NOTHING_KNOWN, usualOf } from '../../../src/domain/stays/usual.ts';

test.each([
  ['of a hundred calm stays', { stays: 150, calm: ENOUGH_STAYS, calmStuck: 3, days: 3 }, { share: 0.03, perDay: 50 }],
  ['of one fewer', { stays: 150, calm: ENOUGH_STAYS - 1, calmStuck: 3, days: 3 }, { share: null, perDay: 50 }],
  // More was taken back than these days had.
  [
    'of which more than all turned out to belong to an incident',
    { stays: 150, calm: 100, calmStuck: -1, days: 3 },
    { share: 0, perDay: 50 },
  ],
  ['of nothing', { stays: 0, calm: 0, calmStuck: 0, days: null }, { share: null, perDay: null }],
  ['of a first day that is not over, with few', { stays: 4, calm: 4, calmStuck: 0, days: 0.5 }, { share: null, perDay: null }],
  ['of few over days', { stays: 4, calm: 4, calmStuck: 0, days: 2 }, { share: null, perDay: 2 }],
  ['of few in a whole day', { stays: 4, calm: 4, calmStuck: 0, days: 1 }, { share: null, perDay: 4 }],
  // Half a day does not make ten of five.
  ['of a first day that is not over, with enough', { stays: 5, calm: 5, calmStuck: 0, days: 0.5 }, { share: null, perDay: 5 }],
])('what is usual %s', (_, numbers, usual) => expect(usualOf(numbers)).toEqual({ ...usual, counted: numbers.calm }));

test('a state of which nothing was read is as one in which nobody was', () => {
  expect(NOTHING_KNOWN).toEqual(usualOf({ stays: 0, calm: 0, calmStuck: 0, days: null }));
});
