/** Why an event brings a subscriber no delivery, and why a delivery waits. */
import { describe, expect, test } from 'vitest';
import type { AttemptFacts, DeliveryFacts, SubscriberFacts } from '../../../src/domain/explain/facts.ts';
import { aDelivery, anEvent, aSubscriber, CARD, COMPLETED, explained, MINUTE, NOW, SECOND, T, texts, theFacts } from './facts.ts';

/** A delivered event and one without a delivery, so that no reason holds for all events. */
const events = [anEvent({ position: 99, id: 'evt_0', state: null }), anEvent({ sequence: 2, state: COMPLETED })];
const delivered = aDelivery({ event: 99, status: 'delivered', attempts: 1, settledAt: NOW });
const withEvent = (subscriber: Partial<SubscriberFacts>, event: Partial<(typeof events)[0]> = {}) =>
  explained({
    ...{ events: [events[0]!, { ...events[1]!, ...event }], transitions: [], attempts: [] },
    ...{ deliveries: [delivered], subscribers: [aSubscriber(subscriber)] },
  }).steps.filter(({ kind, status }) => kind === 'delivery' && status === 'none');

describe('an event without a delivery', () => {
  test.each<[string, Partial<SubscriberFacts>, Partial<(typeof events)[0]>, string]>([
    ['not_configured', { configured: false }, {}, 'it is not configured any more'],
    ['site', { sites: ['no', 'fi'] }, {}, 'it gets no, fi only'],
    ['type', { types: ['purchase.stuck'] }, {}, 'it gets purchase.stuck only'],
    ['type', { audience: 'people' }, {}, 'it gets incidents, not single purchases'],
    ['type', {}, { type: 'incident.opened' }, 'it gets events of purchases and sites only'],
    ['state', { states: [CARD] }, {}, 'it gets the states waiting for the card provider (WaitingForCardPayments) only'],
    ['earlier', { matchingSince: NOW - 2 * MINUTE + 1 }, {}, 'it was made, or its filters were set, later than this'],
  ])('has its reason: %s, %j, %j', (reason, subscriber, event, text) => {
    expect(withEvent(subscriber, event)).toEqual([
      {
        ...{ at: null, kind: 'delivery', sequence: 2, eventId: 'evt_1', subscriber: 'shop', status: 'none' },
        ...{ reason, wrong: false, text: `not delivered to shop: ${text}` },
      },
    ]);
  });
  test.each<[Partial<SubscriberFacts>, Partial<(typeof events)[0]>]>([
    [{}, {}],
    [{ sites: ['no', 'se'], states: [COMPLETED], types: ['purchase.state_changed'] }, {}],
    [{ states: [CARD] }, { state: null }],
    [{ audience: 'people' }, { type: 'incident.opened' }],
    [{ matchingSince: NOW - 2 * MINUTE }, {}],
  ])('is missing where the subscriber wants it: %j, %j', (subscriber, event) => {
    expect(withEvent(subscriber, event)).toMatchObject([{ reason: 'missing', wrong: true }]);
  });
  test('may have one beyond those that are read', () => {
    const more = { transitions: 0, events: 0, subscribers: 0, deliveries: 1, attempts: 0 };
    const three = [98, 99, 100].map((position) => anEvent({ position, sequence: position, id: `evt_${position}` }));
    const facts = { events: three, transitions: [], attempts: [], deliveries: [aDelivery({ ...delivered, event: 99 })], more };
    const missing = (differs = {}) => explained({ ...facts, ...differs }).matters.map(({ text }) => text.slice(0, 38));
    expect(missing()).toEqual(['Event 100 has no delivery for shop, wh']);
    expect(missing({ more: { ...more, deliveries: 0 } })).toHaveLength(2);
    const subscribers = [aSubscriber(), aSubscriber({ id: 2, name: 'books' })];
    expect(missing({ subscribers, events: three.slice(0, 2) })).toEqual([]);
  });
});

