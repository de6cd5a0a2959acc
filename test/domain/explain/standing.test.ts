import { describe, expect, test } from 'vitest';
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import type { Facts, IncidentFacts, PurchaseFacts } from '../../../src/domain/explain/facts.ts';
import { untilText } from '../../../src/domain/explain/standing.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { StuckLimit } from '../../../src/domain/stays/dwell.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';
import {
  CARD,
  COMPLETED,
  DAY,
  explained,
  HOUR,
  MINUTE,
  NEW,
  NO_LIMIT,
  NOW,
  policy,
  SECOND,
  SILENCE,
  texts,
  theFacts,
} from './facts.ts';

describe('the stuck clock', () => {
  const clock = (purchase: Partial<PurchaseFacts>) => texts(explained({ purchase }).standing, 'stuck_clock');
  test('says how far it has run and what was excused', () => {
    expect(clock({ stateSince: NOW - 5 * MINUTE, excused: 2 * MINUTE })).toEqual([
      'stuck clock, waiting for the card provider: 3 min here; limit 15 min, the default, without 2 min in which nobody could ask',
    ]);
    const { next } = explained({ purchase: { stateSince: NOW - 5 * MINUTE, excused: 2 * MINUTE } });
    expect(next.find(({ kind }) => kind === 'stuck_clock')).toMatchObject({
      at: NOW + 12 * MINUTE,
      text: expect.stringMatching(/^counts as stuck if/),
    });
  });
  test('excuses the outage that goes on', () => {
    const [text] = clock({ stateSince: NOW - 20 * MINUTE, lastPolledAt: NOW - 18 * MINUTE, seenAt: NOW - 18 * MINUTE });
    expect(text).toMatch(
      /^stuck clock, waiting for the card provider: 2 min 18 s here; limit 15 min, the default, without 17 min 42 s in which nobody could ask$/,
    );
  });
  test.each<[string, Partial<PurchaseFacts>, string | undefined]>([
    ['a state without a limit', { state: NEW }, 'never stuck here: “before the form” has no limit (states.New.stuckAfter)'],
    ['a final state', { state: COMPLETED, status: 'settled' }, 'never stuck here: “completed” is final'],
    ['one that is not watched', { status: 'unreadable' }, 'the stuck clock does not run while the purchase is unreadable'],
    ['no state', { state: null, stateSince: null }, undefined],
  ])('does not run in %s', (_, purchase, text) => expect(clock(purchase)[0]).toBe(text));

  const incident: IncidentFacts = {
    id: 'inc_1',
    kind: 'stuck',
    state: CARD,
    since: NOW - 20 * MINUTE,
    openedAt: NOW - 5 * MINUTE,
    alertedAt: NOW - 4 * MINUTE,
    hasChannel: true,
    count: 3,
    acknowledgedAt: null,
    acknowledgedBy: null,
    silencedUntil: null,
  };
  const stuck = { stateSince: NOW - 20 * MINUTE, stuckSince: NOW - 5 * MINUTE } as const;
  test('that ran out is the verdict, with the incident it belongs to', () => {
    const { verdict, standing, next } = explained({ purchase: stuck, incidents: [incident] });
    expect(verdict).toBe(
      'Stuck waiting for the card provider for 20 min (the limit is 15 min); people were last alerted of its incident 4 min ago.',
    );
    expect(texts(standing, 'stuck_clock')).toEqual([
      'stuck: a poll confirmed it after 15 min waiting for the card provider; limit 15 min, the default',
    ]);
    expect(texts(standing, 'incident')).toEqual([
      'incident inc_1: 3 customers stuck waiting for the card provider; people were last alerted 4 min ago',
    ]);
    expect(texts(next, 'stuck_clock')).toEqual([]);
  });
  test.each<[string, Partial<IncidentFacts>, RegExp]>([
    ['collected', { alertedAt: null }, /people are not alerted yet \(it is collected for slack\.groupWait first\)$/],
    ['acknowledged', { acknowledgedAt: NOW - MINUTE, acknowledgedBy: 'Ann' }, /; acknowledged 1 min ago by Ann$/],
    ['silenced', { silencedUntil: NOW + 2 * HOUR }, /; silenced until 11:25:00Z \(2 h more\)$/],
    ['silenced for long', { silencedUntil: NOW + DAY }, /; silenced until 2026-11-21 09:25:00Z \(1 d more\)$/],
    ['of no channel', { hasChannel: false }, /; no channel gets it \(by its sites and severity\)$/],
    ['one customer', { count: 1 }, /: 1 customer stuck waiting for the card provider/],
    ['of the site', { kind: 'unreachable', state: null }, /: no purchase of site se can be read;/],
  ])('tells that the incident is %s', (_, differs, text) => {
    const { standing } = explained({ purchase: stuck, incidents: [{ ...incident, ...differs }] });
    expect(texts(standing, 'incident')[0]).toMatch(text);
  });
  test('says that nobody is told, when there is no Slack', () => {
    const { verdict, standing } = explained({ purchase: stuck, incidents: [incident], hasPeople: false });
    expect(verdict).toMatch(
      /; its incident is open, and nobody is alerted, because no channel for people is set \(SLACK_WEBHOOK_URL or slack\.channels\)\.$/,
    );
    expect(texts(standing, 'incident')).toEqual([
      'incident inc_1: 3 customers stuck waiting for the card provider; nobody is alerted, because no channel for people is set (SLACK_WEBHOOK_URL or slack.channels)',
    ]);
  });
  test('does not say that people were told, when no channel is about it', () => {
    const { verdict } = explained({ purchase: stuck, incidents: [{ ...incident, hasChannel: false }] });
    expect(verdict).toMatch(/; its incident is open, and no channel gets it \(by its sites and severity\)\.$/);
  });
  test('names the limit as that of now where another one held', () => {
    const flagged = { stateSince: NOW - 20 * MINUTE, stuckSince: NOW - 20 * MINUTE + 48_000 };
    const { verdict, standing } = explained({ purchase: flagged, incidents: [incident] });
    expect(verdict).toMatch(/^Stuck waiting for the card provider for 20 min \(the limit is now 15 min\);/);
    expect(texts(standing, 'stuck_clock')).toEqual([
      'stuck: a poll confirmed it after 48 s waiting for the card provider; now: limit 15 min, the default',
    ]);
  });
  test('says that one alone is no incident', () => {
    const { verdict, standing } = explained({ purchase: stuck });
    expect(verdict).toMatch(/; no incident is open, so people are not alerted\.$/);
    expect(texts(standing, 'incident')).toEqual([
      'no incident is open: one is when so many get stuck here that the page must be broken',
    ]);
  });
  test('shows the working of a limit that was learned, for people and for programs', () => {
    const limit: StuckLimit = {
      ms: 390 * SECOND,
      source: 'learned',
      dwell: { usual: 38 * SECOND, p95: 130 * SECOND, purchases: 412 },
    };
    const states = new Map([...DEFAULT_POLL_POLICY.states, [CARD, aStatePolicy({ stuckAfter: limit.ms, auto: true })]]);
    const polling = { ...DEFAULT_POLL_POLICY, states };
    const facts = theFacts({ purchase: { stateSince: NOW - 5 * MINUTE, excused: 2 * MINUTE } });
    const { standing } = explainPurchase(facts, { ...policy, polling, limitOf: (state) => (state === CARD ? limit : NO_LIMIT) });
    const text = '3 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases';
    expect(standing.find(({ kind }) => kind === 'stuck_clock')).toEqual({
      at: null,
      kind: 'stuck_clock',
      text: `stuck clock, waiting for the card provider: ${text}, without 2 min in which nobody could ask`,
      limit: { limitMs: 390_000, source: 'learned', usualMs: 38_000, p95Ms: 130_000, purchases: 412, text },
    });
  });
});

