import { describe, expect, test } from 'vitest';
import { digestOfDetails } from '../../../src/checkout/client.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import { answer, aPurchase } from '../../support/a-purchase.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 9, 15);
const [BEING_PROCESSED, COMPLETED, ERROR, TIMED_OUT, CARDS, CANCELLED] = [1, 2, 3, 5, 6, 8];
const LIMIT = 15 * MINUTE;

const atBank = (differs: Partial<Purchase> = {}): Purchase =>
  aPurchase({
    state: CARDS,
    stateSince: T,
    seenAt: T,
    watchedSince: T,
    sequence: 1,
    detailsDigest: digestOfDetails({}),
    ...differs,
  });
const stayOf = (purchase: Purchase, state: number, now: number, policy: PollPolicy = DEFAULT_POLL_POLICY) =>
  decide(purchase, answer(state), { askedAt: now, now, policy, spread: 0, strikes: 1 }).stay;
const withLimit = (stuckAfter: number | null, final = false): PollPolicy => {
  const states = new Map(DEFAULT_POLL_POLICY.states);
  return { ...DEFAULT_POLL_POLICY, states: states.set(CARDS, { ...policyOf(DEFAULT_POLL_POLICY, CARDS), stuckAfter, final }) };
};

describe('a stay that ends', () => {
  test.each([
    [COMPLETED, 'well'],
    [BEING_PROCESSED, 'well'],
    [17, 'well'],
    [ERROR, 'other'],
    [TIMED_OUT, 'other'],
    [CANCELLED, 'other'],
  ])('for state %d was left %s', (state, outcome) => {
    const stay = stayOf(atBank({ seenAt: T + 40_000 }), state, T + 45_000);
    expect(stay).toEqual({
      state: CARDS,
      toState: state,
      outcome,
      enteredAt: T,
      at: T + 45_000,
      shortest: 40_000,
      longest: 45_000,
      foundLate: false,
    });
  });

  test('after it was overdue is late, also when nobody calls it so any more', () => {
    expect(stayOf(atBank({ seenAt: T + LIMIT, stuckSince: T + LIMIT }), COMPLETED, T + LIMIT + MINUTE)).toMatchObject({
      outcome: 'late',
    });
    expect(stayOf(atBank({ seenAt: T + 60 * MINUTE }), COMPLETED, T + 61 * MINUTE)).toMatchObject({ outcome: 'late' });
    expect(stayOf(atBank({ seenAt: T + LIMIT }), COMPLETED, T + LIMIT + 1)).toMatchObject({ outcome: 'late' });
    expect(stayOf(atBank({ seenAt: T + LIMIT - 1 }), COMPLETED, T + LIMIT)).toMatchObject({ outcome: 'well' });
    // Who was stuck under a shorter limit.
    expect(stayOf(atBank({ seenAt: T + MINUTE, stuckSince: T + MINUTE }), COMPLETED, T + 2 * MINUTE)).toMatchObject({
      outcome: 'late',
    });
  });

  test('does not last for the time in which nobody could ask', () => {
    const stay = stayOf(atBank({ seenAt: T + MINUTE }), COMPLETED, T + 60 * MINUTE);
    expect(stay).toMatchObject({ outcome: 'well', shortest: MINUTE });
    expect(stay!.longest).toBeLessThan(2 * MINUTE);
    expect(stayOf(atBank({ seenAt: T + 40 * MINUTE, excused: 39 * MINUTE }), COMPLETED, T + 40 * MINUTE + 5_000)).toMatchObject({
      outcome: 'well',
      shortest: MINUTE,
      longest: MINUTE + 5_000,
    });
  });

  test('says nothing in a state without a limit, or when nothing was seen before', () => {
    expect(stayOf(aPurchase({ state: 0, stateSince: T, seenAt: T, watchedSince: T }), CARDS, T + MINUTE)).toBeNull();
    expect(stayOf(aPurchase({ watchedSince: T }), CARDS, T)).toBeNull();
  });
});

describe('a stay that becomes overdue', () => {
  test('says so once, at the limit', () => {
    const seenLately = atBank({ seenAt: T + LIMIT - MINUTE });
    const stuck = decide(seenLately, answer(CARDS), {
      ...{ askedAt: T + LIMIT, now: T + LIMIT + 50, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 1 },
    });
    expect(stuck.stay).toMatchObject({
      outcome: 'overdue',
      toState: null,
      shortest: LIMIT,
      longest: LIMIT + 50,
      foundLate: false,
    });
    expect(stayOf(stuck.purchase, CARDS, T + LIMIT + MINUTE)).toBeNull();
  });

  test('lasts without the time in which nobody could ask', () => {
    const excused = 5 * MINUTE;
    const now = T + LIMIT + excused;
    expect(stayOf(atBank({ seenAt: now - MINUTE, excused }), CARDS, now)).toMatchObject({ shortest: LIMIT, longest: LIMIT });
  });

  test('is found late by more than a fifth of the limit', () => {
    const late = (by: number) => stayOf(atBank({ seenAt: T + LIMIT + 2 * MINUTE }), CARDS, T + LIMIT + by)!.foundLate;
    expect([late(3 * MINUTE), late(3 * MINUTE + 1)]).toEqual([false, true]);
  });

  test('long after a limit that was not there before is found late', () => {
    const long = atBank({ seenAt: T + 10 * MINUTE });
    expect(stayOf(long, CARDS, T + 10 * MINUTE + 30_000, withLimit(3 * MINUTE))).toMatchObject({ foundLate: true });
    expect(stayOf(long, CARDS, T + 10 * MINUTE + 30_000, withLimit(9 * MINUTE))).toMatchObject({ foundLate: false });
  });
});

test('a state that has no limit any more, or is final now, holds nobody who is stuck', () => {
  const stuck = atBank({ seenAt: T + LIMIT, stuckSince: T + LIMIT });
  for (const policy of [withLimit(null), withLimit(null, true)]) {
    const after = decide(stuck, answer(CARDS), { askedAt: T + 20 * MINUTE, now: T + 20 * MINUTE, policy, spread: 0, strikes: 1 });
    expect(after).toMatchObject({ kind: 'changed', purchase: { stuckSince: null } });
  }
});
