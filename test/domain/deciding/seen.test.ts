import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { completedEvents } from '../../../src/domain/events/make-event.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { answer, aPurchase, trouble } from '../../support/a-purchase.ts';
import {
  atBank,
  CANCELLED,
  CARDS,
  COMPLETED,
  DAY,
  HOUR,
  IDENTITY,
  MINUTE,
  NEW,
  planned,
  poll,
  SECOND,
  T,
  typesOf,
} from './polls.ts';

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
    expect(after.reason).toBe('moved');
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

  test('a recheck that fails is tried again seven times, and only where rechecks are planned', () => {
    const policy = planned(COMPLETED, { recheck: [HOUR] });
    const settled = (failures: number) => atBank({ state: COMPLETED, status: 'settled', failures });
    const failed = (failures: number) => poll(settled(failures), trouble('malformed'), T + HOUR, { policy });
    expect(failed(6).nextPollReason).toBe('failure');
    expect(failed(7).nextPollAt).toBeNull();
    expect(poll(settled(0), trouble('malformed'), T + HOUR).nextPollAt).toBeNull();
    expect(poll({ ...settled(0), status: 'stopped' }, trouble('malformed'), T, { policy }).nextPollAt).toBeNull();
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

  test('that the settings call final no more are watched again, which is recorded', () => {
    const settled = atBank({ state: COMPLETED, status: 'settled' });
    const policy = planned(COMPLETED, { final: false });
    expect(poll(settled, answer(COMPLETED), T, { policy })).toMatchObject({ kind: 'changed', purchase: { status: 'watching' } });
  });

  test('that the settings call final from now on hold nobody who is stuck', () => {
    const policy = planned(CARDS, { final: true });
    expect(poll(atBank({ stuckSince: T }), answer(CARDS), T + MINUTE, { policy }).purchase).toMatchObject({
      status: 'settled',
      stuckSince: null,
    });
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
    const atOnce = poll(seenLately, answer(CARDS), limit, { askedAt: limit - 1 });
    expect(atOnce).toMatchObject({ nextPollAt: limit, nextPollReason: 'stuck_moment', events: [] });
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

test('an expired purchase that is asked by hand is not called stuck', () => {
  const expired = aPurchase({ status: 'expired', state: 6, stateSince: T, seenAt: T });
  const now = T + 40 * 24 * 3_600_000;
  const outcome = decide(expired, answer(6), { askedAt: now, now, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
  expect(outcome).toMatchObject({ events: [], nextPollAt: null, purchase: { status: 'expired', stuckSince: null } });
});
