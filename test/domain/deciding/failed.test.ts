import { describe, expect, test } from 'vitest';
import type { PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { strikesAfter } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { atBank, CARDS, COMPLETED, HOUR, MINUTE, NEW, planned, poll, SECOND, T, typesOf } from './polls.ts';

describe("a purchase's own trouble", () => {
  const failing = (purchase: Purchase, failures: readonly { kind: 'malformed' | 'unknown'; reason: string; at: number }[]) => {
    const outcomes: PollOutcome[] = [];
    for (const { at, ...failure } of failures) {
      const before = outcomes.at(-1)?.purchase ?? purchase;
      outcomes.push(poll(before, trouble(failure.kind, { reason: failure.reason }), at));
    }
    return outcomes;
  };
  const every = (interval: number, count: number, failure: { kind: 'malformed' | 'unknown'; reason: string }) =>
    Array.from({ length: count }, (_, index) => ({ ...failure, at: T + (index + 1) * interval }));
  const saidAt = (outcomes: readonly PollOutcome[]) =>
    outcomes.flatMap(({ events }, index) => (events.some(({ type }) => type === 'purchase.unreadable') ? [index + 1] : []));
  const NEVER_READ = atBank({ state: null, stateSince: null, seenAt: null, sequence: 0 });

  test('leaves the state of what was read before alone, which is asked for on at its plan', () => {
    let purchase = atBank();
    const waits: number[] = [];
    for (let failure = 1; failure <= 4; failure++) {
      const failed = poll(purchase, trouble('malformed', { reason: 'not_json' }), T + failure * MINUTE);
      expect(failed).toMatchObject({ kind: 'failed', reason: 'not_json', transition: null, events: [] });
      expect(failed.purchase).toEqual({ ...purchase, polls: failure, failures: failure });
      expect(failed.lastError).toContain('not_json');
      waits.push(failed.nextPollAt! - T - failure * MINUTE);
      purchase = failed.purchase;
    }
    expect(waits).toEqual([6 * SECOND, 12 * SECOND, 18 * SECOND, 24 * SECOND]);
  });

  test('of an id that was never read is asked about later and later', () => {
    const outcomes = failing(NEVER_READ, every(0, 4, { kind: 'unknown', reason: 'http_404' }));
    expect(outcomes.map(({ nextPollAt }) => nextPollAt! - T)).toEqual([10 * SECOND, 20 * SECOND, 40 * SECOND, 80 * SECOND]);
    const odd = failing(NEVER_READ, every(0, 3, { kind: 'malformed', reason: 'not_json' }));
    expect(odd.map(({ nextPollAt }) => nextPollAt! - T)).toEqual([10 * SECOND, 20 * SECOND, 40 * SECOND]);
    const forgotten = failing(atBank(), every(0, 3, { kind: 'unknown', reason: 'no_such_purchase' }));
    expect(forgotten.map(({ nextPollAt }) => nextPollAt! - T)).toEqual([5 * SECOND, 10 * SECOND, 20 * SECOND]);
  });

  test('heeds a longer Retry-After, and no shorter one', () => {
    const asked = (retryAfter: number) => poll(atBank(), trouble('unknown', { retryAfter }), T);
    const wait = (retryAfter: number) => asked(retryAfter).nextPollAt! - T;
    expect([asked(HOUR), asked(1)].map(({ nextPollReason }) => nextPollReason)).toEqual(['retry_after', 'failure']);
    expect([wait(90 * SECOND), wait(1)]).toEqual([90 * SECOND, 5 * SECOND]);
  });

  test.each([
    ['of a purchase that was read before, in words', atBank(), 'no_such_purchase'],
    ['of one that never was, in words', NEVER_READ, 'no_such_purchase'],
    ['of one that never was, by status', NEVER_READ, 'http_404'],
  ])('of five answers "unknown id" makes it unreadable, which is said once: %s', (_, before, reason) => {
    const outcomes = failing(before, every(MINUTE, 7, { kind: 'unknown', reason }));
    expect(saidAt(outcomes)).toEqual([5]);
    // An id that was never known is the matter of who registered it: people are alerted of no such purchase.
    expect(outcomes.map(({ isAlarming }) => isAlarming)).toEqual(outcomes.map((_, at) => at === 4 && before.state !== null));
    const { sequence, state } = before;
    expect(outcomes.at(-1)!.purchase).toMatchObject({
      status: 'unreadable',
      unknowns: 7,
      failures: 7,
      sequence: sequence + 1,
      state,
    });
  });

  test('by 404 of a purchase that was read before says nothing about its id', () => {
    const [first] = failing(atBank(), every(MINUTE, 1, { kind: 'unknown', reason: 'http_404' }));
    expect(first!.purchase).toMatchObject({ status: 'watching', failures: 1, unknowns: 0 });
  });

  test.each([
    ['not before five minutes have passed since it was read', atBank(), 30 * SECOND, 11],
    ['not before the third answer', atBank(), HOUR, 3],
    ['of one never read: not before the waits add up to five minutes', NEVER_READ, MINUTE, 6],
  ])('of other kinds makes it unreadable, %s', (_, before, interval, nth) => {
    for (const failure of [
      { kind: 'malformed', reason: 'wrong_shape' },
      { kind: 'malformed', reason: 'http_409' },
      ...(before.state === null ? [] : [{ kind: 'unknown', reason: 'http_410' } as const]),
    ] as const) {
      const outcomes = failing(before, every(interval, nth + 3, failure));
      expect(saidAt(outcomes)).toEqual([nth]);
      const [event] = outcomes[nth - 1]!.events;
      expect(event!.data).toMatchObject({ reason: failure.reason, tries: nth, codes: [] });
      expect(outcomes.at(-1)!.purchase).toMatchObject({ status: 'unreadable', unknowns: 0, state: before.state });
      expect(outcomes.map(({ isAlarming }) => isAlarming)).toEqual(outcomes.map((_, at) => at === nth - 1));
      expect(outcomes.at(-1)!.nextPollReason).toBe('failure');
    }
  });

  const isUnreadable = (...given: Parameters<typeof poll>) => typesOf(poll(...given)).includes('purchase.unreadable');
  const odd = trouble('malformed');

  test('lasts by the moment of the last good answer, and by the waits of its plan', () => {
    const old = atBank({ stateSince: T - HOUR, failures: 2 });
    expect([isUnreadable(old, odd, T + 5 * MINUTE - 1), isUnreadable(old, odd, T + 5 * MINUTE)]).toEqual([false, true]);
    // Waits are a tenth of the stay: two of them are five minutes after 25 minutes.
    const now = T + 6 * MINUTE;
    const stayed = (time: number) => atBank({ stateSince: now - time, failures: 2 });
    expect([isUnreadable(stayed(25 * MINUTE - 10), odd, now), isUnreadable(stayed(25 * MINUTE), odd, now)]).toEqual([
      false,
      true,
    ]);
  });

  test.each([
    [MINUTE, [false, false, true]],
    [100 * SECOND, [false, true, true]],
  ])('of one never read lasts by its waits from the first answer on, which are %i ms and doubled', (first, said) => {
    const policy = planned(NEW, { poll: { first, growth: 0.1, most: HOUR } });
    expect([1, 2, 3].map((failures) => isUnreadable({ ...NEVER_READ, failures }, odd, T, { policy }))).toEqual(said);
  });

  test('has the codes of the answer, in the event too', () => {
    const coded = { ...odd, codes: ['E17'] };
    const failed = poll(atBank({ stateSince: T - HOUR, failures: 2 }), coded, T + HOUR);
    expect([failed.codes, (failed.events[0]!.data as { codes?: unknown }).codes]).toEqual([['E17'], ['E17']]);
    expect(poll(atBank(), odd, T).codes).toEqual([]);
  });

  test('is over with the first good answer: readable first, then what changed', () => {
    const unreadable = atBank({ status: 'unreadable', failures: 9, unknowns: 9, sequence: 2 });
    const seen = poll(unreadable, answer(COMPLETED), T + MINUTE);
    expect(seen.events.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['purchase.readable', 3],
      ['purchase.state_changed', 4],
    ]);
    expect(seen.purchase).toMatchObject({ status: 'settled', failures: 0, unknowns: 0, sequence: 4 });
    expect(seen.events[0]!.data).toMatchObject({ state: { value: CARDS } });
    expect(typesOf(poll(unreadable, answer(CARDS), T + MINUTE))).toEqual(['purchase.readable']);
    expect(poll(unreadable, answer(CARDS), T + MINUTE).purchase.status).toBe('watching');
  });

  test('is not asked about again when it was stopped', () => {
    expect(poll(atBank({ status: 'stopped' }), trouble('unknown'), T).nextPollAt).toBeNull();
  });
});