describe('the last answer', () => {
  const polled = (purchase: Partial<PurchaseFacts>) =>
    texts(explained({ purchase: { seenAt: NOW - HOUR, ...purchase } }).standing, 'polled')[0];
  test.each<[string, Partial<PurchaseFacts>, string]>([
    ['good', {}, 'polled 12 times; the last answer was good: waiting for the card provider'],
    ['none', { lastPolledAt: null }, 'not polled yet'],
    [
      'unknown',
      { failures: 2, unknowns: 2, lastError: 'Not found.' },
      'polled 12 times; the last answer was that the service does not know this id, the 2nd failure in a row, 2 of 5 until it counts as unreadable (Not found)',
    ],
    [
      'malformed',
      { failures: 1, polls: 1, lastError: 'Not JSON.' },
      'polled once; the last answer could not be used, for the first time (Not JSON)',
    ],
    [
      'both',
      { failures: 13, unknowns: 2 },
      'polled 12 times; the last answer could not be used, the 13th failure in a row; 2 of them said that the service does not know this id, 2 of 5 until it counts as unreadable',
    ],
    [
      'unreadable',
      { status: 'unreadable', failures: 6, unknowns: 6 },
      'polled 12 times; the last answer was that the service does not know this id, the 6th failure in a row',
    ],
    [
      'good, without its invoice',
      { failures: 1, seenAt: NOW - SECOND, state: COMPLETED, lastError: 'Time-out.' },
      'polled 12 times; the last answer was good: completed; asking for its invoice failed, for the first time (Time-out)',
    ],
  ])('is told: %s', (_, purchase, text) => expect(polled(purchase)).toBe(text));
});

