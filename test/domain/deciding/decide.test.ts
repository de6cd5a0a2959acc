import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestOfDetails } from '../../../src/checkout/client.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import type { DecideContext, PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { completedEvents } from '../../../src/domain/events/make-event.ts';
import {
  DEFAULT_POLL_POLICY,
  type PollPolicy,
  policyOf,
  type StatePolicy,
  strikesAfter,
} from '../../../src/domain/polling/poll-plan.ts';
import { stuckMoment } from '../../../src/domain/polling/stuck.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { answer, aPurchase, aStatePolicy, trouble } from '../../support/a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T = Date.UTC(2026, 10, 20, 9, 15);
const [NEW, COMPLETED, IDENTITY, CARDS, CANCELLED] = [0, 2, 4, 6, 8];

/** Decides a poll that was answered at once, without jitter. */
function poll(purchase: Purchase, seen: Observation, now: number, differs: Partial<DecideContext> = {}): PollOutcome {
  return decide(purchase, seen, { askedAt: now, now, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 1, ...differs });
}
/** Defaults with one state planned differently. */
function planned(state: number, differs: Partial<StatePolicy>, all: Partial<PollPolicy> = {}): PollPolicy {
  const states = new Map(DEFAULT_POLL_POLICY.states).set(state, { ...policyOf(DEFAULT_POLL_POLICY, state), ...differs });
  return { ...DEFAULT_POLL_POLICY, states, ...all };
}
const typesOf = (outcome: PollOutcome): string[] => outcome.events.map(({ type }) => type);
/** In card payments since T, last seen then. */
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

describe('a first observation', () => {
  const first = poll(aPurchase({ watchedSince: T }), answer(NEW), T);

  test('is a transition from nothing', () => {
    expect(first.transition).toEqual({ sequence: 1, from: null, to: NEW, notBefore: null, notAfter: T });
    expect(first).toMatchObject({ kind: 'changed', reason: 'first' });
    expect(first.events).toHaveLength(1);
    expect(first.events[0]).toMatchObject({
      type: 'purchase.state_changed',
      sequence: 1,
      at: T,
      data: { sequence: 1, from: null, to: { value: 0, name: 'New' }, notBefore: null, final: false },
    });
  });

  test('begins the stay and plans the next poll', () => {
    expect(first.purchase).toMatchObject({ state: NEW, stateSince: T, seenAt: T, sequence: 1, status: 'watching' });
    expect(first).toMatchObject({ nextPollAt: T + 10 * SECOND, nextPollReason: 'growth' });
  });
});

describe('the same state again', () => {
  test('moves times and counters and nothing else', () => {
    const before = atBank({ failures: 3, unknowns: 2 });
    const after = poll(before, answer(CARDS), T + 5 * SECOND);
    expect(after).toMatchObject({ kind: 'unchanged', reason: 'same', transition: null, events: [], detailsChanged: false });
    expect(after.purchase).toEqual({ ...before, polls: 1, seenAt: T + 5 * SECOND, failures: 0, unknowns: 0 });
    expect(after.nextPollAt).toBe(T + 10 * SECOND);
  });

  test('with other fields is recorded, and announces nothing', () => {
    const after = poll(atBank(), answer(CARDS, { Price: decimal('249.50') }), T + 5 * SECOND);
    expect(after).toMatchObject({ kind: 'changed', events: [], detailsChanged: true, transition: null });
    expect(after.details).toEqual({ Price: decimal('249.50') });
    expect(poll(after.purchase, answer(CARDS, { Price: decimal('249.50') }), T + 10 * SECOND).kind).toBe('unchanged');
    expect(poll(after.purchase, answer(CARDS, { Price: decimal('249.5') }), T + 10 * SECOND).detailsChanged).toBe(true);
  });
});

