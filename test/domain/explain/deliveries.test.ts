import { describe, expect, test } from 'vitest';
import type { DeliveryFacts, SubscriberFacts } from '../../../src/domain/explain/facts.ts';
import { aDelivery, anEvent, aSubscriber, CARD, explained, MINUTE, NEW, NOW, SECOND, T, texts, type theFacts } from './facts.ts';

describe('a subscriber that was removed', () => {
  const health = { failures: 6, failingSince: T, pausedUntil: NOW - MINUTE, lastError: 'The receiver answered 503.' };
  const removed = (differs: Partial<SubscriberFacts> = {}) => aSubscriber({ configured: false, health, ...differs });
  const untold = aDelivery({ status: 'suppressed', settledAt: NOW, lastError: 'The subscriber was deleted.' });

  test.each<[string, Partial<SubscriberFacts>]>([
    ['paused', {}],
    ['off', { status: 'off', statusReason: 'It was switched off by hand.' }],
    ['not reached', { health: null, unreached: { failures: 3, since: T, error: 'No route.' } }],
  ])('when it was %s is removed, and nothing else', (_, differs) => {
    expect(texts(explained({ subscribers: [removed(differs)] }).standing, 'subscriber')).toEqual([
      'shop was removed, and gets nothing any more',
    ]);
  });
  test('is left out of how things stand when another one has its name', () => {
    const subscribers = [removed(), aSubscriber({ id: 2, health })];
    expect(texts(explained({ subscribers }).standing, 'subscriber')).toEqual([expect.stringMatching(/^shop is paused, and is/)]);
  });
  test.each<[string, Parameters<typeof theFacts>[0], RegExp]>([
    ['was not told', { deliveries: [untold], only: 'shop' }, /; shop was removed and got nothing\.$/],
    ['was alone', { deliveries: [untold] }, /; its subscribers were removed and got nothing\.$/],
    [
      'was not the only one',
      {
        subscribers: [removed(), aSubscriber({ id: 2, name: 'books' })],
        deliveries: [untold, aDelivery({ ...untold, id: 8, subscriber: 2 })],
      },
      /; its subscribers were switched off or removed and got nothing\.$/,
    ],
    ['is not told what waits', { deliveries: [aDelivery()], attempts: [] }, /; its subscribers were removed and got nothing\.$/],
    ['was told', { only: 'shop' }, /; shop got what it wants, and was removed later\.$/],
  ])('and %s is not called switched off', (_, facts, verdict) => {
    expect(explained({ subscribers: [removed()], ...facts }).verdict).toMatch(verdict);
  });
});