describe('how things stand with a subscriber', () => {
  const standing = (subscriber: Partial<SubscriberFacts>, facts: Parameters<typeof theFacts>[0] = {}) =>
    explained({ subscribers: [aSubscriber(subscriber)], ...facts })
      .standing.filter(({ kind }) => kind === 'subscriber')
      .map(({ text, reason, wrong }) => ({ text, ...(reason && { reason }), ...(wrong && { wrong }) }));
  const nothing = { events: [], transitions: [], deliveries: [] };
  const unreached = { failures: 5, since: NOW - 20 * MINUTE, error: 'No route.' };
  const paused = { failures: 6, failingSince: T, pausedUntil: NOW, lastError: null };
  test.each<[string, Partial<SubscriberFacts>, object]>([
    [
      'off for a reason',
      { status: 'off', statusReason: 'It answered 410.' },
      { text: 'shop is switched off: It answered 410.', wrong: true },
    ],
    ['off', { status: 'off' }, { text: 'shop is switched off', wrong: true }],
    [
      'not reached',
      { unreached },
      {
        text: 'we do not get through to shop for 20 min, for a reason on this side (No route); its deliveries are sent in order once one gets through',
        wrong: true,
      },
    ],
    [
      'paused up to now',
      { health: paused },
      {
        text: 'shop is paused, and is being tried with one delivery, after 6 failures in a row; its deliveries are parked and are sent in order afterwards',
        wrong: true,
      },
    ],
    ['removed', { configured: false }, { text: 'shop was removed, and gets nothing any more', reason: 'not_configured' }],
  ])('that is %s', (_, subscriber, step) => expect(standing(subscriber)).toEqual([step]));

  test('of which nothing is wrong is named while there is no event', () => {
    const text = 'shop (webhook) gets the events it wants, once something happens';
    expect(standing({}, nothing)).toEqual([{ text }]);
    expect(standing({ health: { ...paused, pausedUntil: null } }, nothing)).toEqual([{ text }]);
    expect(standing({})).toEqual([]);
  });
  test.each<[Partial<SubscriberFacts>, string | undefined]>([
    [{ configured: false }, 'not_configured'],
    [{ configured: false, sites: ['no'] }, 'not_configured'],
    [{ sites: ['no'] }, 'site'],
    [{ sites: ['no', 'se'] }, undefined],
    [{ audience: 'people' }, 'type'],
    [{ types: ['site.unreachable'] }, 'type'],
    [{ types: ['site.unreachable', 'purchase.stuck'] }, undefined],
  ])('that will get no event: %j', (subscriber, reason) => {
    expect(standing(subscriber, nothing)[0]?.reason).toBe(reason);
  });
  test('is said of each subscriber by its own reason', () => {
    const subscribers = [aSubscriber({ configured: false }), aSubscriber({ id: 2, name: 'books' })];
    expect(standing({}, { subscribers })).toEqual([
      { text: 'shop was removed, and gets nothing any more', reason: 'not_configured' },
    ]);
  });
  test('reasons that differ from event to event stand with the events', () => {
    const subscribers = [aSubscriber({ types: ['purchase.stuck'], states: [CARD] })];
    const differing = [anEvent(), anEvent({ ...events[1]!, type: 'purchase.stuck' })];
    const { standing: now, steps } = explained({ subscribers, events: differing, transitions: [], deliveries: [], attempts: [] });
    expect(texts(now, 'subscriber')).toEqual([]);
    expect(steps.flatMap(({ reason }) => reason ?? [])).toEqual(['type', 'state']);
  });
});