describe('another state', () => {
  test('is a transition from the one before, between the two observations', () => {
    const after = poll(atBank({ seenAt: T + 5 * SECOND }), answer(COMPLETED), T + 7 * SECOND);
    const between = { notBefore: T + 5 * SECOND, notAfter: T + 7 * SECOND };
    expect(after.transition).toEqual({ sequence: 2, from: CARDS, to: COMPLETED, ...between });
    expect(after.events[0]!.data).toMatchObject({
      sequence: 2,
      from: { value: CARDS, name: 'WaitingForCardPayments' },
      to: { value: COMPLETED, name: 'Completed' },
      notBefore: '2026-11-20T09:15:05.000Z',
      notAfter: '2026-11-20T09:15:07.000Z',
      final: true,
    });
  });

  test('begins a new stay: its time counts from now and nothing is excused', () => {
    const after = poll(atBank({ excused: 5 * MINUTE }), answer(IDENTITY), T + HOUR);
    expect(after.purchase).toMatchObject({ state: IDENTITY, stateSince: T + HOUR, excused: 0, stuckSince: null });
  });

  test('carries what the merchant attached and the amounts, digit for digit', () => {
    const { events, details } = poll(atBank(), answer(COMPLETED, { Price: decimal('10.00'), CurrencyCode: 'SEK' }), T + MINUTE);
    const attached = { reference: 'ORD-1', metadata: '{"cart":7.0}', details: null };
    const { data } = completedEvents(events, details, attached)[0]!;
    expect(JSON.stringify(data)).toContain('"reference":"ORD-1","metadata":{"cart":7.0},"price":10.00,"currency":"SEK"');
  });
});

describe('final states', () => {
  test('settle the purchase: it is not polled any more', () => {
    expect(poll(atBank(), answer(COMPLETED), T + MINUTE)).toMatchObject({
      purchase: { status: 'settled' },
      nextPollAt: null,
      nextPollReason: null,
    });
  });

  test('are looked at again when rechecks are planned, and what then comes is announced', () => {
    const policy = planned(COMPLETED, { recheck: [HOUR, DAY] });
    const settled = poll(atBank(), answer(COMPLETED), T, { policy });
    expect(settled).toMatchObject({ nextPollAt: T + HOUR, nextPollReason: 'recheck' });
    const rechecked = poll(settled.purchase, answer(COMPLETED), T + HOUR, { policy });
    expect(rechecked).toMatchObject({ kind: 'unchanged', nextPollAt: T + DAY });
    const cancelled = poll(rechecked.purchase, answer(CANCELLED), T + DAY, { policy });
    expect(cancelled).toMatchObject({ purchase: { status: 'settled', state: CANCELLED }, nextPollAt: null });
    expect(typesOf(cancelled)).toEqual(['purchase.state_changed']);
  });

  test('a recheck that fails is tried again', () => {
    const policy = planned(COMPLETED, { recheck: [HOUR] });
    const settled = poll(atBank(), answer(COMPLETED), T, { policy }).purchase;
    const failed = poll(settled, trouble('malformed'), T + HOUR, { policy });
    expect(failed).toMatchObject({ kind: 'failed', nextPollReason: 'failure', purchase: { status: 'settled' } });
    expect(failed.nextPollAt).toBeGreaterThan(T + HOUR);
  });

  test('are not rechecked for ever: the service forgets a purchase, or never answers well again', () => {
    const policy = planned(COMPLETED, { recheck: [HOUR, DAY] });
    const settled = poll(atBank(), answer(COMPLETED), T, { policy }).purchase;
    const forgotten = poll(settled, trouble('unknown'), T + HOUR, { policy });
    expect(forgotten).toMatchObject({
      kind: 'failed',
      purchase: { status: 'settled', failures: 1 },
      nextPollAt: T + DAY,
      nextPollReason: 'recheck',
    });
    const last = poll(forgotten.purchase, trouble('unknown'), T + DAY, { policy });
    expect(last).toMatchObject({ kind: 'failed', purchase: { status: 'settled', failures: 2 }, nextPollAt: null });
    let { purchase, nextPollAt } = poll(settled, trouble('malformed'), T + DAY, { policy });
    for (let polls = 1; nextPollAt !== null; polls++) {
      expect(polls).toBeLessThan(10);
      ({ purchase, nextPollAt } = poll(purchase, trouble('malformed'), nextPollAt, { policy }));
    }
    expect(purchase.status).toBe('settled');
  });

  test('that turn out not to be final are watched again', () => {
    const settled = poll(atBank(), answer(COMPLETED), T).purchase;
    const back = poll(settled, answer(NEW), T + HOUR);
    expect(back).toMatchObject({ purchase: { status: 'watching' }, nextPollAt: T + HOUR + 10 * SECOND });
  });
});