describe("the site's trouble", () => {
  test.each(['throttled', 'refused', 'unreachable'] as const)('%s is held against no purchase', (kind) => {
    const before = atBank({ failures: 1 });
    const outcome = poll(before, trouble(kind), T + MINUTE);
    expect(outcome).toMatchObject({ kind: 'postponed', nextPollReason: null, events: [], transition: null });
    expect(outcome.purchase).toBe(before);
  });

  test('postpones by a second, doubled each time', () => {
    const waits = [1, 2, 3, 4, 5].map((strikes) => poll(atBank(), trouble('unreachable'), T, { strikes }).nextPollAt! - T);
    expect(waits).toEqual([1, 2, 4, 8, 16].map((seconds) => seconds * SECOND));
    expect(poll(atBank(), trouble('unreachable'), T, { strikes: 0 }).nextPollAt).toBe(T + SECOND);
  });

  test.each([
    [0, 1],
    [7, 7],
    [300, 300],
  ])('postpones by the %i s that the service asks for, however often it failed', (asked, seconds) => {
    for (const strikes of [1, 5]) {
      const outcome = poll(atBank(), trouble('unreachable', { retryAfter: asked * SECOND }), T, { strikes, spread: 1 });
      expect(outcome.nextPollAt).toBe(T + seconds * SECOND);
    }
  });

  test('while no purchase of the site can be read, is never its own, whatever the answer; its wait grows to 16 s', () => {
    for (const kind of ['unknown', 'malformed', 'refused'] as const) {
      const purchase = atBank({ failures: 3, unknowns: 4 });
      expect(poll(purchase, trouble(kind), T, { strikes: 9, excused: true })).toMatchObject({ kind: 'postponed', purchase });
    }
    const strikes = (seen: Observation, excused: boolean) => [0, 3, 5, 7].map((before) => strikesAfter(before, seen, excused));
    expect(strikes(trouble('unknown'), true)).toEqual([1, 4, 5, 5]);
    expect(poll(atBank(), trouble('unknown'), T, { strikes: 5, excused: true }).nextPollAt).toBe(T + 16 * SECOND);
    expect(strikes(trouble('unknown'), false)).toEqual([0, 0, 0, 0]);
    expect(strikes(trouble('unreachable'), false)).toEqual([1, 4, 6, 8]);
    expect(strikes(answer(CARDS), true)).toEqual([0, 0, 0, 0]);
  });

  test('that is only ever this purchase is its own after six times', () => {
    expect(poll(atBank(), trouble('unreachable'), T, { strikes: 5 }).kind).toBe('postponed');
    expect(poll(atBank(), trouble('unreachable'), T, { strikes: 6 })).toMatchObject({
      kind: 'failed',
      purchase: { failures: 1 },
    });
  });
});

// Lives ---------------------------------------------------------------------------------------------------------------
