/** Messages to see in a channel, as they usually are and as long as real ones can become: names and numbers are made up, and they say so. */

import { draftOf, type EventDraft, eventBody } from '../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import { CAUSES } from '../../domain/incidents/causes.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { LONGEST_TEXT } from '../../domain/values/one-line.ts';
import { type Instant, isoTime, MINUTE } from '../../domain/values/time.ts';
import type { OutgoingEvent } from '../outgoing/channel.ts';

const MEMBERS = 200;
/** As long as names of sites and ids of purchases may be. */
const LONGEST_SITE = 63;
const LONGEST_ID = 200;
const CURRENCIES = ['SEK', 'NOK', 'DKK', 'EUR', 'PLN', 'GBP', 'CHF', 'USD'];

/** `typical`: one page of one shop; `longest`: as much of everything as one message can hold. */
export type ExampleSize = 'typical' | 'longest';

/** An incident that has just been noticed, one that is over, and single stuck checkouts. */
export function exampleEvents(now: Instant, size: ExampleSize): OutgoingEvent[] {
  const isTypical = size === 'typical';
  const opened = draftOf('incident.opened', { at: now }, isTypical ? typicalOpened(now) : openedData(now));
  const ended = draftOf('incident.ended', { at: now }, isTypical ? typicalEnded(now) : endedData(now));
  const checkouts = draftOf('incident.checkouts', { at: now }, isTypical ? typicalCheckouts(now) : checkoutsData(now));
  return [example(opened), example(ended), example(checkouts)];
}

function example(draft: EventDraft): OutgoingEvent {
  const id = draft.type.replace('incident.', 'evt_test_');
  return { id, type: draft.type, body: eventBody(id, draft) };
}

/** More checkouts than one message names, each with the longest id. */
function checkoutsData(now: Instant) {
  const place = { site: long('test-site-', LONGEST_SITE), state: namedState(6) };
  const named = (number: number) => ({
    ...place,
    purchaseId: long(`test-purchase-${number}-`, LONGEST_ID),
    reference: null,
    orderReference: `TEST-${number}`,
    price: `${1_234 + number}.50`,
    currency: 'SEK',
    since: isoTime(now - (15 + number) * MINUTE),
  });
  const stuck = Array.from({ length: 30 }, (_, index) => ({
    ...named(index),
    stuckSince: isoTime(now),
    limitMs: 15 * MINUTE,
    unreadable: null,
    foundLate: false,
  }));
  const over = { outcome: 'got_on', to: namedState(2), overAt: isoTime(now) } as const;
  return {
    kind: 'checkouts',
    severity: 'warning',
    test: true,
    stuckCount: 30,
    overCount: 2,
    stuck,
    over: [31, 32].map((number) => ({ ...named(number), ...over })),
    reasons: [
      { ...place, mode: 'auto', counted: 14, perDay: 5, isLast: false, count: 30, lastWellAt: isoTime(now - 180 * MINUTE) },
    ],
    causes: longestCauses().map((cause) => ({ cause, why: 'Somebody made this up for the test.', likely: true })),
  } satisfies IncidentEventData<'incident.checkouts'>;
}

/** The fields of an example about stuck customers, whatever it reports. */
const COMMON = {
  incidentId: 'inc_test',
  kind: 'stuck',
  severity: 'critical',
  test: true,
  reopenedAt: null,
  acknowledged: null,
  answer: null,
  singles: null,
  slice: null,
  mark: null,
} as const;

