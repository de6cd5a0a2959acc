import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { asksForAmount, expectedEnd, isAnnounced, isWorthAnnouncing, riskWindow } from '../../../src/domain/polling/at-risk.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import type { Details, Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { numberOf } from '../../../src/domain/purchases/states.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { isoTime } from '../../../src/domain/values/time.ts';
import { answer, aPurchase } from '../../support/a-purchase.ts';

const MINUTE = 60_000;
const T = 100 * MINUTE;
const CARDS = numberOf('WaitingForCardPayments');
const RULE = { before: 5 * MINUTE, minimumAmount: { SEK: 1_000 } };
const POLICY: PollPolicy = { ...DEFAULT_POLL_POLICY, atRisk: RULE };

describe('the window', () => {
  const stay = { state: CARDS, since: T, watchedSince: T - 2 * MINUTE };

  test('begins some minutes before the session that began at the registration ends, and ends with one that began in the state', () => {
    const window = riskWindow(POLICY, stay)!;
    expect(window).toEqual({ at: T + 23 * MINUTE, earliestEnd: T + 28 * MINUTE, latestEnd: T + 30 * MINUTE });
    expect([window.at, T + 28 * MINUTE - 1, T + 28 * MINUTE].map((now) => (expectedEnd(window, now) - T) / MINUTE)).toEqual([
      28, 28, 30,
    ]);
  });

  test.each([
    ['older than a session, as with a payment link', T - 30 * MINUTE],
    ['renewed after the stay began', T + MINUTE],
  ])('a registration that is %s says nothing', (_, watchedSince) => {
    const window = riskWindow(POLICY, { ...stay, watchedSince });
    expect(window).toEqual({ at: T + 25 * MINUTE, earliestEnd: T + 30 * MINUTE, latestEnd: T + 30 * MINUTE });
  });

  test('there is none where it is off, and where the session waits for the merchant', () => {
    expect(riskWindow(DEFAULT_POLL_POLICY, stay)).toBeNull();
    expect(riskWindow(POLICY, { ...stay, state: numberOf('WaitingCreditApproval') })).toBeNull();
  });
});

test.each<[string, Details | null, boolean]>([
  ['as much as the least amount', { Price: decimal('1000.00'), CurrencyCode: 'SEK' }, true],
  ['as much, without decimals', { Price: 1_000, CurrencyCode: 'SEK' }, true],
  ['an amount that is a text', { Price: '5000', CurrencyCode: 'SEK' }, false],
  ['a currency that is no text', { Price: 5_000, CurrencyCode: ['SEK'] }, false],
  ['less', { Price: 999.99, CurrencyCode: 'SEK' }, false],
  ['another currency', { Price: 5_000, CurrencyCode: 'EUR' }, false],
  ['a currency with the name of what every object has', { Price: 5_000, CurrencyCode: 'constructor' }, false],
  ['no amount', { CurrencyCode: 'SEK' }, false],
  ['no answer', null, false],
])('%s: worth telling is %3$s', (_, details, worth) => {
  expect(isWorthAnnouncing(RULE, details)).toBe(worth);
  expect(isWorthAnnouncing({ ...RULE, minimumAmount: {} }, details)).toBe(true);
});

test('where each amount of a currency is worth a mail, one that is not known is not', () => {
  const each = { ...RULE, minimumAmount: { SEK: 0 } };
  expect(isWorthAnnouncing(each, { Price: 0, CurrencyCode: 'SEK' })).toBe(true);
  expect(isWorthAnnouncing(each, { CurrencyCode: 'SEK' })).toBe(false);
});

test('the time of an earlier stay does not count as told', () => {
  expect(isAnnounced({ atRiskSince: T - 1, stateSince: T })).toBe(false);
  expect(isAnnounced({ atRiskSince: T, stateSince: T })).toBe(true);
  for (const stateSince of [T, 0, null]) expect(isAnnounced({ atRiskSince: null, stateSince })).toBe(false);
  expect(isAnnounced({ atRiskSince: T, stateSince: null })).toBe(false);
});

