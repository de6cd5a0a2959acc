import { describe, expect, test } from 'vitest';
import { COMPLETED, explained, HOUR, MINUTE, NOW, SECOND, SILENCE, T, type theFacts } from './facts.ts';

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
