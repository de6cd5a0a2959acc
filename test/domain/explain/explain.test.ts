import { describe, expect, test } from 'vitest';
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import type {
  DeliveryFacts,
  Facts,
  IncidentFacts,
  PurchaseEventFacts,
  PurchaseFacts,
  SubscriberFacts,
} from '../../../src/domain/explain/facts.ts';
import { whyThen } from '../../../src/domain/explain/poll.ts';
import type { ExplanationStep } from '../../../src/domain/explain/step.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import type { PollReason } from '../../../src/domain/polling/poll-reason.ts';
import type { StuckLimit } from '../../../src/domain/stays/dwell.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from '../../support/delivery-schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T = Date.UTC(2026, 10, 20, 9, 15);
const [NEW, COMPLETED, CARD] = [0, 2, 6];

/** A purchase in WaitingForCardPayments for a minute, asked a second ago, at a time ten minutes after T. */
const NOW = T + 10 * MINUTE;
function aPurchase(differs: Partial<PurchaseFacts> = {}): PurchaseFacts {
  return {
    id: 1,
    purchaseId: 'p-1',
    site: 'se',
    reference: 'ORD-1',
    status: 'watching',
    state: CARD,
    stateSince: NOW - MINUTE,
    stuckSince: null,
    excused: 0,
    registeredAt: T,
    registeredBy: 'api',
    watchedSince: T,
    endedAt: null,
    lastPolledAt: NOW - SECOND,
    seenAt: NOW - SECOND,
    nextPollAt: NOW - SECOND + 5_900,
    nextPollReason: 'growth',
    polls: 12,
    failures: 0,
    unknowns: 0,
    lastError: null,
    invoice: null,
    sequence: 0,
    shard: 17,
    ...differs,
  };
}

const aSubscriber = (differs: Partial<SubscriberFacts> = {}): SubscriberFacts => ({
  id: 1,
  name: 'shop',
  kind: 'webhook',
  audience: 'systems',
  types: null,
  sites: null,
  states: null,
  configured: true,
  status: 'active',
  statusReason: null,
  health: null,
  unreached: null,
  matchingSince: T - DAY,
  ...differs,
});
const anEvent = (differs: Partial<PurchaseEventFacts> = {}): PurchaseEventFacts => ({
  position: 100,
  id: 'evt_1',
  type: 'purchase.state_changed',
  sequence: 1,
  state: CARD,
  at: NOW - MINUTE,
  ...differs,
});
const aDelivery = (differs: Partial<DeliveryFacts> = {}): DeliveryFacts => ({
  id: 7,
  event: 100,
  subscriber: 1,
  status: 'pending',
  inFlightSince: null,
  replayed: false,
  attempts: 0,
  attemptsBefore: 0,
  dueAt: NOW,
  settledAt: null,
  lastError: null,
  behind: null,
  ...differs,
});

const SILENCE = { takesWrites: true, silentMs: null };
const RENAMED = { configured: false, renamedTo: 'no', failingSince: null, lastSuccessAt: null, lastError: null };
/** Daemons of which one knows se, and the other one no. */
const TURNS: Facts['owner'] = {
  ...{ replica: 'a', leaseUntil: NOW + HOUR, replicas: 2, othersDue: 0, silence: SILENCE },
  sharing: [
    { id: 'a', startedAt: T, named: { sites: { no: [] }, subscribers: {} } },
    { id: 'b', startedAt: T, named: { sites: { se: [] }, subscribers: {} } },
  ],
};

function theFacts({
  purchase = {},
  ...differs
}: Partial<Omit<Facts, 'purchase'>> & { purchase?: Partial<PurchaseFacts> } = {}): Facts {
  return {
    now: NOW,
    skipped: [],
    order: { payments: [], announcedAt: null, counts: { paid: 0, repeated: 0 } },
    purchase: aPurchase(purchase),
    site: { configured: true, failingSince: null, lastSuccessAt: NOW - SECOND, lastError: null },
    owner: { replica: 'rep_1', leaseUntil: NOW + 20 * SECOND, replicas: 1, othersDue: 0, silence: SILENCE },
    firstPoll: null,
    transitions: [{ sequence: 1, from: null, to: CARD, notBefore: null, notAfter: NOW - MINUTE }],
    events: [anEvent()],
    subscribers: [aSubscriber()],
    only: null,
    deliveries: [aDelivery({ status: 'delivered', attempts: 1, settledAt: NOW - MINUTE + 12 })],
    attempts: [{ delivery: 7, number: 1, at: NOW - MINUTE + 12, tookMs: 9, outcome: 'delivered', fault: null, httpStatus: 200 }],
    incidents: [],
    singles: [],
    firstLook: null,
    known: { share: null, perDay: null, counted: 0 },
    hasPeople: true,
    more: { transitions: 0, events: 0, subscribers: 0, deliveries: 0, attempts: 0 },
    ...differs,
  };
}

