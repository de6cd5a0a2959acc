import { describe, expect, test } from 'vitest';
import type { Facts, IncidentFacts } from '../../../src/domain/explain/facts.ts';
import {
  aDelivery,
  anEvent,
  aSubscriber,
  CARD,
  COMPLETED,
  explained,
  HOUR,
  MINUTE,
  NEW,
  NOW,
  SECOND,
  SILENCE,
  T,
  type theFacts,
} from './facts.ts';

describe('the verdict', () => {
  test.each<[string, Parameters<typeof theFacts>[0], RegExp]>([
    [
      'all is well',
      {},
      /^All is well: waiting for the card provider for 1 min, last polled 1 s ago; its events were delivered \(to shop\)\.$/,
    ],
    [
      'just registered',
      { purchase: { lastPolledAt: null, state: null, nextPollAt: NOW }, events: [], transitions: [], deliveries: [] },
      /^All is well: just registered/,
    ],
    [
      'settled',
      { purchase: { status: 'settled', state: COMPLETED, nextPollAt: null } },
      /^All is well: completed for 1 min, which is final;/,
    ],
    [
      'stopped',
      { purchase: { status: 'stopped', nextPollAt: null, endedAt: NOW - HOUR } },
      /^Watching was stopped 1 h ago \(last seen: waiting for the card provider\)/,
    ],
    ['expired', { purchase: { status: 'expired', nextPollAt: null } }, /^Watching was given up after too long without a change/],
    ['nobody wants it', { subscribers: [], deliveries: [] }, /no subscriber wants its events\.$/],
    [
      'no daemon',
      { owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 0, silence: SILENCE } },
      /^No daemon is running on this database, so nothing is polled/,
    ],
    [
      'a database that takes no writes',
      {
        owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 0, silence: { takesWrites: false, silentMs: 34_000 } },
      },
      /^No daemon has renewed its lease for 34 s; the database takes no writes, so none can\. Do not start another one\./,
    ],
    [
      'a site that fails',
      { site: { configured: true, failingSince: NOW - HOUR, lastSuccessAt: null, lastError: 'Timed out.' } },
      /^Site se has given no usable answer for 1 h \(Timed out\);/,
    ],
    [
      'a site that fails, and answers now and then',
      { site: { configured: true, failingSince: NOW - HOUR, lastSuccessAt: NOW - MINUTE, lastError: 'Timed out.' } },
      /^Site se has given hardly any usable answer for 1 h \(Timed out\);/,
    ],
    [
      'a former site',
      { site: { configured: false, failingSince: null, lastSuccessAt: null, lastError: null } },
      /^No running daemon has site se in its settings/,
    ],
    [
      'unreadable',
      { purchase: { status: 'unreadable', failures: 7, unknowns: 7, seenAt: null } },
      /^The service does not know this id \(7 such answers\): check/,
    ],
    [
      'a service that refuses connections',
      {
        purchase: {
          failures: 3,
          seenAt: T,
          nextPollAt: NOW + 9 * SECOND,
          lastError: 'Nothing accepts connections at the base address. The service is down.',
        },
      },
      /^The last 3 polls failed: Nothing accepts connections at the base address\. The service is down\.$/,
    ],
    [
      'malformed answers',
      { purchase: { failures: 2, seenAt: T, nextPollAt: NOW + 9 * SECOND } },
      /^The last 2 polls failed: the answers cannot be used\.$/,
    ],
  ])('says: %s', (_, facts, text) => expect(explained(facts).verdict).toMatch(text));

  test('of many matters says the two gravest and counts the others', () => {
    const { verdict, matters } = explained({
      purchase: { stateSince: NOW - HOUR, stuckSince: NOW - MINUTE, failures: 2, seenAt: T },
      owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 0, silence: SILENCE },
      deliveries: [],
    });
    expect(matters.map(({ code }) => code)).toEqual(['no_daemon', 'delivery_missing', 'stuck', 'poll_failing']);
    expect(verdict).toMatch(
      /^No daemon .* has no delivery for shop, which wants it\. And 2 more things are not as they should be; see below\.$/,
    );
  });

  test('of three matters counts the third as one', () => {
    const { verdict } = explained({
      purchase: { stateSince: NOW - HOUR, stuckSince: NOW - MINUTE, failures: 2, seenAt: T },
      owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 0, silence: SILENCE },
    });
    expect(verdict).toMatch(/ And 1 more thing is not as it should be; see below\.$/);
  });
});