function openedData(now: Instant) {
  const parts = Array.from({ length: MEMBERS }, (_, index) => {
    const count = MEMBERS - index;
    return {
      site: long(`test-site-${index}-`, LONGEST_SITE),
      state: namedState(4 + (index % 2) * 2),
      count,
      peak: count,
      ended: false,
    };
  });
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  return {
    ...COMMON,
    site: null,
    state: null,
    openedAt: isoTime(now - MINUTE),
    endedAt: null,
    since: isoTime(now - 25 * MINUTE),
    count,
    peak: count,
    parts,
    mark: { at: isoTime(now - 29 * MINUTE), text: long('test deploy ', LONGEST_TEXT) },
    noticedAfterMs: 24 * MINUTE,
    limitMs: null,
    dwell: null,
    alarm: {
      rule: 'share',
      at: isoTime(now - MINUTE),
      since: isoTime(now - 25 * MINUTE),
      entrants: 16,
      overdue: 14,
      usualShare: 0.03,
      perDay: 120,
      falseAlarmEvery: 5_700,
    },
    lately: { entrants: count + 1_234, overdue: count },
    purchases: [1, 2, 3, 4, 5].map((number) => long(`test-purchase-${number}-`, LONGEST_ID)),
    waiting: CURRENCIES.map((currency, index) => ({ amount: `${1_234_567 + index}.50`, currency })),
    unpriced: 3,
    atLeast: false,
    causes: longestCauses().map((cause) => ({
      cause,
      why: 'Of 200 customers 180 are an example that somebody made up for this test.',
      likely: true,
    })),
    earlier: {
      cause: 'unknown',
      note: 'the form of the bank was blocked by our content security policy',
      by: 'a test',
      at: isoTime(now - 30 * 24 * 60 * MINUTE),
      site: parts[0]!.site,
      state: parts[0]!.state,
    },
    became: null,
    movedOn: null,
    includes: parts.map((_, index) => `inc_test_${index}`),
  } satisfies IncidentEventData<'incident.opened'>;
}

function endedData(now: Instant) {
  const [openedAt, endedAt] = [isoTime(now - 95 * MINUTE), isoTime(now)];
  const [site, state] = [long('test-site-', LONGEST_SITE), namedState(6)];
  const causes = longestCauses().map((cause) => ({ cause, why: null, likely: true }));
  return {
    ...COMMON,
    site,
    state,
    openedAt,
    endedAt,
    since: openedAt,
    count: 3,
    peak: MEMBERS,
    became: null,
    movedOn: 180,
    causes,
    parts: [],
    limitMs: null,
    dwell: null,
    alarm: null,
    lately: null,
    noticedAfterMs: null,
    purchases: [],
    waiting: [],
    unpriced: 0,
    atLeast: false,
    earlier: null,
    includes: [],
  } satisfies IncidentEventData<'incident.ended'>;
}

const TYPICAL = { site: 'test-shop', state: namedState(6) };

function typicalOpened(now: Instant): IncidentEventData<'incident.opened'> {
  return {
    ...openedData(now),
    ...TYPICAL,
    count: 14,
    peak: 14,
    parts: [],
    limitMs: 15 * MINUTE,
    lately: { entrants: 45, overdue: 14 },
    purchases: [1, 2, 3, 4, 5].map((number) => `test-purchase-${number}`),
    waiting: [{ amount: '17493.00', currency: 'SEK' }],
    unpriced: 0,
    atLeast: false,
    earlier: null,
    includes: [],
    slice: {
      method: '5',
      country: 'SE',
      currency: null,
      since: isoTime(now - 25 * MINUTE),
      inside: { came: 14, stuck: 13 },
      elsewhere: { came: 31, stuck: 1 },
    },
    mark: { at: isoTime(now - 29 * MINUTE), text: 'test deploy 4.2' },
    causes: [{ cause: 'return_request', why: 'All 14 stuck customers wait for the card provider.', likely: true }],
  };
}

function typicalEnded(now: Instant): IncidentEventData<'incident.ended'> {
  return {
    ...endedData(now),
    ...TYPICAL,
    count: 1,
    peak: 14,
    became: null,
    movedOn: 9,
    causes: [{ cause: 'return_request', why: null, likely: true }],
  };
}

function typicalCheckouts(now: Instant): IncidentEventData<'incident.checkouts'> {
  const longest = checkoutsData(now);
  const short = <Checkout extends object>(checkout: Checkout, index: number) => ({
    ...checkout,
    ...TYPICAL,
    purchaseId: `test-purchase-${index + 1}`,
  });
  return {
    ...longest,
    stuckCount: 2,
    overCount: 0,
    stuck: longest.stuck.slice(0, 2).map(short),
    over: [],
    reasons: longest.reasons.map((reason) => ({ ...reason, ...TYPICAL, count: 2 })),
    causes: [{ cause: 'return_request', why: 'Both customers wait for the card provider.', likely: true }],
  };
}

/** The two with the longest texts. */
function longestCauses(): string[] {
  const length = ([, { title, cause, remedy }]: [string, (typeof CAUSES)[keyof typeof CAUSES]]): number =>
    title.length + cause.length + remedy.length;
  const sorted = Object.entries(CAUSES).sort((one, other) => length(other) - length(one));
  return sorted.slice(0, 2).map(([key]) => key);
}

function long(beginning: string, length: number): string {
  return beginning.padEnd(length, 'x');
}