describe('a delivery', () => {
  const step = (delivery: Partial<DeliveryFacts>, facts: Parameters<typeof theFacts>[0] = {}) => {
    const found = explained({ deliveries: [aDelivery(delivery)], attempts: [], ...facts });
    return { ...found.steps.find(({ kind }) => kind === 'delivery')!, matters: found.matters };
  };
  const attempt = {
    delivery: 7,
    number: 1,
    at: NOW - 30 * SECOND,
    tookMs: 9,
    outcome: 'no_route',
    fault: null,
    httpStatus: null,
  };

  test('has the number of its event, its subscriber and its status', () => {
    expect(step({ status: 'exhausted', attempts: 1, lastError: 'No.', settledAt: NOW })).toEqual({
      ...{ at: NOW, kind: 'delivery', sequence: 1, eventId: 'evt_1', subscriber: 'shop', status: 'exhausted', wrong: true },
      text: 'never delivered to shop: one attempt failed, and no more will be made (No)',
      matters: [{ code: 'delivery_exhausted', text: 'Event 1 was never delivered to shop: one attempt failed.' }],
    });
    expect(step({}, { subscribers: [aSubscriber({ status: 'off' })] })).toMatchObject({ status: 'parked', wrong: true });
  });
  test('without an answer of HTTP shows only the time', () => {
    const attempts = [
      { ...attempt, delivery: 6 },
      { ...attempt, outcome: 'delivered' },
    ];
    expect(step({ status: 'delivered', attempts: 1 }, { attempts }).text).toBe(
      'delivered to shop at the first attempt (30 s after the event)',
    );
  });
  test('shows the attempts of its own', () => {
    const attempts = [attempt, { ...attempt, delivery: 6, tookMs: 5 }];
    expect(texts(explained({ deliveries: [aDelivery({ attempts: 1 })], attempts }).steps, 'attempt')).toEqual([
      'attempt 1 failed: no_route (took 9 ms)',
    ]);
  });
  test('that failed is the matter; one that has not been tried is not', () => {
    expect(step({})).toMatchObject({ wrong: false, matters: [] });
    expect(step({ attempts: 1, dueAt: NOW + MINUTE, lastError: 'No.' })).toMatchObject({
      wrong: true,
      matters: [
        {
          code: 'delivery_failing',
          text: 'Event 1 is not delivered to shop yet: one attempt failed (No); next attempt in 1 min.',
        },
      ],
    });
    const paused = { failures: 6, failingSince: T, pausedUntil: NOW + 1, lastError: null };
    expect(step({}, { subscribers: [aSubscriber({ health: paused })] }).wrong).toBe(true);
  });
  test.each<[string, Partial<DeliveryFacts>, object, string]>([
    ['by a replay', { replayed: true }, {}, 'it is sent by a replay; due for 0 s, and on its way'],
    [
      'after attempts of ours and of another delivery',
      { attempts: 2, attemptsBefore: 2, dueAt: NOW - SECOND },
      {
        attempts: [
          { ...attempt, delivery: 6, number: 2, fault: 'ours' },
          { ...attempt, fault: 'ours' },
          { ...attempt, number: 2 },
        ],
      },
      'it is sent once more by hand; due for 1 s, and on its way',
    ],
    ['without a daemon', {}, { owner: { ...theFacts().owner, replicas: 0 } }, 'due for 0 s, and no daemon is running'],
    [
      'in a database that takes no writes',
      {},
      { owner: { ...theFacts().owner, replicas: 0, silence: { takesWrites: false, silentMs: null } } },
      'due for 0 s, and the database takes no writes',
    ],
    [
      'without an owner of its shard',
      {},
      { owner: { ...theFacts().owner, leaseUntil: null } },
      'due for 0 s, and its shard has no owner at this moment',
    ],
  ])('that waits %s', (_, delivery, facts, text) => {
    expect(step(delivery, facts).text).toBe(`not delivered to shop yet: ${text}`);
  });
  test('that is replayed waits behind what is new, not behind what is replayed or not known', () => {
    const two = { events: [anEvent({ position: 99, sequence: 3, id: 'evt_3' }), anEvent({ sequence: 4 })] };
    const behind = (first: readonly DeliveryFacts[], own: Partial<DeliveryFacts> = { replayed: true }) =>
      explained({ ...two, attempts: [], deliveries: [...first, aDelivery({ id: 8, behind: 99, ...own })] }).steps.findLast(
        ({ kind }) => kind === 'delivery',
      )!.text;
    const inOrder = 'shop waits: it gets events in order, and event 3 (evt_3) is not delivered yet';
    const first = aDelivery({ event: 99 });
    expect(behind([aDelivery({ event: 99, subscriber: 2, replayed: true }), first])).toMatch(/it is replayed, which comes after/);
    expect([behind([{ ...first, replayed: true }]), behind([first], {}), behind([])]).toEqual([inOrder, inOrder, inOrder]);
  });
  test('to which we did not get through says so by its last attempt', () => {
    const ours = { ...attempt, fault: 'ours' as const };
    const matter = (delivery: Partial<DeliveryFacts>, attempts: readonly AttemptFacts[] = [ours]) =>
      step(delivery, { attempts }).matters[0]!.text;
    expect(matter({ attempts: 1, attemptsBefore: 1 })).toBe(
      'Event 1 is not delivered to shop yet: we do not get through to it, for a reason on this side; due for 0 s, and on its way.',
    );
    expect(matter({ attempts: 2 }, [ours, { ...attempt, number: 2 }])).toMatch(/: 2 attempts failed; due/);
    const unreached = { failures: 1, since: NOW, error: 'No route.' };
    const both = step({ attempts: 1, lastError: 'No name.' }, { subscribers: [aSubscriber({ unreached })] }).matters[0]!.text;
    expect(both).toMatch(/for a reason on this side \(No name\); due/);
  });
});
