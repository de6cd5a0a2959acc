/** How late a poll is and why, and how far the stuck clock has run. */
import { describe, expect, test } from 'vitest';
import type { PurchaseFacts } from '../../../src/domain/explain/facts.ts';
import { answeredWell, lateness, stuckClock, whyLate } from '../../../src/domain/explain/poll.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { aPurchase, CARD, MINUTE, NOW, SECOND, TURNS, theFacts } from './facts.ts';

describe('the last poll', () => {
  test.each<[Partial<PurchaseFacts>, boolean]>([
    [{ failures: 0, seenAt: null }, true],
    [{ failures: 1, seenAt: NOW, lastPolledAt: NOW + 2 }, true],
    [{ failures: 1, seenAt: NOW, lastPolledAt: NOW + 3 }, false],
    [{ failures: 1, seenAt: null, lastPolledAt: 1 }, false],
    [{ failures: 1, seenAt: 1, lastPolledAt: null }, false],
  ])('%j was answered well: %j', (purchase, isWell) => expect(answeredWell(aPurchase(purchase))).toBe(isWell));
});

describe('how late a poll is', () => {
  const late = (by: number, differs: Parameters<typeof theFacts>[0] = {}) =>
    lateness(theFacts({ ...differs, purchase: { ...differs.purchase, nextPollAt: NOW - by } }));
  test('counts after five seconds, or at once where the turn of another daemon is waited for', () => {
    expect([late(5_000), late(5_001)]).toEqual([null, 5_001]);
    expect([late(0, { owner: TURNS }), late(1, { owner: TURNS })]).toEqual([null, 1]);
    expect(late(1)).toBeNull();
  });
  const firstPoll = { ahead: 3, ceiling: 50 };
  const { owner, site } = theFacts();
  test.each<[string, Parameters<typeof theFacts>[0]]>([
    ['its site fails', { site: { ...site, failingSince: NOW } }],
    ['its site is not configured', { site: { ...site, configured: false } }],
    ['its shard has no owner', { owner: { ...owner, leaseUntil: null } }],
    ['its row is locked', { purchase: { lockedBy: 7 } }],
    ['no daemon runs', { owner: { ...owner, replicas: 0 } }],
  ])('counts also for a bulk registration where %s', (_, facts) => {
    expect(late(MINUTE, { firstPoll, ...facts })).toBe(MINUTE);
    expect(late(MINUTE, { firstPoll })).toBeNull();
  });
  test('has one reason', () => {
    expect(whyLate(theFacts({ owner: { ...owner, replicas: 0, silence: { takesWrites: false, silentMs: null } } }))).toBe(
      'the database takes no writes',
    );
    const others = (othersDue: number) => whyLate(theFacts({ owner: { ...owner, othersDue } }));
    expect([others(99), others(100)]).toEqual([
      expect.stringMatching(/^it waits for its turn: 99 more of its shard are due/),
      expect.stringMatching(/^it waits for its turn: a hundred or more of its shard are due/),
    ]);
    const settingsAreTheSame = { ...TURNS, sharing: TURNS.sharing!.slice(1) };
    for (const each of [settingsAreTheSame, { ...TURNS, sharing: null }])
      expect(whyLate(theFacts({ owner: { ...each, othersDue: 1 } }))).toMatch(/^it waits for its turn: 1 more/);
    const inTurn = theFacts({ now: NOW + 20 * SECOND, owner: { ...TURNS, othersDue: 1 } });
    expect(whyLate(inTurn)).toMatch(/^it waits for its turn: 1 more/);
    const elsewhere = theFacts({ owner: { ...TURNS, othersDue: 1 }, purchase: { site: 'fi' } });
    expect(whyLate(elsewhere)).toMatch(/^it waits for its turn: 1 more/);
  });
});

describe('the stuck clock', () => {
  const clock = (purchase: Partial<PurchaseFacts>) =>
    stuckClock({ purchase: aPurchase(purchase), now: NOW }, DEFAULT_POLL_POLICY);
  const stateSince = NOW - 20 * MINUTE;
  test('needs a state and its beginning', () => {
    for (const purchase of [{ state: null }, { stateSince: null }, { state: 0 }]) expect(clock(purchase)).toBeNull();
  });
  test('excuses what is not asked now, but for a purchase that is stuck already or was never seen', () => {
    const unasked = { state: CARD, stateSince, seenAt: stateSince };
    expect(clock(unasked)!.excused).toBeGreaterThan(10 * MINUTE);
    for (const purchase of [
      { ...unasked, seenAt: null },
      { ...unasked, stuckSince: NOW - MINUTE },
    ])
      expect(clock(purchase)).toEqual({
        ...{ limit: 15 * MINUTE, counted: 20 * MINUTE, excused: 0, stuckAt: stateSince + 15 * MINUTE },
      });
  });
});
