import { expect, test } from 'vitest';
import { earlierPoll } from '../../../src/domain/polling/poll-reason.ts';

test('of two polls the earlier one comes, the first one given of two at once, and the other one where one is missing', () => {
  const [soon, late] = [{ at: 1, reason: 'growth' } as const, { at: 2, reason: 'recheck' } as const];
  const same = { at: 1, reason: 'give_up' } as const;
  expect([earlierPoll(soon, late), earlierPoll(late, soon)]).toEqual([soon, soon]);
  expect([earlierPoll(soon, same), earlierPoll(same, soon)]).toEqual([soon, same]);
  expect([earlierPoll(null, late), earlierPoll(late, null), earlierPoll(null, null)]).toEqual([late, late, null]);
});