describe('events with which the same is the matter', () => {
  const off = aSubscriber({ status: 'off', statusReason: 'It answered 410.' });
  const waiting = (sequences: readonly number[]) => ({
    subscribers: [off],
    events: sequences.map((sequence) => anEvent({ position: sequence, id: `evt_${sequence}`, sequence })),
    deliveries: sequences.map((sequence) => aDelivery({ id: sequence, event: sequence })),
    transitions: [],
    attempts: [],
  });
  test.each([
    [[2], 'Event 2 is'],
    [[2, 3], 'Events 2 and 3 are'],
    [[2, 3, 4], 'Events 2, 3, and 4 are'],
    [[2, 3, 4, 5], '4 events are'],
  ])('%j are one matter', (sequences, begin) => {
    expect(explained(waiting(sequences)).matters).toEqual([
      {
        code: 'subscriber_off',
        text: `${begin} not delivered to shop, because it is switched off (It answered 410).`,
      },
    ]);
  });
});

describe('what is the matter', () => {
  const codes = (facts: Parameters<typeof theFacts>[0]) => explained(facts).matters.map(({ code }) => code);
  const none = { replica: null, leaseUntil: null, replicas: 0, othersDue: 0, silence: SILENCE };

  test('a daemon is missed where something waits for one, and nowhere else', () => {
    const [done, waits] = [aDelivery({ status: 'delivered', attempts: 1 }), aDelivery({ id: 8, event: 101 })];
    const ended = { status: 'settled', state: COMPLETED, nextPollAt: null } as const;
    expect(codes({ owner: none, purchase: ended, deliveries: [done] })).toEqual([]);
    const events = [anEvent(), anEvent({ position: 101, id: 'evt_2', sequence: 2 })];
    expect(codes({ owner: none, purchase: ended, events, deliveries: [done, waits] })).toContain('no_daemon');
  });
  test('no trouble of its site concerns a purchase that is polled no more, nor do its own failures', () => {
    const site = { configured: false, failingSince: NOW, lastSuccessAt: null, lastError: null };
    expect(codes({ site, purchase: { status: 'stopped', nextPollAt: null, failures: 2, seenAt: T } })).toEqual([]);
  });
  test.each<[string, Parameters<typeof theFacts>[0], string]>([
    [
      'one failed poll',
      { purchase: { failures: 1, unknowns: 1, seenAt: T } },
      'The last poll failed: the service says that it does not know this id.',
    ],
    [
      'an invoice that could not be had',
      { purchase: { failures: 2, state: COMPLETED, status: 'settled' } },
      'The last 2 polls failed: its invoice details could not be had.',
    ],
    [
      'a purchase that was never read',
      { purchase: { status: 'unreadable', failures: 4, unknowns: 1, seenAt: null, lastError: 'Not JSON.' } },
      'It could not be read for 10 min (4 polls in a row): Not JSON. It is polled on, and the next good answer that is recorded ends this.',
    ],
    [
      'a purchase that was read',
      { purchase: { status: 'unreadable', failures: 4, unknowns: 0, seenAt: NOW - 2 * MINUTE } },
      'It could not be read for 2 min (4 polls in a row): the answers cannot be used. It is polled on, and the next good answer that is recorded ends this.',
    ],
    [
      'a stuck purchase whose state lost its limit',
      { purchase: { state: NEW, stateSince: NOW - HOUR, stuckSince: NOW - MINUTE } },
      'Stuck before the form for 1 h; no incident is open, so people are not alerted.',
    ],
    [
      'a state of this very moment',
      { purchase: { stateSince: NOW - 999, stuckSince: NOW - 10 } },
      'Stuck waiting for the card provider for less than a second (the limit is now 15 min); no incident is open, so people are not alerted.',
    ],
  ])('%s', (_, facts, text) => expect(explained(facts).matters.map((matter) => matter.text)).toEqual([text]));

  test.each([
    [0, 0, /^It could not be read for /],
    [4, 3, /^It could not be read for /],
    [4, 4, /^The service does not know this id /],
  ])('after %i failures, %i of them unknown ids', (failures, unknowns, text) => {
    const { matters } = explained({ purchase: { status: 'unreadable', failures, unknowns } });
    expect(matters).toEqual([{ code: 'unreadable', text: expect.stringMatching(text) }]);
  });
  test('who was alerted of a purchase that cannot be read, if it still cannot', () => {
    const alert: Facts['singles'][number] = {
      ...{ state: CARD, since: T, alertedAt: NOW - 5 * MINUTE, endedAt: null, channels: [], mode: null },
      ...{ counted: null, perDay: null, isLast: false, unreadable: 'wrong_shape', foundLate: false },
    };
    const purchase = { status: 'unreadable', failures: 4, unknowns: 0 } as const;
    const said = (singles: Facts['singles']) => explained({ purchase, singles }).verdict;
    expect(said([alert])).toMatch(/; people were alerted of it 5 min ago\.$/);
    for (const differs of [{ unreadable: null }, { endedAt: NOW }, { alertedAt: null }])
      expect(said([{ ...alert, ...differs }])).not.toContain('alerted');
  });
});