describe('polls', () => {
  const stuck = aPurchase({
    ...{ state: CARDS, stateSince: T, seenAt: T + 20 * MINUTE, watchedSince: T, stuckSince: T + 15 * MINUTE, sequence: 2 },
  });
  const RICH: Details = { Price: decimal('1250.50'), CurrencyCode: 'SEK' };
  const poll = (before: Purchase, seen: Observation, at: number, policy = POLICY, took = 100) =>
    decide(before, seen, { askedAt: at, now: at + took, policy, spread: 0, strikes: 0 });
  const typesOf = ({ events }: ReturnType<typeof poll>): string[] => events.map(({ type }) => type);

  test('an amount is asked for within the window alone, and only where amounts count', () => {
    expect([24, 25, 29, 30].map((minutes) => asksForAmount(stuck, POLICY, T + minutes * MINUTE))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const at = T + 25 * MINUTE;
    expect(asksForAmount({ ...stuck, atRiskSince: at }, POLICY, at)).toBe(false);
    expect(asksForAmount(stuck, DEFAULT_POLL_POLICY, at)).toBe(false);
    expect(asksForAmount(stuck, { ...POLICY, atRisk: { ...RULE, minimumAmount: {} } }, at)).toBe(false);
    expect(asksForAmount(aPurchase(), POLICY, at)).toBe(false);
    expect(asksForAmount({ ...stuck, state: numberOf('WaitingCreditApproval') }, POLICY, at)).toBe(false);
  });

  test('one is planned for the moment, and tells once, with what a mail needs', () => {
    const before = poll(stuck, answer(CARDS, RICH), T + 24 * MINUTE);
    expect(before).toMatchObject({ nextPollAt: T + 25 * MINUTE, nextPollReason: 'risk_moment', events: [] });
    const told = poll(before.purchase, answer(CARDS, RICH), T + 25 * MINUTE);
    expect(told.events).toMatchObject([
      {
        type: 'purchase.at_risk',
        sequence: 3,
        data: { stateSince: isoTime(T), stuckSince: isoTime(T + 15 * MINUTE), sessionEndsAt: isoTime(T + 30 * MINUTE) },
      },
    ]);
    expect(told).toMatchObject({ kind: 'changed', purchase: { atRiskSince: T + 25 * MINUTE + 100, sequence: 3 } });
    expect(told.nextPollReason).toBe('growth');
    expect(typesOf(poll(told.purchase, answer(CARDS, RICH), T + 27 * MINUTE))).toEqual([]);
  });

  test('one whose answer was on its way at the moment is followed by another at once', () => {
    const before = poll(stuck, answer(CARDS, RICH), T + 25 * MINUTE - 50);
    expect(before).toMatchObject({ events: [], nextPollAt: T + 25 * MINUTE + 50, nextPollReason: 'risk_moment' });
  });

  test('one whose answer comes as the session ends tells nothing', () => {
    const end = T + 30 * MINUTE;
    expect(typesOf(poll(stuck, answer(CARDS, RICH), end - 101))).toEqual(['purchase.at_risk']);
    expect(typesOf(poll(stuck, answer(CARDS, RICH), end - 100))).toEqual([]);
  });

  test('one that finds it stuck so late tells both, in order', () => {
    const late = { ...stuck, stuckSince: null, excused: 11 * MINUTE };
    const plan = poll({ ...late, seenAt: T + 25 * MINUTE }, answer(CARDS, RICH), T + 25 * MINUTE + 1_000);
    expect(plan).toMatchObject({ events: [], nextPollAt: T + 26 * MINUTE, nextPollReason: 'stuck_moment' });
    expect(typesOf(poll(plan.purchase, answer(CARDS, RICH), T + 26 * MINUTE))).toEqual(['purchase.stuck', 'purchase.at_risk']);
  });

  test.each<[string, Partial<Purchase>, Observation, number]>([
    ['not stuck', { stuckSince: null, excused: 20 * MINUTE }, answer(CARDS, RICH), 25],
    ['moved on', {}, answer(numberOf('Completed'), RICH), 25],
    ['moved to another state of waiting', {}, answer(numberOf('BeingProcessed'), RICH), 25],
    ['too small', {}, answer(CARDS, { Price: 10, CurrencyCode: 'SEK' }), 25],
    ['the session has ended', {}, answer(CARDS, RICH), 30],
    ['stopped', { status: 'stopped' }, answer(CARDS, RICH), 25],
    ['told before', { atRiskSince: T + 24 * MINUTE }, answer(CARDS, RICH), 25],
    ['the same answer, in which the amount was not read', {}, { kind: 'same' }, 25],
  ])('%s: nothing is told', (_, differs, seen, minutes) => {
    const after = poll({ ...stuck, ...differs }, seen, T + minutes * MINUTE);
    expect(typesOf(after)).not.toContain('purchase.at_risk');
    expect(after.nextPollReason).not.toBe('risk_moment');
  });

  test('without the setting nothing is told, and nothing is planned', () => {
    expect(typesOf(poll(stuck, answer(CARDS, RICH), T + 25 * MINUTE, DEFAULT_POLL_POLICY))).toEqual([]);
    expect(poll(stuck, answer(CARDS, RICH), T + 24 * MINUTE, DEFAULT_POLL_POLICY).nextPollReason).toBe('growth');
  });

  test('a later stay is told of again', () => {
    const told = { ...stuck, atRiskSince: T + 25 * MINUTE };
    const moved = poll(told, answer(numberOf('BeingProcessed'), RICH), T + 26 * MINUTE).purchase;
    const again = { ...moved, state: CARDS, stateSince: T + 27 * MINUTE, stuckSince: T + 42 * MINUTE, seenAt: T + 42 * MINUTE };
    expect(typesOf(poll(again, answer(CARDS, RICH), T + 53 * MINUTE))).toEqual(['purchase.at_risk']);
  });
});
