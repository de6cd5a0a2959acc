import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DEFAULT_POLL_POLICY,
  failureBackoff,
  giveUpMoment,
  isCustomerAtWork,
  nextPoll,
  nextRecheck,
  plannedInterval,
  policyOf,
  policyOfSite,
  postponement,
  strikesAfter,
  withJitter,
} from '../../../src/domain/polling/poll-plan.ts';
import { checkoutEnd, STATE_NAMES } from '../../../src/domain/purchases/states.ts';
import { answer, aStatePolicy, trouble } from '../../support/a-purchase.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const spread = fc.double({ min: -1, max: 1, noNaN: true });
const cards = policyOf(DEFAULT_POLL_POLICY, 6);

describe('the defaults', () => {
  const byName = STATE_NAMES.map((name, value) => [name, policyOf(DEFAULT_POLL_POLICY, value)] as const);

  test('call final what the contract calls final, where the checkout has come to an end', () => {
    expect(byName.map(([name, policy]) => [name, policy.final])).toEqual(
      STATE_NAMES.map((name) => [name, checkoutEnd(name) !== null]),
    );
    expect(byName.filter(([, policy]) => policy.final).map(([name]) => name)).toEqual([
      'Completed',
      'Error',
      'SessionTimedOut',
      'Cancelled',
      'CreditNotApproved',
      'PaymentHandledByMerchant',
    ]);
  });

  test('call two states stuck, after ten and fifteen minutes', () => {
    expect(byName.filter(([, policy]) => policy.stuckAfter !== null).map(([name, policy]) => [name, policy.stuckAfter])).toEqual([
      ['WaitingForIdentityProvider', 10 * MINUTE],
      ['WaitingForCardPayments', 15 * MINUTE],
    ]);
  });

  test('ask within seconds while customers act, and seldom where people decide or nothing more is expected', () => {
    const SECOND = 1_000;
    const plans = new Map<string, string[]>();
    for (const [name, { poll, auto }] of [...byName, ['not listed', DEFAULT_POLL_POLICY.fallback] as const]) {
      const plan = `${poll.first / SECOND} s, ${poll.most / MINUTE} min, ${poll.growth}, ${auto}`;
      plans.set(plan, [...(plans.get(plan) ?? []), name]);
    }
    expect(Object.fromEntries(plans)).toEqual({
      '10 s, 10 min, 0.1, false': ['New', 'not listed'],
      '5 s, 5 min, 0.1, false': STATE_NAMES.filter((_, value) => isCustomerAtWork(value)),
      '60 s, 30 min, 0.1, false': ['WaitingCreditApproval'],
      '60 s, 60 min, 0.1, false': STATE_NAMES.filter((name) => checkoutEnd(name) !== null),
    });
    expect(STATE_NAMES.filter((_, value) => isCustomerAtWork(value))).toEqual([
      'BeingProcessed',
      'WaitingForIdentityProvider',
      'WaitingForCardPayments',
      'WaitingForEidApp',
      'WaitingForFinnishDirectPayment',
      'WaitingForMobilePayment',
      'ElectronicIdValidationRequired',
    ]);
  });

  test('plan numbers nobody knows like any unconfigured state', () => {
    expect(policyOf(DEFAULT_POLL_POLICY, 17)).toBe(DEFAULT_POLL_POLICY.fallback);
    expect(policyOf(DEFAULT_POLL_POLICY, -3)).toMatchObject({ final: false, stuckAfter: null });
  });

  test('recheck nothing, give up after thirty days, and call five unknown answers unreadable', () => {
    expect(byName.every(([, policy]) => policy.recheck.length === 0)).toBe(true);
    expect(DEFAULT_POLL_POLICY).toMatchObject({ giveUpAfter: 30 * 24 * HOUR, unreadableAfter: 5, sessionLength: 30 * MINUTE });
  });
});

