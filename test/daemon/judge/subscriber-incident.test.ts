import { describe, expect, test } from 'vitest';
import { outcomeOf, subscriberData, subscriberSentence, troubleOf } from '../../../src/daemon/judge/subscriber-incident.ts';
import {
  type Incident,
  openIncident,
  SUBSCRIBER_TROUBLES,
  type SubscriberTrouble,
} from '../../../src/domain/incidents/incident.ts';
import type { SubscriberCondition } from '../../../src/postgres/subscribers/symptoms.ts';

const T = Date.UTC(2026, 10, 20, 9, 15);
const MINUTE = 60_000;

const WELL: SubscriberCondition = {
  ...{
    id: 7,
    kind: 'webhook',
    audience: 'systems',
    origin: 'api',
    status: 'active',
    statusReason: null,
    failedAt: null,
    failures: 0,
  },
  ...{
    failingSince: null,
    ourFailingSince: null,
    untried: false,
    nextTryAt: null,
    lastError: null,
    waiting: 0,
    givenUp: 0,
    givenUpFrom: null,
    deliveredAt: T - 60 * MINUTE,
  },
};
const failing: SubscriberCondition = {
  ...WELL,
  ...{
    failures: 12,
    failingSince: T - 15 * MINUTE,
    nextTryAt: T + MINUTE,
    lastError: 'The receiver answered 503.',
    waiting: 412,
  },
};
const off: SubscriberCondition = { ...failing, status: 'off', statusReason: 'The receiver answered 410.', failedAt: T };

const incident = (said: SubscriberTrouble): Incident => {
  const severity = SUBSCRIBER_TROUBLES.indexOf(said);
  const symptom = {
    kind: 'subscriber',
    site: null,
    state: null,
    subscriber: 'shop',
    severity,
    count: 1,
    since: T - 15 * MINUTE,
  } as const;
  return { ...openIncident('inc_1', symptom, T), alertedSeverity: severity };
};
const over = (said: SubscriberTrouble): Incident => ({ ...incident(said), endedAt: T + 60 * MINUTE });

test.each([
  [{ ...WELL, givenUp: 1 }, 'given_up'],
  [failing, 'failing'],
  [{ ...failing, givenUp: 1 }, 'losing'],
  [off, 'off'],
])('the worst that is the matter counts', (condition, trouble) => {
  expect(troubleOf(condition as SubscriberCondition)).toBe(trouble);
});

describe('the end', () => {
  test.each([
    ['failing', { ...WELL, deliveredAt: T + MINUTE }, 'takes_again', /^shop: takes events again\.$/],
    ['off', { ...WELL, deliveredAt: T - 15 * MINUTE }, 'takes_again', /takes events again/],
    ['failing', WELL, 'tried_again', /nothing was taken yet/],
    ['off', { ...WELL, deliveredAt: null }, 'tried_again', /nothing was taken yet/],
    ['given_up', WELL, 'quiet', /no delivery was given up any more/],
    ['off', off, 'switched_off', /was switched off by hand/],
    ['failing', null, 'removed', /it was taken away/],
  ] as const)('after %s is what is known: %j', (said, condition, outcome, sentence) => {
    expect(outcomeOf(over(said), condition)).toBe(outcome);
    expect(subscriberSentence(over(said), condition)).toMatch(sentence);
    expect(subscriberData(over(said), condition)).toMatchObject({ subscriber: 'shop', trouble: null, outcome });
  });
});