describe('a number nobody knows', () => {
  test('is a state like any other, on the default plan, and said to be unknown when it begins', () => {
    const first = poll(atBank(), answer(17), T + MINUTE);
    expect(first).toMatchObject({ unknownState: 17, purchase: { state: 17, status: 'watching' } });
    expect(first.events[0]!.data).toMatchObject({ to: { value: 17, name: 'Unknown(17)' }, final: false });
    expect(first.nextPollAt).toBe(T + MINUTE + 10 * SECOND);
    expect(poll(first.purchase, answer(17), T + 2 * MINUTE).unknownState).toBeNull();
  });

  test('is never said of one the specification lists', () => {
    expect(poll(atBank(), answer(14), T + MINUTE).unknownState).toBeNull();
  });
});

describe('a stuck purchase', () => {
  const limit = T + 15 * MINUTE;
  const seenLately = atBank({ seenAt: limit - MINUTE });

  test('is asked exactly at its limit, and called stuck by that answer', () => {
    const before = poll(atBank({ seenAt: limit - 2 * MINUTE }), answer(CARDS), limit - MINUTE);
    expect(before).toMatchObject({ nextPollAt: limit, nextPollReason: 'stuck_moment', purchase: { stuckSince: null } });
    const stuck = poll(before.purchase, answer(CARDS), limit);
    expect(stuck).toMatchObject({ kind: 'changed', reason: 'stuck', purchase: { stuckSince: limit } });
    expect(stuck.events).toHaveLength(1);
    expect(stuck.events[0]).toMatchObject({
      type: 'purchase.stuck',
      sequence: 2,
      data: { stateSince: '2026-11-20T09:15:00.000Z', stuckSince: '2026-11-20T09:30:00.000Z' },
    });
  });

  test('is not called so by an answer to a question from before the limit', () => {
    const early = poll(seenLately, answer(CARDS), limit + SECOND, { askedAt: limit - 1 });
    expect(early.purchase.stuckSince).toBeNull();
    expect(early.events).toEqual([]);
    expect(early).toMatchObject({ nextPollAt: limit + SECOND, nextPollReason: 'stuck_moment' });
  });

  test('is called so once, and polled on as planned', () => {
    const stuck = poll(seenLately, answer(CARDS), limit).purchase;
    const later = poll(stuck, answer(CARDS), limit + MINUTE);
    expect(later).toMatchObject({ kind: 'unchanged', purchase: { stuckSince: limit } });
    expect(later.nextPollAt).toBe(limit + MINUTE + 96 * SECOND);
  });

  test('that moves on is told as moved, then as recovered', () => {
    const stuck = poll(seenLately, answer(CARDS), limit).purchase;
    const moved = poll(stuck, answer(COMPLETED), limit + MINUTE);
    // Who wants to hear of a state is told when a purchase comes to it, and when one is not stuck there any more.
    expect(moved.events.map(({ type, sequence, state }) => [type, sequence, state])).toEqual([
      ['purchase.state_changed', 3, COMPLETED],
      ['purchase.recovered', 4, CARDS],
    ]);
    expect(moved.events[1]!.data).toMatchObject({ stuckSince: '2026-11-20T09:30:00.000Z', from: { value: CARDS } });
    expect(moved.purchase).toMatchObject({ stuckSince: null, sequence: 4 });
    expect(moved.transition!.sequence).toBe(3);
  });

  test('is stuck later by the time in which nobody could ask', () => {
    const outage = poll(atBank({ seenAt: T + 5 * MINUTE }), answer(CARDS), T + 45 * MINUTE);
    expect(outage.purchase.stuckSince).toBeNull();
    // The plan had a poll half a minute later, a tenth of jitter, and five seconds of grace.
    expect(outage.purchase.excused).toBe(40 * MINUTE - 38 * SECOND);
    expect(outage.nextPollAt).toBeLessThanOrEqual(limit + outage.purchase.excused);
    const late = limit + outage.purchase.excused;
    const asked = { ...outage.purchase, seenAt: late - MINUTE };
    expect(poll(asked, answer(CARDS), late - 1).purchase.stuckSince).toBeNull();
    expect(poll(asked, answer(CARDS), late).purchase.stuckSince).toBe(late);
  });

  test('is not stuck later for an answer that took long: it was asked in time', () => {
    const slow = poll(atBank(), answer(CARDS), T + MINUTE, { askedAt: T + 5 * SECOND });
    expect(slow.purchase.excused).toBe(0);
  });

  test('a stopped purchase asked by hand is never called stuck, and not polled on', () => {
    const stopped = poll(atBank({ status: 'stopped', seenAt: limit }), answer(CARDS), limit + MINUTE);
    expect(stopped).toMatchObject({ purchase: { status: 'stopped', stuckSince: null }, nextPollAt: null, events: [] });
  });
});