describe('whether an answer can be used', () => {
  const step = (purchase: Partial<PurchaseFacts>) =>
    explained({ purchase: { seenAt: NOW - HOUR, ...purchase } }).standing.find(({ kind }) => kind === 'polled')!;
  test('only a good one is not wrong', () => {
    expect(step({}).wrong).toBeUndefined();
    expect(step({ state: null })).toMatchObject({ text: 'polled 12 times; the last answer was good: no state' });
    const failures: Partial<PurchaseFacts>[] = [
      { failures: 1 },
      { failures: 1, unknowns: 1 },
      { failures: 1, seenAt: NOW - SECOND },
    ];
    expect(failures.map((each) => step(each).wrong)).toEqual([true, true, true]);
  });
  test('failures in a row have their ordinal number', () => {
    const ordinal = (failures: number) => /the (\S+) failure/.exec(step({ failures }).text)?.[1];
    expect([2, 3, 4, 11, 12, 13, 14, 20, 21, 22, 111].map(ordinal)).toEqual([
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '13th',
      '14th',
      '20th',
      '21st',
      '22nd',
      '111th',
    ]);
  });
});

describe('its site and its shard', () => {
  const well: Facts['site'] = { configured: true, failingSince: null, lastSuccessAt: NOW - SECOND, lastError: null };
  const probe = 'Until it does, one probe every 30 s at most stands in for all its purchases';
  test.each<[string, Partial<Facts['site']>, object]>([
    ['answers', {}, { at: NOW - SECOND, text: 'site se answers' }],
    ['is new', { lastSuccessAt: null }, { at: null, text: 'site se is configured, and has not answered anything yet' }],
    [
      'fails',
      { failingSince: NOW - HOUR, lastError: 'Timed out.', lastSuccessAt: NOW - 2 * HOUR },
      {
        at: NOW - HOUR,
        wrong: true,
        text: `site se has given no usable answer for 1 h: Timed out; its last usable answer came 2 h ago. ${probe}`,
      },
    ],
    [
      'never answered',
      { failingSince: NOW - HOUR, lastSuccessAt: null },
      { at: NOW - HOUR, wrong: true, text: `site se has given no usable answer for 1 h. ${probe}` },
    ],
    [
      'is not configured',
      { configured: false },
      { at: null, wrong: true, text: expect.stringMatching(/^no running daemon has site se/) },
    ],
  ])('a site that %s', (_, differs, step) => {
    const { standing } = explained({ site: { ...well, ...differs } });
    expect(standing.find(({ kind }) => kind === 'site')).toEqual({ kind: 'site', ...step });
  });

  const owner: Facts['owner'] = { replica: 'rep_1', leaseUntil: NOW + 20 * SECOND, replicas: 1, othersDue: 0, silence: SILENCE };
  const ownerless = 'shard 17 of 64 has no owner at this moment; a running daemon takes it over within seconds';
  test.each<[string, Partial<Facts['owner']>, object]>([
    ['has an owner', {}, { text: 'shard 17 of 64 belongs to rep_1, whose lease lasts 20 s more' }],
    ['has none', { replica: null }, { wrong: true, text: ownerless }],
    ['has one that is gone', { leaseUntil: null }, { wrong: true, text: ownerless }],
    ['is in a database without daemons', { replicas: 0 }, { wrong: true, text: expect.stringMatching(/^no daemon is running/) }],
    [
      'is in a database that takes no writes',
      { replicas: 0, silence: { takesWrites: false, silentMs: null } },
      { wrong: true, text: 'no daemon can renew its lease: the database takes no writes' },
    ],
  ])('a shard that %s', (_, differs, step) => {
    const { standing } = explained({ owner: { ...owner, ...differs } });
    expect(standing.find(({ kind }) => kind === 'shard')).toEqual({ at: null, kind: 'shard', ...step });
  });

  const purchase = { stateSince: NOW - 20 * MINUTE, stuckSince: NOW - 5 * MINUTE } as const;
  const unreachable: IncidentFacts = {
    ...{ id: 'inc_1', kind: 'unreachable', state: null, since: NOW, openedAt: NOW, count: 1, alertedAt: null },
    ...{ hasChannel: true, acknowledgedAt: NOW, acknowledgedBy: null, silencedUntil: NOW + HOUR },
  };
  test.each<[string, Partial<Facts>, string[]]>([
    ['a daemon', { owner: { ...owner, replicas: 0 } }, ['no incident is open: no daemon is there to open one']],
    [
      'a database that takes writes',
      { owner: { ...owner, replicas: 0, silence: { takesWrites: false, silentMs: null } } },
      ['no incident is open: the database takes no writes'],
    ],
    [
      'its site in the settings',
      { site: { ...well, configured: false }, incidents: [unreachable] },
      [
        'incident inc_1: no running daemon has site se in its settings; people are not alerted; acknowledged 0 s ago; silenced until 10:25:00Z (1 h more)',
        'no incident of stuck customers is open: no daemon has the site in its settings',
      ],
    ],
  ])('no incident is opened of a stuck purchase without %s', (_, facts, expected) => {
    expect(texts(explained({ purchase, ...facts }).standing, 'incident')).toEqual(expected);
  });
  test('the date is shown from half a day on', () => {
    const until = (length: number) => untilText(NOW + length, NOW);
    expect(until(DAY / 2)).toBe('2026-11-20 21:25:00Z (12 h more)');
    expect(until(DAY / 2 - SECOND)).toBe('21:24:59Z (12 h more)');
  });
  test('none is missed of a purchase that is not stuck', () => {
    const unseen = explained({ purchase: { state: null, stateSince: null } });
    expect(unseen.standing.map(({ kind }) => kind)).toEqual(['polled', 'site', 'shard']);
    expect(explained().standing.map(({ kind }) => kind)).toEqual(['polled', 'site', 'shard', 'stuck_clock']);
  });
  test('a stuck purchase whose state lost its limit shows no limit, and what is stuck is wrong', () => {
    const stuck = { state: NEW, stateSince: NOW - HOUR, stuckSince: NOW - MINUTE };
    expect(explained({ purchase: stuck }).standing.find(({ kind }) => kind === 'stuck_clock')).toEqual({
      ...{ at: NOW - MINUTE, kind: 'stuck_clock', wrong: true, text: 'stuck: a poll confirmed it after 59 min before the form' },
    });
  });
});
