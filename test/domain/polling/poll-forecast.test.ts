import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forecast, pollsToSee, pollsUntil } from '../../../src/domain/polling/poll-forecast.ts';
import { DEFAULT_POLL_POLICY, nextPoll, policyOf, type StatePolicy } from '../../../src/domain/polling/poll-plan.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';

const MINUTE = 60_000;
const cards = policyOf(DEFAULT_POLL_POLICY, 6);
const stay = (policy: StatePolicy, giveUpAfter: number) => ({ policy, giveUpAfter });

/** Every poll of the stay, one by one. */
function walk(policy: StatePolicy, giveUpAfter: number): number[] {
  const polls: number[] = [];
  for (let at = 0; at < giveUpAfter; polls.push(at)) {
    at = Math.min(nextPoll(policy, { now: at, since: 0, stuckAt: policy.stuckAfter, spread: 0 }).at, giveUpAfter);
  }
  return polls;
}

const policies: fc.Arbitrary<StatePolicy> = fc
  .record({
    first: fc.integer({ min: 500, max: 60_000 }),
    growth: fc.constantFrom(0, 0.01, 0.1, 0.5, 3),
    longer: fc.integer({ min: 0, max: 300_000 }),
    stuckAfter: fc.option(fc.integer({ min: 1, max: 900_000 })),
  })
  .map(({ first, growth, longer, stuckAfter }) => ({
    poll: { first, growth, most: first + longer },
    stuckAfter,
    auto: false,
    final: false,
    recheck: [],
  }));

describe('the forecast of a stay', () => {
  test('lists the first polls and says when the waits stop growing', () => {
    const { polls, steady, stuckAt } = forecast(stay(cards, 30 * 24 * 60 * MINUTE), 3);
    expect(polls).toEqual([5_000, 10_000, 15_000]);
    expect(steady!.every).toBe(5 * MINUTE);
    expect(steady!.from).toBeGreaterThanOrEqual(50 * MINUTE);
    expect(stuckAt).toBe(15 * MINUTE);
  });

  test('has a poll exactly at the moment of being stuck', () => {
    expect(forecast(stay(cards, 60 * MINUTE), 1_000).polls).toContain(15 * MINUTE);
  });

  test('ends with a poll at the moment of giving up', () => {
    expect(forecast(stay(cards, 7 * MINUTE), 1_000).polls.at(-1)).toBe(7 * MINUTE);
    expect(forecast(stay(cards, 7 * MINUTE), 1)).toMatchObject({ steady: null, stuckAt: null });
  });

  test('lists the poll at the moment of giving up once, and a stay that ends when it becomes stuck', () => {
    const { polls } = forecast(stay(cards, 7 * MINUTE), 1_000);
    expect(polls.filter((at) => at === 7 * MINUTE)).toHaveLength(1);
    expect(forecast(stay(cards, 15 * MINUTE), 1).stuckAt).toBe(15 * MINUTE);
  });

  test('a change is seen by the poll at its moment, and by the last one when watching ends', () => {
    expect([0, 1, 5_000, 5_001, 10_000].map((moment) => pollsToSee(stay(cards, 30 * MINUTE), moment))).toEqual([1, 1, 1, 2, 2]);
    const all = walk(cards, 7 * MINUTE).length;
    expect([7 * MINUTE, 7 * MINUTE + 1].map((moment) => pollsToSee(stay(cards, 7 * MINUTE), moment))).toEqual([all, all]);
  });

  test('the last poll comes when watching ends, wherever that is between two of the longest waits', () => {
    for (let more = 0; more < 10; more++) {
      const giveUpAfter = (120 + more) * MINUTE;
      expect(pollsUntil(stay(cards, giveUpAfter), giveUpAfter)).toBe(walk(cards, giveUpAfter).length);
    }
  });

  test('counts as many polls as walking through them finds', () => {
    fc.assert(
      fc.property(
        policies,
        fc.integer({ min: 1, max: 2_000_000 }),
        fc.integer({ min: 0, max: 2_500_000 }),
        (policy, giveUpAfter, moment) => {
          const polls = walk(policy, giveUpAfter);
          expect(pollsUntil(stay(policy, giveUpAfter), moment)).toBe(polls.filter((at) => at <= moment).length);
          const seenBy = polls.findIndex((at) => at >= moment);
          expect(pollsToSee(stay(policy, giveUpAfter), moment)).toBe(seenBy < 0 ? polls.length : seenBy + 1);
        },
      ),
    );
  });

  test('counts a very short wait over a very long stay at once', () => {
    const policy = aStatePolicy({ poll: { first: 1, growth: 0, most: 1 } });
    expect(pollsUntil(stay(policy, 1e12), 1e12)).toBe(1e12);
  });
});
