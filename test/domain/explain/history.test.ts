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