describe('giving up', () => {
  const soon: PollPolicy = { ...DEFAULT_POLL_POLICY, giveUpAfter: DAY };
  const atNew = aPurchase({
    state: NEW,
    stateSince: T,
    seenAt: T + DAY - HOUR,
    watchedSince: T,
    sequence: 1,
    detailsDigest: digestOfDetails({}),
  });

  test('comes with a last poll at that very moment', () => {
    expect(poll(atNew, answer(NEW), T + DAY - SECOND, { policy: soon })).toMatchObject({
      nextPollAt: T + DAY,
      nextPollReason: 'give_up',
    });
    const last = poll(atNew, answer(NEW), T + DAY, { policy: soon });
    expect(last).toMatchObject({ kind: 'changed', reason: 'expired', purchase: { status: 'expired' }, nextPollAt: null });
    expect(typesOf(last)).toEqual(['purchase.expired']);
    expect(last.purchase.sequence).toBe(2);
  });

  test('counts from the last change, and from the latest registration', () => {
    expect(poll({ ...atNew, stateSince: T + HOUR }, answer(NEW), T + DAY, { policy: soon }).purchase.status).toBe('watching');
    expect(poll({ ...atNew, watchedSince: T + HOUR }, answer(NEW), T + DAY, { policy: soon }).purchase.status).toBe('watching');
    expect(poll(atNew, answer(CARDS), T + 2 * DAY, { policy: soon }).purchase.status).toBe('watching');
  });

  test('does not count time that the clock skipped', () => {
    const late = { policy: soon, skipped: [{ from: T + HOUR, until: T + 2 * HOUR }] };
    expect(poll(atNew, answer(NEW), T + DAY, late).purchase.status).toBe('watching');
    expect(poll(atNew, trouble('unknown'), T + DAY, late).purchase.status).toBe('watching');
    expect(poll(atNew, answer(NEW), T + DAY + HOUR, late).purchase.status).toBe('expired');
  });

  test('ends a stuck stay without calling it recovered', () => {
    const stuck = { ...atNew, state: CARDS, stuckSince: T + HOUR };
    const expired = poll(stuck, answer(CARDS), T + DAY, { policy: soon });
    expect(typesOf(expired)).toEqual(['purchase.expired']);
    expect(expired.purchase.stuckSince).toBeNull();
  });

  test('also comes to a purchase that only ever fails', () => {
    const failed = poll(atNew, trouble('unknown'), T + DAY, { policy: soon });
    expect(typesOf(failed)).toEqual(['purchase.expired']);
    const before = poll(atNew, trouble('unknown'), T + DAY - 1, { policy: soon });
    expect(before).toMatchObject({ nextPollAt: T + DAY, nextPollReason: 'give_up' });
  });

  test('is not undone by a look, and is by a sign of life', () => {
    const expired = poll(atNew, answer(NEW), T + DAY, { policy: soon }).purchase;
    expect(poll(expired, answer(NEW), T + 2 * DAY, { policy: soon })).toMatchObject({
      purchase: { status: 'expired' },
      nextPollAt: null,
      events: [],
    });
    const alive = poll(expired, answer(CARDS), T + 2 * DAY, { policy: soon });
    expect(alive).toMatchObject({ purchase: { status: 'watching' }, nextPollAt: T + 2 * DAY + 5 * SECOND });
  });
});

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
    }
  });

  test('is over with the first good answer: readable first, then what changed', () => {
    const unreadable = atBank({ status: 'unreadable', failures: 9, unknowns: 9, sequence: 2 });
    const seen = poll(unreadable, answer(COMPLETED), T + MINUTE);
    expect(seen.events.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['purchase.readable', 3],
      ['purchase.state_changed', 4],
    ]);
    expect(seen.purchase).toMatchObject({ status: 'settled', failures: 0, unknowns: 0, sequence: 4 });
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

/** A life: how late each poll is, how long its answer takes, and what it shows. */
const observation: fc.Arbitrary<Observation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(NEW, CARDS, CARDS, CARDS, IDENTITY, COMPLETED, CANCELLED, 17).map((state) => answer(state)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 99 }).map((cents) => answer(CARDS, { Price: decimal(`1.${cents}`) })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...(['unknown', 'malformed', 'throttled', 'refused', 'unreachable'] as const).map((kind) => trouble(kind)),
    ),
  },
);
const step = fc.record({
  seen: observation,
  late: fc.oneof(fc.constant(0), fc.nat(2 * SECOND), fc.nat(2 * HOUR)),
  took: fc.nat(10 * SECOND),
  spread: fc.double({ min: -1, max: 1, noNaN: true }),
  strikes: fc.integer({ min: 0, max: 8 }),
});
const policies: fc.Arbitrary<PollPolicy> = fc.constantFrom(
  DEFAULT_POLL_POLICY,
  planned(COMPLETED, { recheck: [MINUTE, HOUR] }, { giveUpAfter: HOUR, unreadableAfter: 2 }),
  planned(CARDS, aStatePolicy({ stuckAfter: 30 * SECOND }), { unreadableAfter: 1 }),
);

