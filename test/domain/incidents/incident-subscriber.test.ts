import { describe, expect, test } from 'vitest';
import {
  judgeIncident,
  LONG_FAILURE,
  openIncident,
  type Silence,
  SUBSCRIBER_TROUBLES,
  type SubscriberTrouble,
  silencedUntil,
} from '../../../src/domain/incidents/incident.ts';
import type { Symptom } from '../../../src/domain/incidents/symptom.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const policy = { groupWait: 30 * SECOND, quietFor: 10 * MINUTE, groupInterval: 5 * MINUTE, repeatInterval: 4 * HOUR };
const T = Date.UTC(2026, 10, 20, 9, 15);

describe('an incident about a subscriber', () => {
  const trouble = (word: SubscriberTrouble, count: number): Symptom => ({
    kind: 'subscriber',
    site: null,
    state: null,
    subscriber: 'shop',
    severity: SUBSCRIBER_TROUBLES.indexOf(word),
    count,
    since: T - LONG_FAILURE,
  });
  const begun = openIncident('inc_2', trouble('failing', 10), T);
  const known = judgeIncident(begun, trouble('failing', 10), T + 30 * SECOND, policy).incident;

  test('is about it and about no site', () => {
    expect(begun).toMatchObject({ kind: 'subscriber', subscriber: 'shop', site: null, state: null });
    expect(known).toMatchObject({
      alertedAt: T + 30 * SECOND,
      alertedCount: 10,
      alertedSeverity: SUBSCRIBER_TROUBLES.indexOf('failing'),
    });
  });

  test('is one though nothing waits for it', () => {
    const nothing = trouble('failing', 0);
    expect(judgeIncident(openIncident('inc_3', nothing, T), nothing, T + 30 * SECOND, policy).alert).toBe('opened');
  });

  test('is over as soon as the wait for others, not after the quiet of customers', () => {
    const quiet = judgeIncident(known, null, T + HOUR, policy);
    expect(quiet).toMatchObject({ alert: null, reason: 'quiet', lookAgainAt: T + HOUR + policy.groupWait });
    const ended = judgeIncident(quiet.incident, null, T + HOUR + policy.groupWait, policy);
    expect(ended).toMatchObject({ alert: 'ended', reason: 'quiet-long-enough' });
  });

  test('of which people know the worst is not told as if it were new when it is less bad', () => {
    const worse = judgeIncident(known, trouble('off', 10), T + HOUR, policy).incident;
    const reminded = judgeIncident(worse, trouble('failing', 10), T + 6 * HOUR, policy);
    expect(reminded).toMatchObject({ alert: 'reminder', incident: { alertedSeverity: SUBSCRIBER_TROUBLES.indexOf('off') } });
  });

  test('does not grow because ever more waits', () => {
    expect(judgeIncident(known, trouble('failing', 900), T + 3 * HOUR, policy)).toMatchObject({
      alert: null,
      incident: { peak: 900 },
    });
  });

  test.each(['losing', 'off'] as const)(
    'is told again when it gets worse (%s), once, and though somebody looks after it',
    (word) => {
      const acknowledged = { ...known, acknowledgedAt: T + MINUTE };
      const early = judgeIncident(acknowledged, trouble(word, 10), T + 2 * MINUTE, policy);
      expect(early).toMatchObject({ alert: null, lookAgainAt: T + 5 * MINUTE + 30 * SECOND });
      const worse = judgeIncident(acknowledged, trouble(word, 10), T + HOUR, policy);
      expect(worse).toMatchObject({ alert: 'grew', incident: { alertedSeverity: SUBSCRIBER_TROUBLES.indexOf(word) } });
      const better = judgeIncident(worse.incident, trouble('failing', 10), T + 2 * HOUR, policy);
      expect(better.alert).toBeNull();
      expect(judgeIncident(better.incident, trouble(word, 10), T + 3 * HOUR, policy).alert).toBeNull();
    },
  );
});

describe('a silence', () => {
  const everything: Silence = { kind: null, site: null, state: null, subscriber: null, startsAt: T, endsAt: T + HOUR };

  test.each([
    [{}, true],
    [{ kind: 'subscriber' }, true],
    [{ kind: 'subscriber', subscriber: 'shop' }, true],
    [{ kind: 'subscriber', subscriber: 'books' }, false],
    [{ site: 'se' }, false],
    [{ state: 6 }, false],
    [{ kind: 'stuck' }, false],
  ] as const)('%j matches one about the subscriber shop: %s', (differs, matches) => {
    const ofShop = { kind: 'subscriber', site: null, state: null, subscriber: 'shop' } as const;
    expect(silencedUntil(ofShop, [{ ...everything, ...differs }], T)).toBe(matches ? T + HOUR : null);
  });

  test('of a subscriber does not match purchases that are stuck', () => {
    const stuck = { kind: 'stuck', site: 'se', state: 6, subscriber: null } as const;
    expect(silencedUntil(stuck, [{ ...everything, kind: 'subscriber', subscriber: 'shop' }], T)).toBeNull();
  });
});