const NO_LIMIT: StuckLimit = { ms: null, source: 'configured', dwell: null };
const policy = { polling: DEFAULT_POLL_POLICY, schedule: DEFAULT_DELIVERY_SCHEDULE };
const explained = (facts: Parameters<typeof theFacts>[0] = {}) => explainPurchase(theFacts(facts), policy);
const texts = (steps: readonly ExplanationStep[], ...kinds: ExplanationStep['kind'][]): string[] =>
  steps.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).map(({ text }) => text);

describe('alerts of a stuck purchase by itself', () => {
  const since = NOW - 20 * MINUTE;
  const purchase = { stateSince: since, stuckSince: NOW - 5 * MINUTE };
  const single: Facts['singles'][number] = {
    ...{ state: CARD, since, alertedAt: NOW - 4 * MINUTE, endedAt: null, channels: ['@slack'] },
    ...{ mode: 'auto', counted: 14, perDay: 5, isLast: false, unreadable: null, foundLate: false },
  };
  const channel: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
  const withChannels = (facts: Parameters<typeof theFacts>[0], channels = [channel]) =>
    explainPurchase(theFacts({ purchase, ...facts }), { ...policy, channels });
  const ENOUGH = { share: 0.03, perDay: 34, counted: 412 };

  test('are told in order, with why, and once more when it is over', () => {
    const because = 'each stuck checkout alerts because only 14 stays are counted (100 are needed)';
    const { verdict, steps, standing } = withChannels({ singles: [single] });
    expect(texts(steps, 'alert')).toEqual([`alerted people (@slack) that it is stuck waiting for the card provider: ${because}`]);
    expect(verdict).toContain(`people were alerted of it 4 min ago (@slack): ${because}.`);
    expect(texts(standing, 'incident')[0]).toContain('; people were alerted of it 4 min ago');
    const ended = withChannels({ singles: [{ ...single, endedAt: NOW - MINUTE }] });
    expect(texts(ended.steps, 'alert')[1]).toBe('alerted people (@slack) that it is no longer stuck');
  });

  test.each<[string, Parameters<typeof theFacts>[0], ChannelRule[], RegExp]>([
    [
      'collected',
      { singles: [{ ...single, alertedAt: null, mode: null, counted: null }] },
      [channel],
      /about to be alerted of it/,
    ],
    [
      'judged by share',
      { known: ENOUGH },
      [channel],
      /incidents only, because 412 stays are counted and about 34 customers a day come/,
    ],
    [
      'of incidents only',
      {},
      [{ ...channel, stuck: 'incidents' }],
      /people are alerted by incidents only \(slack\.stuck: incidents\)/,
    ],
    ['in mode each', { singles: [{ ...single, mode: 'each' }] }, [channel], /each stuck checkout alerts \(slack\.stuck: each\)/],
    [
      'the last one',
      { singles: [{ ...single, counted: 112, perDay: 34, isLast: true }] },
      [channel],
      /the last one by itself, because 112 stays/,
    ],
  ])('why (not): %s', (_, facts, channels, expected) => {
    expect(texts(withChannels(facts, channels).standing, 'incident')[0]).toMatch(expected);
  });
});

test.each([
  ['settled', 'purchase-watch poll p-1 --site se'],
  ['stopped', 'purchase-watch watch p-1 --site se'],
] as const)('the command for a purchase that is %s names the site, as several may have its id', (status, hint) => {
  const { next } = explained({ purchase: { status, nextPollAt: null } });
  expect(texts(next, 'poll')[0]).toContain(`"${hint}"`);
});

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