interface Step {
  readonly before: Purchase;
  readonly seen: Observation;
  readonly outcome: PollOutcome;
  readonly askedAt: number;
  readonly now: number;
  readonly policy: PollPolicy;
}

/** Lives a purchase from poll to poll as its plan says, and shows each to `check`. */
function live(check: (step: Step, life: readonly Step[]) => void): void {
  fc.assert(
    fc.property(policies, fc.array(step, { minLength: 1, maxLength: 40 }), (policy, steps) => {
      let purchase = aPurchase({ watchedSince: T });
      let due: number | null = T;
      let now = T;
      const life: Step[] = [];
      for (const { seen, late, took, spread, strikes } of steps) {
        // What is not planned any more is asked for by hand.
        const askedAt: number = Math.max(due ?? now + HOUR, now) + late;
        now = askedAt + took;
        const outcome = decide(purchase, seen, { askedAt, now, policy, spread, strikes });
        const lived = { before: purchase, seen, outcome, askedAt, now, policy };
        life.push(lived);
        check(lived, life);
        purchase = outcome.purchase;
        due = outcome.nextPollAt;
      }
    }),
    { numRuns: 500 },
  );
}

describe('through any life', () => {
  test('each event has the next number, without a gap, and says so itself', () => {
    live(({ before, outcome }) => {
      const numbers = outcome.events.map((_, index) => before.sequence + 1 + index);
      expect(outcome.events.map(({ sequence }) => sequence)).toEqual(numbers);
      expect(outcome.events.map(({ data }) => data.sequence)).toEqual(numbers);
      expect(outcome.purchase.sequence).toBe(before.sequence + numbers.length);
    });
  });

  test('each poll that is planned and recorded has its reason', () => {
    live(({ outcome }) => {
      const { kind, nextPollAt, nextPollReason } = outcome;
      expect(nextPollReason === null).toBe(nextPollAt === null || kind === 'postponed');
    });
  });

  test('only a good answer moves the state, and every move is one transition with its event', () => {
    live(({ before, seen, outcome }) => {
      const moved = outcome.purchase.state !== before.state;
      expect(outcome.transition !== null).toBe(moved);
      expect(typesOf(outcome).filter((type) => type === 'purchase.state_changed')).toHaveLength(moved ? 1 : 0);
      if (!moved) return;
      expect(seen.kind).toBe('seen');
      const announced = outcome.events.find(({ type }) => type === 'purchase.state_changed')!;
      expect(outcome.transition).toMatchObject({ sequence: announced.sequence, from: before.state, to: outcome.purchase.state });
    });
  });

  test('transitions form a chain, each after the one before', () => {
    live(({ outcome: { transition } }, life) => {
      if (transition === null) return;
      const last = life.slice(0, -1).findLast(({ outcome }) => outcome.transition !== null)?.outcome.transition ?? null;
      expect(transition.from).toBe(last?.to ?? null);
      expect(transition.sequence).toBeGreaterThan(last?.sequence ?? 0);
      if (last === null) expect(transition.notBefore).toBeNull();
      else expect(transition.notBefore).toBeGreaterThanOrEqual(last.notAfter);
      expect(transition.notAfter).toBeGreaterThanOrEqual(transition.notBefore ?? 0);
    });
  });

  test('nobody is called stuck before the limit, nor by an older question, nor by anything but a good answer', () => {
    live(({ before, seen, outcome, askedAt, policy }) => {
      const { purchase } = outcome;
      if (!typesOf(outcome).includes('purchase.stuck')) {
        if (purchase.stuckSince !== null) expect(purchase.stuckSince).toBe(before.stuckSince);
        return;
      }
      expect(seen.kind).toBe('seen');
      const { stuckAfter } = policyOf(policy, purchase.state!);
      expect(askedAt - purchase.stateSince!).toBeGreaterThanOrEqual(stuckAfter!);
      expect(askedAt).toBeGreaterThanOrEqual(
        stuckMoment(policyOf(policy, purchase.state!), purchase.stateSince!, purchase.excused)!,
      );
    });
  });

  test('the next poll never lies in the past, and never beyond the moment to call it stuck or to give up', () => {
    live(({ outcome, now, policy }) => {
      const { purchase, nextPollAt } = outcome;
      if (purchase.status === 'watching') expect(nextPollAt).not.toBeNull();
      if (nextPollAt === null) return;
      expect(nextPollAt).toBeGreaterThanOrEqual(now);
      if (outcome.kind !== 'postponed' && purchase.status === 'watching')
        expect(nextPollAt).toBeLessThanOrEqual(Math.max(purchase.watchedSince, purchase.stateSince ?? 0) + policy.giveUpAfter);
      if (purchase.failures > 0 || outcome.kind === 'postponed' || purchase.stuckSince !== null || purchase.status !== 'watching')
        return;
      const stuckAt = stuckMoment(policyOf(policy, purchase.state!), purchase.stateSince!, purchase.excused);
      if (stuckAt !== null) expect(nextPollAt).toBeLessThanOrEqual(Math.max(stuckAt, now));
    });
  });

  test('an answer that is the same to the byte leads to the same as one that says the same', () => {
    live(({ before, askedAt, now, policy }, life) => {
      if (before.state === null) return;
      const context = { askedAt, now, policy, spread: 0.3, strikes: 0 };
      const { details } = life.slice(0, -1).findLast(({ outcome }) => outcome.details !== null)!.outcome;
      const again = decide(before, answer(before.state, details!), context);
      expect({ ...decide(before, { kind: 'same' }, context), details }).toEqual(again);
    });
  });

  test('what changed is said to have changed: nothing else is written in full', () => {
    live(({ before, outcome }) => {
      if (outcome.kind === 'changed') return;
      const { purchase } = outcome;
      expect(outcome.events).toEqual([]);
      expect(purchase).toEqual({
        ...before,
        polls: outcome.kind === 'postponed' ? before.polls : before.polls + 1,
        seenAt: purchase.seenAt,
        excused: purchase.excused,
        failures: purchase.failures,
        unknowns: purchase.unknowns,
      });
    });
  });
});

test('an expired purchase that is asked by hand is not called stuck', () => {
  const expired = aPurchase({ status: 'expired', state: 6, stateSince: T, seenAt: T });
  const now = T + 40 * 24 * 3_600_000;
  const outcome = decide(expired, answer(6), { askedAt: now, now, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
  expect(outcome).toMatchObject({ events: [], nextPollAt: null, purchase: { status: 'expired', stuckSince: null } });
});
