import { describe, expect, test } from 'vitest';
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import {
  aDelivery,
  anEvent,
  aSubscriber,
  CARD,
  DAY,
  explained,
  HOUR,
  MINUTE,
  NEW,
  NOW,
  policy,
  SECOND,
  T,
  texts,
  theFacts,
} from './facts.ts';

test.each([
  ['settled', '; "purchase-watch poll p-1 --site se" asks once more'],
  ['stopped', '; "purchase-watch watch p-1 --site se" takes it up again'],
  ['expired', '; "purchase-watch watch p-1 --site se" takes it up again'],
  ['unreadable', 'is final'],
] as const)('the command for a purchase that is %s names the site, as several may have its id', (status, end) => {
  const { next } = explained({ purchase: { status, nextPollAt: null } });
  expect(texts(next, 'poll')[0]!.endsWith(end)).toBe(true);
});

test("the moment of giving up knows which time the database's clock skipped", () => {
  const skipped = [{ from: NOW - 2 * DAY, until: NOW - DAY }];
  const waiting = { state: NEW, stateSince: NOW - 31 * DAY, watchedSince: NOW - 40 * DAY, nextPollAt: NOW };
  expect(explained({ purchase: waiting, skipped }).next).toMatchObject([{ kind: 'poll' }, { kind: 'give_up', at: NOW }]);
});

test('the purchase is shown without what only daemons need, with the replica that has its shard', () => {
  expect(explained().purchase).toEqual({
    ...{ purchaseId: 'p-1', site: 'se', reference: 'ORD-1', status: 'watching', state: CARD, stateSince: NOW - MINUTE },
    ...{ stuckSince: null, registeredAt: T, registeredBy: 'api', watchedSince: T, lastPolledAt: NOW - SECOND },
    ...{ nextPollAt: NOW - SECOND + 5_900, polls: 12, shard: 17, replica: 'rep_1' },
  });
  const gone = theFacts({ owner: { ...theFacts().owner, leaseUntil: null } });
  expect(explainPurchase(gone, policy).purchase.replica).toBeNull();
});

describe('what comes', () => {
  const kinds = (facts: Parameters<typeof theFacts>[0]) => explained(facts).next.map(({ kind }) => kind);

  test('comes in the order of its time; a poll that is not planned stands first', () => {
    const facts = { deliveries: [aDelivery({ dueAt: NOW + 3 * MINUTE })], attempts: [] };
    expect(kinds({ ...facts, purchase: { nextPollAt: NOW + HOUR } })).toEqual(['attempt', 'stuck_clock', 'poll', 'give_up']);
    expect(kinds({ ...facts, purchase: { nextPollAt: null, status: 'stopped' } })).toEqual(['poll', 'attempt']);
    expect(explained().standing.filter(({ kind }) => kind === 'more')).toEqual([]);
  });
  test('is given up only while it is watched, and gets stuck only while it can be read', () => {
    expect(kinds({ purchase: { status: 'unreadable' } })).toEqual(['poll', 'give_up']);
    for (const status of ['settled', 'stopped', 'expired'] as const) expect(kinds({ purchase: { status } })).toEqual(['poll']);
    expect(texts(explained().next, 'give_up')).toEqual([
      'watching is given up if nothing changes for 30 d (polling.giveUpAfter)',
    ]);
  });
  test('the stuck clock says whether a poll would confirm the purchase as stuck already', () => {
    const clock = (stateSince: number) => texts(explained({ purchase: { stateSince, seenAt: NOW } }).next, 'stuck_clock')[0];
    expect(clock(NOW - 15 * MINUTE + 1)).toBe(
      'counts as stuck if it is still waiting for the card provider and a poll confirms it',
    );
    expect(clock(NOW - 15 * MINUTE)).toBe('the limit is reached: it counts as stuck once a poll confirms it');
    const unlimited = { state: NEW, stateSince: NOW - MINUTE };
    expect(texts(explained({ purchase: unlimited }).next, 'stuck_clock')).toEqual([]);
  });
  test('a poll is called late, and wrong, only when it is', () => {
    const poll = (nextPollAt: number) => explained({ purchase: { nextPollAt } }).next.find(({ kind }) => kind === 'poll')!;
    expect(poll(NOW + 5_000)).toMatchObject({ text: expect.stringMatching(/^next poll: 6 s after the last poll/) });
    expect(poll(NOW + 5_000).wrong).toBeUndefined();
    expect(poll(NOW - 6_000)).toMatchObject({ wrong: true, text: expect.stringMatching(/^next poll, late by 6 s: /) });
  });

  const other = aSubscriber({ id: 2, name: 'books', status: 'off' });
  test('an attempt is named with its own event and subscriber', () => {
    const events = [anEvent({ position: 99, sequence: 4 }), anEvent()];
    const { next } = explained({ deliveries: [aDelivery()], subscribers: [other, aSubscriber()], events, attempts: [] });
    expect(next.find(({ kind }) => kind === 'attempt')).toEqual({
      ...{ at: NOW, kind: 'attempt', text: 'attempt 1 to deliver event 1 to shop' },
      ...{ attempt: 1, subscriber: 'shop', sequence: 1, eventId: 'evt_1' },
    });
  });
  test.each<[string, Parameters<typeof theFacts>[0]]>([
    ['waits behind another', { deliveries: [aDelivery({ behind: 99 })] }],
    ['is under way', { deliveries: [aDelivery({ inFlightSince: NOW })] }],
    ['is of an event that is not shown', { deliveries: [aDelivery({ event: 98 })] }],
    ['is for a subscriber that is switched off', { deliveries: [aDelivery({ subscriber: 2 })], subscribers: [other] }],
    ['is for a subscriber that is not known', { deliveries: [aDelivery({ subscriber: 3 })] }],
    ['was removed', { deliveries: [aDelivery()], subscribers: [aSubscriber({ configured: false })] }],
    ['waits for a daemon', { deliveries: [aDelivery()], owner: { ...theFacts().owner, replicas: 0 } }],
  ])('no attempt is promised where the delivery %s', (_, facts) => {
    expect(texts(explained({ attempts: [], ...facts }).next, 'attempt')).toEqual([]);
  });
});
