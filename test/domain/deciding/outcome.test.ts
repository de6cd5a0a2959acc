import { describe, expect, test } from 'vitest';
import { digestOfDetails } from '../../../src/checkout/client.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import { answer, aPurchase, trouble } from '../../support/a-purchase.ts';
import { CARDS, DAY, HOUR, NEW, poll, SECOND, T, typesOf } from './polls.ts';

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
    expect(last.events[0]!.data).toMatchObject({
      state: { value: NEW, name: 'New' },
      stateSince: '2026-11-20T09:15:00.000Z',
      watchedSince: '2026-11-20T09:15:00.000Z',
    });
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
