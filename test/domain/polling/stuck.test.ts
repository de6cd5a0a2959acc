import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JITTER, plannedInterval, withJitter } from '../../../src/domain/polling/poll-plan.ts';
import { stuckMoment, unaskedTime } from '../../../src/domain/polling/stuck.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';

const MINUTE = 60_000;
const policy = aStatePolicy({ poll: { first: 5_000, growth: 0.1, most: 5 * MINUTE }, stuckAfter: 15 * MINUTE });

test('the stuck moment is the limit after the first observation, and later by all time nobody could ask', () => {
  expect(stuckMoment(policy, 1_000, 0)).toBe(1_000 + 15 * MINUTE);
  expect(stuckMoment(policy, 1_000, 7_000)).toBe(1_000 + 15 * MINUTE + 7_000);
});

test('a state without a limit has no such moment', () => {
  expect(stuckMoment(aStatePolicy(), 1_000, 0)).toBeNull();
});

test('a gap as long as the plan says is no outage, whatever the jitter', () => {
  fc.assert(
    fc.property(fc.nat(3 * 60 * MINUTE), fc.double({ min: -1, max: 1, noNaN: true }), (stay, spread) => {
      const now = stay + withJitter(plannedInterval(policy, stay), spread);
      expect(unaskedTime(policy, { since: 0, seenAt: stay, now })).toBe(0);
    }),
  );
});

test('a poll a few seconds late is no outage either', () => {
  expect(unaskedTime(policy, { since: 0, seenAt: 0, now: 5_000 * (1 + JITTER) + 5_000 })).toBe(0);
});

test('of a long gap, all but the planned part and the grace is excused', () => {
  const planned = 5_000 * (1 + JITTER) + 5_000;
  expect(unaskedTime(policy, { since: 0, seenAt: 0, now: planned + 1 })).toBe(1);
  expect(unaskedTime(policy, { since: 0, seenAt: 0, now: 60 * MINUTE })).toBe(60 * MINUTE - planned);
});

test('later in the stay, polls are planned further apart and less of a gap is excused', () => {
  const gap = 10 * MINUTE;
  const early = unaskedTime(policy, { since: 0, seenAt: MINUTE, now: MINUTE + gap });
  const late = unaskedTime(policy, { since: 0, seenAt: 20 * MINUTE, now: 20 * MINUTE + gap });
  // Since when the purchase has been there counts, not what the clock shows.
  const shifted = { since: 1e9, seenAt: 1e9 + MINUTE, now: 1e9 + MINUTE + gap };
  expect(unaskedTime(policy, shifted)).toBe(early);
  expect(early - late).toBe(Math.round((2 * MINUTE - 6_000) * (1 + JITTER)));
});