describe('who was alerted of a stuck purchase', () => {
  const purchase = { stateSince: NOW - 20 * MINUTE, stuckSince: NOW - 5 * MINUTE } as const;
  const incident: IncidentFacts = {
    ...{ id: 'inc_1', kind: 'stuck', state: CARD, since: NOW - 20 * MINUTE, openedAt: NOW - MINUTE, count: 1 },
    ...{ alertedAt: NOW - MINUTE, hasChannel: true, acknowledgedAt: null, acknowledgedBy: null, silencedUntil: null },
  };
  const site: IncidentFacts = { ...incident, id: 'inc_2', kind: 'unreachable', state: null };
  const firstLook = { foundAt: NOW - MINUTE, alertedAt: NOW - MINUTE, isBacklog: true };
  test.each<[string, Partial<Facts>, string]>([
    [
      'by the incident of stuck customers, not that of the site',
      { incidents: [site, incident] },
      'people were last alerted of its incident 1 min ago',
    ],
    ['by no incident of the site', { incidents: [site] }, 'no incident is open, so people are not alerted'],
    [
      'not in a silence',
      { incidents: [{ ...incident, silencedUntil: NOW + HOUR }] },
      'its incident is silenced until 10:25:00Z (1 h more)',
    ],
    ['not yet', { incidents: [{ ...incident, alertedAt: null }] }, 'its incident is open and people are not alerted yet'],
    ['by the first look', { firstLook }, 'the first look at site se alerted people of it 1 min ago'],
    [
      'by the incident, where there is one',
      { firstLook, incidents: [incident] },
      'people were last alerted of its incident 1 min ago',
    ],
  ])('%s', (_, facts, text) => expect(explained({ purchase, ...facts }).verdict).toMatch(`(the limit is 15 min); ${text}.`));
});

describe('all is well', () => {
  const done = aDelivery({ status: 'delivered', attempts: 1 });
  const suppressed = aDelivery({ status: 'suppressed', settledAt: NOW });
  const events = [anEvent(), anEvent({ position: 101, id: 'evt_2', sequence: 2 })];
  const bulk = { lastPolledAt: NOW - HOUR, nextPollAt: NOW - MINUTE };
  test.each<[string, Parameters<typeof theFacts>[0], RegExp]>([
    [
      'no state',
      { purchase: { state: null }, events: [], transitions: [] },
      /^All is well: not seen in any state for 1 min, .*; there is no event yet\.$/,
    ],
    [
      'stopped at a time that was not noted',
      { purchase: { status: 'stopped', nextPollAt: null } },
      /^Watching was stopped \(last seen: /,
    ],
    [
      'registered again in bulk',
      { purchase: bulk, firstPoll: { ahead: 2, ceiling: 50 } },
      /^Watched again, and not polled since: it was registered in bulk/,
    ],
    ['one delivery', { deliveries: [aDelivery({ dueAt: NOW })], attempts: [] }, /; one delivery is on its way\.$/],
    [
      'two deliveries',
      { events, deliveries: [aDelivery(), aDelivery({ id: 8, event: 101 })], attempts: [] },
      /; 2 deliveries are on their way\.$/,
    ],
    [
      'two subscribers, and one that waits for nothing',
      {
        subscribers: [1, 2, 3].map((id) => aSubscriber({ id, name: `s${id}`, types: ['purchase.state_changed'] })),
        deliveries: [done, aDelivery({ ...done, id: 8, subscriber: 3 }), { ...suppressed, id: 9, subscriber: 2 }],
      },
      /; its events were delivered \(to s1, s3\)\.$/,
    ],
    ['the one that was asked about', { only: 'shop' }, /; shop got what it wants\.$/],
    ['one that was switched off', { deliveries: [suppressed], only: 'shop' }, /; shop was switched off and got nothing\.$/],
    ['all switched off', { deliveries: [suppressed] }, /; its subscribers were switched off and got nothing\.$/],
    [
      'one whose deliveries are not shown',
      {
        ...{ deliveries: [], only: 'shop', subscribers: [aSubscriber({ status: 'off' })] },
        more: { transitions: 0, events: 0, subscribers: 0, deliveries: 1, attempts: 0 },
      },
      /; shop got none of its events\.$/,
    ],
  ])('with %s', (_, facts, text) => {
    expect(explained(facts).matters).toEqual([]);
    expect(explained(facts).verdict).toMatch(text);
  });
});
