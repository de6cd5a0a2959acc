/** Messages as long as real ones can become, to see them in Slack: names and numbers are made up, and they say so. */

import { eventBody } from '../../domain/events/make-event.ts';
import type { IncidentEventType } from '../../domain/events/people-event-types.ts';
import { CAUSES } from '../../domain/incidents/causes.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { JsonValue } from '../../domain/values/exact-json.ts';
import { type Instant, isoTime, MINUTE } from '../../domain/values/time.ts';
import type { OutgoingEvent } from '../outgoing/channel.ts';

const MEMBERS = 200;
/** As long as names of sites and ids of purchases may be. */
const LONGEST_SITE = 63;
const LONGEST_ID = 200;
const CURRENCIES = ['SEK', 'NOK', 'DKK', 'EUR', 'PLN', 'GBP', 'CHF', 'USD'];

/** An incident at many sites that has just been found, one that is over, and single stuck checkouts. */
export function exampleEvents(now: Instant): OutgoingEvent[] {
  return [example('opened', now, openedData(now)), example('ended', now, endedData(now)), checkouts(now)];
}

/** More checkouts than one message names, each with the longest id. */
function checkouts(now: Instant): OutgoingEvent {
  const place = { site: long('test-site-', LONGEST_SITE), state: { ...namedState(6) } };
  const named = (number: number): { [key: string]: JsonValue } => ({
    ...{ ...place, purchaseId: long(`test-purchase-${number}-`, LONGEST_ID), orderReference: `TEST-${number}` },
    ...{ price: `${1_234 + number}.50`, currency: 'SEK', since: isoTime(now - (15 + number) * MINUTE) },
  });
  const data = {
    ...{ kind: 'checkouts', severity: 'warning', test: true, stuckCount: 30, overCount: 2 },
    stuck: Array.from({ length: 30 }, (_, index) => ({ ...named(index), limitMs: 15 * MINUTE })),
    over: [31, 32].map((number) => ({ ...named(number), outcome: 'got_on', to: { ...namedState(2) }, overAt: isoTime(now) })),
    reasons: [
      { ...place, mode: 'auto', counted: 14, perDay: 5, isLast: false, count: 30, lastWellAt: isoTime(now - 180 * MINUTE) },
    ],
    causes: longestCauses().map((cause) => ({ cause, why: 'Somebody made this up for the test.' })),
  };
  const type: IncidentEventType = 'incident.checkouts';
  const id = 'evt_test_checkouts';
  return { id, type, body: eventBody(id, { type, sequence: null, at: now, state: null, data }) };
}

function example(stage: 'opened' | 'ended', now: Instant, data: { [key: string]: JsonValue }): OutgoingEvent {
  const type: IncidentEventType = `incident.${stage}`;
  const id = `evt_test_${stage}`;
  const common = { incidentId: 'inc_test', kind: 'stuck', severity: 'critical', test: true };
  return { id, type, body: eventBody(id, { type, sequence: null, at: now, state: null, data: { ...common, ...data } }) };
}

function openedData(now: Instant): { [key: string]: JsonValue } {
  const parts = Array.from({ length: MEMBERS }, (_, index) => {
    const count = MEMBERS - index;
    return { site: long(`test-site-${index}-`, LONGEST_SITE), state: { ...namedState(4 + (index % 2) * 2) }, count, peak: count };
  });
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  return {
    ...{ site: null, state: null, openedAt: isoTime(now - MINUTE), endedAt: null, since: isoTime(now - 25 * MINUTE) },
    ...{ count, peak: count, parts, noticedAfterMs: 24 * MINUTE, limitMs: null, dwell: null },
    alarm: {
      ...{ rule: 'share', at: isoTime(now - MINUTE), since: isoTime(now - 25 * MINUTE), entrants: 16, overdue: 14 },
      ...{ usualShare: 0.03, perDay: 120, falseAlarmEvery: 5_700 },
    },
    lately: { entrants: count + 1_234, overdue: count },
    purchases: [1, 2, 3, 4, 5].map((number) => long(`test-purchase-${number}-`, LONGEST_ID)),
    waiting: CURRENCIES.map((currency, index) => ({ amount: `${1_234_567 + index}.50`, currency })),
    unpriced: 3,
    causes: longestCauses().map((cause) => ({
      cause,
      why: 'Of 200 customers 180 are an example that somebody made up for this test.',
    })),
    earlier: {
      ...{ cause: 'unknown', note: 'the form of the bank was blocked by our content security policy', by: 'a test' },
      ...{ at: isoTime(now - 30 * 24 * 60 * MINUTE), site: parts[0]!.site, state: parts[0]!.state },
    },
    acknowledged: null,
    includes: parts.map((_, index) => `inc_test_${index}`),
  };
}

function endedData(now: Instant): { [key: string]: JsonValue } {
  const [openedAt, endedAt] = [isoTime(now - 95 * MINUTE), isoTime(now)];
  const [site, state] = [long('test-site-', LONGEST_SITE), { ...namedState(6) }];
  const causes = longestCauses().map((cause) => ({ cause, why: null }));
  return { site, state, openedAt, endedAt, since: openedAt, count: 3, peak: MEMBERS, movedOn: 180, causes };
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
