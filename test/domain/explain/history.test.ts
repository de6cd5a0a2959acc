import { describe, expect, test } from 'vitest';
import { aDelivery, anEvent, aSubscriber, COMPLETED, explained, MINUTE, NEW, NOW, SECOND, T, texts } from './facts.ts';

describe('the story', () => {
  test('goes from registration to the end, each event before who was told of it', () => {
    const { steps } = explained({
      purchase: {
        registeredBy: 'sql:cart',
        watchedSince: T + MINUTE,
        status: 'stopped',
        endedAt: NOW - SECOND,
        nextPollAt: null,
      },
      transitions: [
        { sequence: 1, from: null, to: NEW, notBefore: null, notAfter: T + 2 * MINUTE },
        { sequence: 2, from: NEW, to: COMPLETED, notBefore: T + 2 * MINUTE, notAfter: T + 3 * MINUTE },
      ],
      events: [anEvent({ at: T + 2 * MINUTE }), anEvent({ position: 101, id: 'evt_2', sequence: 2, at: T + 3 * MINUTE })],
      deliveries: [aDelivery({ status: 'delivered', attempts: 1, settledAt: T + 4 * MINUTE })],
      subscribers: [aSubscriber(), aSubscriber({ id: 2, name: 'late', matchingSince: T + 150 * SECOND })],
      attempts: [],
    });
    expect(steps.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      'registered: registered with SQL, by the role cart',
      'watched: registered again, and watched again from here on',
      'transition: first seen: before the form (New)',
      'delivery: delivered to shop at the first attempt',
      'transition: before the form → completed, which is final (some time in the 1 min before)',
      expect.stringMatching(/^delivery: shop should get it/),
      'ended: watching was stopped by hand',
    ]);
  });
  test.each([
    ['api', 'through the API'],
    ['cli', 'on the command line'],
    [null, '(by whom was not noted then)'],
  ])('says who registered it: %s', (registeredBy, text) => {
    expect(explained({ purchase: { registeredBy } }).steps[0]!.text).toBe(`registered ${text}`);
  });
  test('says what was left out', () => {
    const more = { transitions: 3, events: 3, subscribers: 2, deliveries: 1, attempts: 0 };
    const { steps, standing } = explained({ more });
    expect(texts(steps, 'more')).toEqual(['3 more events, 1 more delivery that are older and not shown']);
    expect(texts(standing, 'more')[0]).toMatch(/^2 more subscribers/);
  });
});

describe('what is told of an event', () => {
  test.each([
    ['purchase.state_changed', 'event', 'a change of state was announced, and is not among the changes'],
    ['purchase.stuck', 'stuck', 'stuck waiting for the card provider: confirmed by a poll'],
    ['purchase.at_risk', 'event', 'at risk waiting for the card provider: announced because its session is about to end'],
    ['purchase.recovered', 'event', 'not stuck waiting for the card provider any more'],
    ['purchase.unreadable', 'event', 'unreadable: several polls in a row brought no answer that could be used and recorded'],
    ['purchase.readable', 'event', 'readable again'],
    ['purchase.expired', 'event', 'watching was given up: no change for too long'],
    ['purchase.invoice_ready', 'event', 'its invoice details are there'],
    ['purchase.of_tomorrow', 'event', 'purchase.of_tomorrow'],
  ])('%s', (type, kind, text) => {
    const { steps } = explained({ events: [anEvent({ type })], transitions: [], deliveries: [] });
    expect(steps[1]).toEqual({ at: NOW - MINUTE, sequence: 1, eventId: 'evt_1', type, kind, text });
  });
});

describe('what is told, and in which order', () => {
  const change = (sequence: number, notAfter: number, differs = {}) => ({
    ...{ sequence, from: NEW, to: COMPLETED, notBefore: null, notAfter },
    ...differs,
  });
  const nothing = { deliveries: [], subscribers: [], attempts: [] };
  const order = (facts: Parameters<typeof explained>[0]) =>
    explained({ ...nothing, ...facts }).steps.map(({ kind, sequence }) => [kind, sequence]);

  test('steps go by time, and at one moment by their number', () => {
    const transitions = [change(3, T + 3), change(1, T + 2), change(2, T + 3), change(4, T + 1)];
    expect(order({ transitions, events: [anEvent({ sequence: 3, at: T + 3 })] })).toEqual([
      ['registered', undefined],
      ...[4, 1, 2, 3].map((sequence) => ['transition', sequence]),
    ]);
  });
  test('a purchase that was registered once is not called registered again', () => {
    expect(order({ purchase: { watchedSince: T + SECOND } }).map(([kind]) => kind)).toEqual(['registered', 'transition']);
    expect(order({ purchase: { watchedSince: T + SECOND + 1 } }).map(([kind]) => kind)).toContain('watched');
  });
  test('a change without an event is a gap, unless its event is one of those that are not shown', () => {
    const transitions = [change(4, T), change(5, T + 1), change(6, T + 2)];
    const events = [anEvent({ sequence: 5, at: T + 1 })];
    const gaps = (events_: typeof events, left: number) =>
      explained({
        ...{ ...nothing, transitions, events: events_ },
        more: { transitions: 0, events: left, subscribers: 0, deliveries: 0, attempts: 0 },
      });
    const numbers = (found: ReturnType<typeof gaps>) => found.steps.filter(({ wrong }) => wrong).map(({ sequence }) => sequence);
    expect(numbers(gaps(events, 4))).toEqual([6]);
    expect(numbers(gaps(events, 0))).toEqual([4, 6]);
    expect(numbers(gaps([], 4))).toEqual([4, 5, 6]);
    expect(gaps(events, 4).matters).toEqual([{ code: 'event_missing', text: 'Change 6 was never announced: it has no event.' }]);
  });
  test('a move that was not watched has no time within which it happened', () => {
    const { steps } = explained({ transitions: [change(1, NOW)] });
    expect(texts(steps, 'transition')).toEqual(['before the form → completed, which is final']);
  });
  test('only a person ends watching', () => {
    for (const purchase of [
      { status: 'settled', endedAt: NOW },
      { status: 'stopped', endedAt: null },
    ] as const)
      expect(texts(explained({ purchase }).steps, 'ended')).toEqual([]);
  });
  test('who registered it is named, as it was noted, and what is left out is counted', () => {
    const more = { transitions: 0, events: 1, subscribers: 0, deliveries: 2, attempts: 3 };
    const [registered, left] = explained({ purchase: { registeredBy: 'import' }, more }).steps;
    expect(registered!.text).toBe('registered by import');
    expect(left!.text).toBe('1 more event, 2 more deliveries, 3 more attempts that are older and not shown');
  });
});