describe('the log says in a sentence', () => {
  test.each([
    [
      failing,
      'shop takes nothing since 2026-11-20T09:00:00.000Z (failures in a row: 12); 412 deliveries wait. The last error: The receiver answered 503.',
    ],
    [
      { ...failing, waiting: 1, lastError: null },
      'shop takes nothing since 2026-11-20T09:00:00.000Z (failures in a row: 12); 1 delivery waits.',
    ],
    [
      { ...failing, failingSince: T - 20 * MINUTE, waiting: 1, givenUp: 1, lastError: null },
      'shop takes nothing since 2026-11-20T08:55:00.000Z (failures in a row: 12); 1 delivery waits, 1 delivery was given up.',
    ],
    [
      { ...failing, failingSince: null, waiting: 1, lastError: null },
      'shop takes nothing since 2026-11-20T09:00:00.000Z (failures in a row: 12); 1 delivery waits.',
    ],
    [{ ...WELL, givenUp: 2 }, '2 deliveries to shop were given up since 2026-11-20T09:00:00.000Z.'],
    [
      { ...WELL, ourFailingSince: T - 20 * MINUTE, waiting: 2 },
      'We cannot reach shop since 2026-11-20T08:55:00.000Z, which is not its fault; 2 deliveries wait.',
    ],
    [
      { ...off, audience: 'people', statusReason: null, waiting: 2 },
      'shop is switched off: no reason is known. 2 deliveries wait; what comes now waits for three days.',
    ],
    [
      { ...failing, waiting: 100_000, givenUp: 3 },
      'shop takes nothing since 2026-11-20T09:00:00.000Z (failures in a row: 12); at least 100 000 deliveries wait, 3 deliveries were given up. The last error: The receiver answered 503.',
    ],
    [
      { ...WELL, givenUp: 1, lastError: 'The receiver answered 422.' },
      '1 delivery to shop was given up since 2026-11-20T09:00:00.000Z. The last error: The receiver answered 422.',
    ],
    [
      { ...WELL, ourFailingSince: T - 15 * MINUTE, waiting: 2, lastError: 'The proxy made no connection: it answered 502.' },
      'We cannot reach shop since 2026-11-20T09:00:00.000Z, which is not its fault; 2 deliveries wait. The last error: The proxy made no connection: it answered 502.',
    ],
    [off, 'shop is switched off: The receiver answered 410. 412 deliveries wait; what comes now is not sent to it.'],
  ])('what is the matter, and where to look', (condition, sentence) => {
    expect(subscriberSentence(incident('failing'), condition as SubscriberCondition)).toBe(
      `${sentence} See: purchase-watch subscribers show shop`,
    );
  });
});

test('a subscriber that was taken away gets nothing any more', () => {
  expect(subscriberSentence(incident('failing'), null)).toBe('shop gets nothing any more.');
});

test('an event holds what is known of the subscriber', () => {
  const condition = { ...failing, untried: true, ourFailingSince: T - 5 * MINUTE, givenUp: 3, givenUpFrom: T - 2 * MINUTE };
  expect(subscriberData(incident('losing'), condition)).toEqual({
    ...{ subscriber: 'shop', channel: 'webhook', audience: 'systems', origin: 'api', trouble: 'losing', outcome: null },
    ...{ failures: 12, failingSince: '2026-11-20T09:00:00.000Z', ourFailingSince: '2026-11-20T09:10:00.000Z', untried: true },
    ...{ lastError: 'The receiver answered 503.', nextTryAt: '2026-11-20T09:16:00.000Z', offSince: null, waiting: 412 },
    ...{ givenUp: 3, givenUpFrom: '2026-11-20T09:13:00.000Z', countedTo: 100_000, peak: 1 },
  });
  expect(subscriberData(incident('losing'), null)).toEqual({
    ...{ subscriber: 'shop', channel: null, audience: null, origin: null, trouble: null, outcome: null },
    ...{ failures: 0, failingSince: null, ourFailingSince: null, untried: false },
    ...{
      lastError: null,
      nextTryAt: null,
      offSince: null,
      waiting: 0,
      givenUp: 0,
      givenUpFrom: null,
      countedTo: 100_000,
      peak: 1,
    },
  });
});

test('an event holds no address, but why it is off', () => {
  expect(subscriberData(incident('off'), off)).toMatchObject({
    lastError: 'The receiver answered 410.',
    offSince: '2026-11-20T09:15:00.000Z',
  });
});