describe('the wait after a good poll', () => {
  test.each([
    [0, 5_000],
    [50_000, 5_000],
    [50_001, 5_000.1],
    [10 * MINUTE, MINUTE],
    [50 * MINUTE, 5 * MINUTE],
    [10 * HOUR, 5 * MINUTE],
  ])('is, %i ms into the state, %d ms', (timeInState, wait) => {
    expect(plannedInterval(cards, timeInState)).toBeCloseTo(wait, 6);
  });

  test('is spread by a tenth each way, in whole milliseconds', () => {
    expect([-1, 0, 1].map((s) => withJitter(10_000, s))).toEqual([9_000, 10_000, 11_000]);
    fc.assert(
      fc.property(fc.nat(1e9), spread, (wait, s) => {
        expect(Number.isInteger(withJitter(wait, s))).toBe(true);
      }),
    );
  });

  test('ends at the stuck moment when that comes first, and pays no heed to one that has passed', () => {
    const at = (stuckAt: number | null) => nextPoll(cards, { now: 100_000, since: 0, stuckAt, spread: 0 });
    expect(at(null)).toEqual({ at: 110_000, reason: 'growth' });
    expect(at(103_000)).toEqual({ at: 103_000, reason: 'stuck_moment' });
    expect(at(110_000)).toEqual({ at: 110_000, reason: 'stuck_moment' });
    expect(at(110_001)).toEqual({ at: 110_000, reason: 'growth' });
    expect(at(99_000)).toEqual({ at: 110_000, reason: 'growth' });
    expect(nextPoll(cards, { now: 200_000, since: 100_000, stuckAt: null, spread: 0 }).at).toBe(210_000);
  });

  test('never lies in the past, never beyond a coming stuck moment, never further than the longest wait and its jitter', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), fc.option(fc.nat(2e9), { nil: null }), spread, (since, stay, stuckAt, s) => {
        const now = since + stay;
        const next = nextPoll(cards, { now, since, stuckAt, spread: s }).at;
        expect(next).toBeGreaterThan(now);
        expect(next).toBeLessThanOrEqual(now + cards.poll.most * 1.1);
        if (stuckAt !== null && stuckAt > now) expect(next).toBeLessThanOrEqual(stuckAt);
      }),
    );
  });
});

describe('rechecks of a final state', () => {
  const policy = aStatePolicy({ final: true, recheck: [24 * HOUR, HOUR] });
  const recheckAt = (at: number) => ({ at, reason: 'recheck' });

  test('come each at its time after the first observation, in order of time, and end', () => {
    expect(nextRecheck(policy, { now: 1_000, since: 1_000 })).toEqual(recheckAt(1_000 + HOUR));
    expect(nextRecheck(policy, { now: 1_000 + HOUR, since: 1_000 })).toEqual(recheckAt(1_000 + 24 * HOUR));
    expect(nextRecheck(policy, { now: 1_000 + 24 * HOUR, since: 1_000 })).toBeNull();
  });

  test('that were missed are not made up for', () => {
    expect(nextRecheck(policy, { now: 5 * HOUR, since: 0 })).toEqual(recheckAt(24 * HOUR));
  });

  test('are none missed that the clock skipped', () => {
    const skipped = [{ from: 60_000, until: 100 * HOUR }];
    expect(nextRecheck(policy, { now: 100 * HOUR, since: 0, skipped })).toEqual(recheckAt(101 * HOUR - 60_000));
  });
});

test('failures of its own make a purchase rarer: first, doubled each time, a day at most', () => {
  expect([1, 2, 3, 4].map((failures) => failureBackoff(cards, failures, 0))).toEqual([5_000, 10_000, 20_000, 40_000]);
  expect(failureBackoff(cards, 16, 0)).toBe(24 * HOUR);
  expect(failureBackoff(cards, 1_000_000, 0)).toBe(24 * HOUR);
  expect(failureBackoff(cards, 1_000_000, 1)).toBe(26.4 * HOUR);
});

test('a site has its own plan or that of all sites', () => {
  const own = { ...DEFAULT_POLL_POLICY, unreadableAfter: 1 };
  const policy = { ...DEFAULT_POLL_POLICY, bySite: new Map([['se', own]]) };
  expect([policyOfSite(policy, 'se'), policyOfSite(policy, 'no')]).toEqual([own, policy]);
  expect(policyOfSite(DEFAULT_POLL_POLICY, 'se')).toBe(DEFAULT_POLL_POLICY);
});

test('a purchase is given up after the latest sign of life, and not for time that the clock skipped', () => {
  const after = { giveUpAfter: HOUR };
  expect(giveUpMoment({ watchedSince: 5, stateSince: null }, after)).toBe(5 + HOUR);
  expect(giveUpMoment({ watchedSince: 5, stateSince: 7 }, after)).toBe(7 + HOUR);
  expect(giveUpMoment({ watchedSince: 9, stateSince: 7 }, after)).toBe(9 + HOUR);
  expect(giveUpMoment({ watchedSince: 5, stateSince: null }, after, [{ from: 10, until: 30 }])).toBe(25 + HOUR);
});

describe("failures that look like the site's", () => {
  test('are counted until the purchase is answered, and excused ones never make them its own', () => {
    const [outage, unknown] = [trouble('unreachable'), trouble('unknown')];
    expect([answer(0), unknown, outage].map((seen) => strikesAfter(3, seen, false))).toEqual([0, 0, 4]);
    expect([answer(0), unknown, outage].map((seen) => strikesAfter(3, seen, true))).toEqual([0, 4, 4]);
    expect([strikesAfter(5, outage, true), strikesAfter(5, outage, false)]).toEqual([5, 6]);
  });

  test('put the next poll off for a second, then twice as long each time, up to a minute', () => {
    expect([0, 1, 2, 3, 6, 7, 1_000].map((strikes) => postponement(strikes) / 1_000)).toEqual([1, 1, 2, 4, 32, 60, 60]);
  });
});