describe('the next poll is explained by the reason that was recorded with it:', () => {
  const settled = { status: 'settled', state: COMPLETED, stateSince: NOW - 2 * HOUR, lastPolledAt: NOW, seenAt: NOW } as const;
  const recheck = { states: new Map([[COMPLETED, aStatePolicy({ final: true, recheck: [HOUR, DAY] })]]) };
  const fixed = { fallback: aStatePolicy({ poll: { first: 10_000, growth: 0, most: HOUR } }) };
  const fraction = { fallback: aStatePolicy({ poll: { first: 500, growth: 0.025, most: HOUR } }) };
  test.each<[PollReason | null, Partial<PurchaseFacts>, string, Partial<PollPolicy>?]>([
    ['first', { lastPolledAt: null, seenAt: null }, 'the first one: a purchase is asked for as soon as it is registered'],
    ['renewed', {}, 'at once, because it was registered again'],
    [
      'growth',
      {},
      '6 s after the last poll, when it had been waiting for the card provider for 59 s; the wait there is 10 % of that time, from 5 s to 5 min, give or take 10 %',
    ],
    [
      'growth',
      { state: 42 },
      '6 s after the last poll, when it had been in state 42 (not in the specification) for 59 s; the wait there is 10 s, give or take 10 %',
      fixed,
    ],
    [
      'growth',
      { state: 42 },
      '6 s after the last poll, when it had been in state 42 (not in the specification) for 59 s; the wait there is 2.5 % of that time, from 500 ms to 1 h, give or take 10 %',
      fraction,
    ],
    [
      'stuck_moment',
      {},
      'the moment from which a poll confirms it as stuck waiting for the card provider, by the limit it had when this was planned',
    ],
    ['give_up', {}, 'the last look before watching is given up'],
    [
      'failure',
      { failures: 1, nextPollAt: NOW + 4 * SECOND },
      '5 s after one failed poll; it was read before, so the plan of its state goes on',
    ],
    [
      'failure',
      { failures: 4, nextPollAt: NOW + 42 * SECOND },
      '43 s after 4 failed polls in a row; it was read before, so the plan of its state goes on',
    ],
    [
      'retry_after',
      { failures: 1, nextPollAt: NOW + 59 * SECOND },
      '1 min after one failed poll, because the service itself asked for so much time',
    ],
    [
      'recheck',
      { ...settled, nextPollAt: NOW + 22 * HOUR },
      'a recheck: the state is final, and looked at once more 1 d later',
      recheck,
    ],
    ['invoice', { ...settled, invoice: 'wanted' }, 'its invoice details are asked for with it'],
    [
      'invoice',
      { ...settled, invoice: 'wanted', failures: 2 },
      'its invoice details are asked for with it, after 2 failed polls in a row',
    ],
    ['requested', {}, 'somebody asked for it by hand'],
    ['requested', { status: 'expired' }, 'somebody asked for it by hand, although watching has ended'],
    ['site_readable', { failures: 9 }, 'at once, because site se can be read again'],
    ['repaired', {}, 'at once, because its row was repaired from what was announced of it'],
  ])('%s', (nextPollReason, differs, text, policy) => {
    const why = whyThen(aPurchase({ ...differs, nextPollReason }), { ...DEFAULT_POLL_POLICY, ...policy });
    expect(why).toEqual({ reason: nextPollReason, text });
  });

  test('whatever the settings are now', () => {
    const purchase = aPurchase({ nextPollAt: NOW + HOUR });
    expect(whyThen(purchase, DEFAULT_POLL_POLICY)).toMatchObject({
      reason: 'growth',
      text: expect.stringMatching(/^1 h after the last poll, when/),
    });
  });

  test('one that was planned before reasons were recorded says so', () => {
    const text = 'planned by an earlier version, which recorded no reason';
    expect(whyThen(aPurchase({ nextPollReason: null }), DEFAULT_POLL_POLICY)).toEqual({ reason: 'not_recorded', text });
  });

  test.each<[Partial<PurchaseFacts>, string, Partial<PollPolicy>?]>([
    [settled, '“completed” is final, and the last recheck has been made', recheck],
    [settled, '“completed” is final'],
    [{ status: 'stopped' }, 'watching was stopped'],
    [{ status: 'expired' }, 'watching was given up'],
  ])('none is planned for %j', (differs, text, policy) => {
    const why = whyThen(aPurchase({ ...differs, nextPollAt: null, nextPollReason: null }), { ...DEFAULT_POLL_POLICY, ...policy });
    expect(why).toEqual({ reason: 'never', text: `not polled any more: ${text}` });
  });
});

test("the moment of giving up knows which time the database's clock skipped", () => {
  const skipped = [{ from: NOW - 2 * DAY, until: NOW - DAY }];
  const waiting = { state: NEW, stateSince: NOW - 31 * DAY, watchedSince: NOW - 40 * DAY, nextPollAt: NOW };
  expect(explained({ purchase: waiting, skipped }).next).toMatchObject([{ kind: 'poll' }, { kind: 'give_up', at: NOW }]);
});