describe('who was told', () => {
  const told = (facts: Parameters<typeof theFacts>[0]) => texts(explained(facts).steps, 'delivery', 'attempt');
  const failed = aDelivery({ attempts: 2, lastError: 'The receiver answers 503.', dueAt: NOW + 3 * MINUTE });
  const attempts = [1, 2].map((number) => ({
    delivery: 7,
    number,
    at: NOW - MINUTE + number,
    tookMs: 12,
    outcome: 'http_503',
    fault: null,
    httpStatus: 503,
  }));

  test('at once needs one line', () => {
    expect(told({})).toEqual(['delivered to shop at the first attempt (HTTP 200, 12 ms after the event)']);
    expect(told({ attempts: [] })).toEqual(['delivered to shop at the first attempt']);
  });
  test('after failures, attempt by attempt', () => {
    const delivery = aDelivery({ status: 'delivered', attempts: 2 });
    const second = { delivery: 7, number: 2, at: NOW, tookMs: 5, outcome: 'delivered', fault: null, httpStatus: 204 };
    expect(told({ deliveries: [delivery], attempts: [attempts[0]!, second] })).toEqual([
      'delivered to shop at attempt 2 (HTTP 204, 1 min after the event)',
      'attempt 1 failed: http_503 (took 12 ms)',
      'attempt 2 succeeded (HTTP 204, took 5 ms)',
    ]);
  });
  test('not yet: the next attempt is told, and is the matter', () => {
    const { verdict, next } = explained({ deliveries: [failed], attempts });
    expect(told({ deliveries: [failed], attempts })[0]).toBe(
      'not delivered to shop yet: 2 of 10 attempts failed (The receiver answers 503); next attempt in 3 min',
    );
    expect(verdict).toBe(
      'Event 1 is not delivered to shop yet: 2 attempts failed (The receiver answers 503); next attempt in 3 min.',
    );
    expect(texts(next, 'attempt')).toEqual(['attempt 3 to deliver event 1 to shop']);
  });
  const PAUSED = {
    failures: 6,
    failingSince: NOW - MINUTE,
    pausedUntil: NOW + 3 * MINUTE,
    lastError: 'The receiver answered 503.',
  };
  test.each<[string, Partial<DeliveryFacts>, Partial<SubscriberFacts>, RegExp, string | undefined]>([
    [
      'never',
      { status: 'exhausted', attempts: 10, lastError: 'No.' },
      {},
      /^never delivered to shop: 10 attempts failed, and no more will be made \(No\)/,
      'delivery_exhausted',
    ],
    ['off then', { status: 'suppressed' }, {}, /^not delivered to shop: it was switched off then$/, undefined],
    [
      'off now',
      {},
      { status: 'off', statusReason: 'It answered 410.' },
      /^not delivered to shop: it is switched off \(It answered 410\)$/,
      'subscriber_off',
    ],
    ['not configured', {}, { configured: false }, /^not delivered to shop: it is not configured any more$/, undefined],
    [
      'behind another',
      { behind: 99 },
      {},
      /^shop waits: it gets events in order, and an earlier event is not delivered yet$/,
      undefined,
    ],
    ['due', { dueAt: NOW - 2 * SECOND }, {}, /^not delivered to shop yet: due for 2 s, and on its way$/, undefined],
    [
      'once more',
      { attempts: 10, attemptsBefore: 10 },
      {},
      /^not delivered to shop yet: it is sent once more by hand; due/,
      undefined,
    ],
    [
      'again by a replay',
      { attempts: 1, attemptsBefore: 1, replayed: true },
      {},
      /^not delivered to shop yet: it is sent again, after all that is new; due/,
      undefined,
    ],
    [
      'on its way',
      { inFlightSince: NOW - 3 * SECOND },
      { health: PAUSED },
      /^being delivered to shop: attempt 1 has been under way for 3 s$/,
      undefined,
    ],
    [
      'paused',
      {},
      { health: PAUSED },
      /^not delivered to shop yet: it is paused until \S+Z \(3 min more\) after 6 failures in a row \(The receiver answered 503\)$/,
      'subscriber_paused',
    ],
    [
      'paused, then behind another',
      { behind: 99 },
      { health: PAUSED },
      /^not delivered to shop yet: it is paused until .*; then it gets events in order, and an earlier event is not delivered yet$/,
      'subscriber_paused',
    ],
    [
      'about to be tried again',
      {},
      { health: { ...PAUSED, pausedUntil: NOW - SECOND } },
      /it is paused, and is being tried with one delivery, after 6 failures in a row/,
      'subscriber_paused',
    ],
    [
      'off, which counts more than a pause',
      {},
      { status: 'off', statusReason: 'It answered 410.', health: PAUSED },
      /^not delivered to shop: it is switched off/,
      'subscriber_off',
    ],
    [
      'suppressed for a reason',
      { status: 'suppressed', lastError: 'The subscriber was deleted before the delivery.' },
      {},
      /^not delivered to shop: The subscriber was deleted before the delivery$/,
      undefined,
    ],
  ])('%s', (_, delivery, subscriber, text, code) => {
    const facts = { deliveries: [aDelivery(delivery)], subscribers: [aSubscriber(subscriber)], attempts: [] };
    expect(told(facts)[0]).toMatch(text);
    expect(explained(facts).matters.map((matter) => matter.code)).toEqual(code === undefined ? [] : [code]);
  });
  test('what to do about a pause depends on whether it was asked for', () => {
    const remedyOf = (health: typeof PAUSED) =>
      explained({ deliveries: [aDelivery({})], subscribers: [aSubscriber({ health })], attempts: [] }).matters[0]?.text;
    expect(remedyOf(PAUSED)).toMatch(/end that with "purchase-watch subscribers resume shop"\.$/);
    const asked = 'The receiver answered 429 and asked to be left alone for 3 min.';
    expect(remedyOf({ ...PAUSED, failures: 1, lastError: asked })).toMatch(
      /left alone for 3 min\); it goes on by itself then\.$/,
    );
  });
  test('a failure of ours is told as ours and does not count', () => {
    const attempts = [
      { delivery: 7, number: 1, at: NOW - 3, tookMs: 5, outcome: 'no_name_server', fault: 'ours' as const, httpStatus: null },
    ];
    const deliveries = [aDelivery({ attempts: 1, attemptsBefore: 1, lastError: 'No name server answered.' })];
    const facts = { deliveries, attempts };
    expect(told(facts)).toEqual([
      'not delivered to shop yet: the last attempt failed for a reason on this side, which does not count (No name server answered); due for 0 s, and on its way',
      'attempt 1 failed: no_name_server (a fault of ours, took 5 ms)',
    ]);
    expect(explained(facts).matters).toEqual([
      {
        code: 'subscriber_unreached',
        text: 'Event 1 is not delivered to shop yet: we do not get through to it, for a reason on this side (No name server answered); due for 0 s, and on its way.',
      },
    ]);
  });
  test('one to which nothing gets through is the matter before anything was tried', () => {
    const unreached = { failures: 5, since: NOW - 20 * MINUTE, error: 'The proxy made no connection: it answered 502.' };
    const { matters, verdict, steps } = explained({
      subscribers: [aSubscriber({ unreached })],
      deliveries: [aDelivery()],
      attempts: [],
    });
    const why = 'for a reason on this side (The proxy made no connection: it answered 502)';
    expect(matters.map(({ code }) => code)).toEqual(['subscriber_unreached']);
    expect(verdict).toMatch(`Event 1 is not delivered to shop yet: we do not get through to it, ${why}; due for`);
    expect(steps.filter(({ wrong }) => wrong).map(({ text }) => text)).toContainEqual(
      expect.stringContaining(`not delivered to shop yet: we do not get through to it, ${why}; due for`),
    );
  });
  test('what is replayed waits behind what is new, though that came later', () => {
    const events = [anEvent(), anEvent({ position: 101, id: 'evt_2', sequence: 2 })];
    const deliveries = [aDelivery({ replayed: true, behind: 101 }), aDelivery({ id: 8, event: 101, dueAt: NOW + MINUTE })];
    expect(told({ events, deliveries, attempts: [] })).toEqual([
      'shop waits: it is replayed, which comes after what is new, and event 2 (evt_2) is not delivered yet',
      'not delivered to shop yet: next attempt in 1 min',
    ]);
  });
  test('what comes next comes when the pause is over', () => {
    const { next, standing } = explained({
      deliveries: [aDelivery()],
      subscribers: [aSubscriber({ health: PAUSED })],
      attempts: [],
    });
    expect(next.find(({ kind }) => kind === 'attempt')?.at).toBe(PAUSED.pausedUntil);
    expect(texts(standing, 'subscriber')[0]).toMatch(
      /^shop is paused until .* its deliveries are parked and are sent in order afterwards$/,
    );
  });
  test('later, for one event waits behind another', () => {
    const events = [anEvent(), anEvent({ position: 101, id: 'evt_2', sequence: 2, type: 'purchase.stuck' })];
    const deliveries = [failed, aDelivery({ id: 8, event: 101, behind: 100 })];
    expect(told({ events, deliveries, attempts: [] })).toEqual([
      expect.stringContaining('next attempt in 3 min'),
      'shop waits: it gets events in order, and event 1 (evt_1) is not delivered yet',
    ]);
  });

  test.each<[string, Partial<SubscriberFacts>, string]>([
    ['types', { types: ['purchase.stuck'] }, 'not delivered to shop: it gets purchase.stuck only'],
    ['audience', { audience: 'people' }, 'not delivered to shop: it gets incidents, not single purchases'],
    ['sites', { sites: ['fi', 'no'] }, 'not delivered to shop: it gets fi, no only'],
    ['states', { states: [2, 3] }, 'not delivered to shop: it gets the states completed, broken off or failed (Error) only'],
    [
      'age',
      { matchingSince: NOW - 30 * SECOND },
      'not delivered to shop: it was made, or its filters were set, later than these events',
    ],
    ['configuration', { configured: false }, 'not delivered to shop: it is not configured any more'],
  ])('and who was not, because of its %s', (_, subscriber, text) => {
    const facts = { deliveries: [], subscribers: [aSubscriber(subscriber)] };
    expect(told(facts)).toEqual([]);
    expect(texts(explained(facts).standing, 'subscriber')).toEqual([text]);
    expect(explained(facts).matters).toEqual([]);
    expect(explained({ ...facts, only: 'shop' }).verdict).toContain(text);
  });
  test('event by event, where the reason differs', () => {
    const events = [anEvent({ state: NEW }), anEvent({ position: 101, id: 'evt_2', sequence: 2 })];
    const deliveries = [aDelivery({ event: 101, status: 'delivered', attempts: 1 })];
    const facts = { events, deliveries, subscribers: [aSubscriber({ states: [CARD] })], attempts: [] };
    expect(told(facts)).toEqual([
      'not delivered to shop: it gets the states waiting for the card provider (WaitingForCardPayments) only',
      'delivered to shop at the first attempt',
    ]);
  });
  test('a delivery that should be there and is not is a gap', () => {
    const { matters, steps } = explained({ deliveries: [] });
    expect(matters).toEqual([{ code: 'delivery_missing', text: 'Event 1 has no delivery for shop, which wants it.' }]);
    expect(steps.find(({ kind }) => kind === 'delivery')).toMatchObject({ status: 'none', reason: 'missing', wrong: true });
  });
  test('a change that was never announced is a gap', () => {
    const { verdict, steps } = explained({ events: [], deliveries: [], attempts: [] });
    expect(verdict).toBe('Change 1 was never announced: it has no event.');
    expect(texts(steps, 'transition')[0]).toMatch(
      /^first seen: waiting for the card provider \(WaitingForCardPayments\), but it has no event; "purchase-watch audit"/,
    );
  });
});