describe('a poll that is late', () => {
  const late = { nextPollAt: NOW - MINUTE } as const;
  test.each<[string, Parameters<typeof theFacts>[0], RegExp, string | undefined]>([
    [
      'without a daemon',
      { owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 3, silence: SILENCE } },
      /no daemon is running/,
      'no_daemon',
    ],
    [
      'without an owner',
      { owner: { replica: 'rep_0', leaseUntil: null, replicas: 2, othersDue: 3, silence: SILENCE } },
      /its shard has no owner at this moment/,
      'poll_late',
    ],
    [
      'of a former site',
      { site: { configured: false, failingSince: null, lastSuccessAt: null, lastError: null } },
      /no running daemon has site se in its settings, so this purchase is not polled: name the site in the settings again/,
      'site_not_configured',
    ],
    [
      'of a renamed site',
      { site: RENAMED },
      /this purchase is not polled until it has moved from site se to site no, which names se in "formerly": a daemon moves it by itself/,
      'site_not_configured',
    ],
    [
      'of a renamed site whose row another session has locked',
      { site: RENAMED, purchase: { ...late, lockedBy: 4_711 } },
      /it cannot move because session 4711 of the database has locked its row: .*pg_terminate_backend\(4711\)/,
      'site_not_configured',
    ],
    [
      'for the turn of the daemon that knows its site',
      { owner: TURNS },
      /different settings and take turns: site se is in those of b alone, whose turn with this purchase begins in 20 s/,
      'poll_late',
    ],
    [
      'of a site that fails',
      { site: { configured: true, failingSince: NOW - HOUR, lastSuccessAt: null, lastError: 'Timed out.' } },
      /site se does not answer/,
      'site_failing',
    ],
    [
      'among others',
      { owner: { replica: 'r', leaseUntil: NOW + 1, replicas: 1, othersDue: 40, silence: SILENCE } },
      /40 more of its shard are due, and the site's ceiling/,
      'poll_late',
    ],
    [
      'among very many',
      { owner: { replica: 'r', leaseUntil: NOW + 1, replicas: 1, othersDue: 1_000, silence: SILENCE } },
      /a hundred or more of its shard are due/,
      'poll_late',
    ],
    [
      'for no known reason',
      {},
      /waits for its turn .*\(maxRps\), its last tries got no usable answer, or it is on its way/,
      'poll_late',
    ],
  ])('%s says so', (_, differs, text, code) => {
    const { next, matters } = explained({ purchase: late, ...differs });
    expect(texts(next, 'poll')).toEqual([expect.stringMatching(/^next poll, late by 1 min: /)]);
    expect(texts(next, 'poll')[0]).toMatch(text);
    expect(matters.map((matter) => matter.code)).toEqual([code]);
  });

  test.each<[string, Facts['firstPoll'], RegExp]>([
    [
      'behind others',
      { ahead: 20_224, ceiling: 50 },
      /^it was registered in bulk, and about 20 000 of the first polls of bulk registrations at site se come before its own, which is made within about 6 min 45 s at 50 calls a second; purchases that are registered one by one go first/,
    ],
    ['before a daemon has called', { ahead: 3_200, ceiling: null }, /before its own, which is made at a time that is not known/],
    [
      'with the next ones',
      { ahead: 0, ceiling: 50 },
      /none of the first polls .* comes before its own, which is made within about 1 s/,
    ],
  ])('is not said of the first poll of a bulk registration: %s', (_, firstPoll, text) => {
    const facts = { purchase: { ...late, lastPolledAt: null }, firstPoll };
    const { next, matters, verdict } = explained(facts);
    expect(matters).toEqual([]);
    expect(texts(next, 'poll')[0]!.replace('next poll: ', '')).toMatch(text);
    expect(verdict.replace('Not polled yet: ', '')).toMatch(text);
    expect(verdict).not.toMatch(/late|well/);
    // Something that keeps it from its turn is said.
    expect(explained({ ...facts, purchase: { ...facts.purchase, lockedBy: 7 } }).verdict).toMatch(
      /late by 1 min: session 7 .* locked/,
    );
  });

  test('by a few seconds is only on its way', () => {
    expect(explained({ purchase: { nextPollAt: NOW - 4 * SECOND } }).matters).toEqual([]);
  });
});

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
