import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OverviewFacts } from '../../../src/actions/overview/facts.ts';
import { reporterOf } from '../../../src/actions/overview/finding.ts';
import { headlineOf, needsOf } from '../../../src/actions/overview/needs.ts';
import { endingFindings } from '../../../src/actions/overview/server.ts';
import type { IncidentRow } from '../../../src/postgres/incidents/list.ts';

const NOW = Date.UTC(2026, 10, 20, 9);

const SITE: OverviewFacts['sites'][number] = {
  name: 'se',
  configured: true,
  renamedTo: null,
  unpolled: 0,
  lockedBy: null,
  failingSince: null,
  failingReason: null,
  lastSuccessAt: NOW - 1_000,
  lastReadAt: NOW - 1_000,
  lastError: null,
};
const BOOKS = {
  id: 1,
  name: 'books',
  kind: 'webhook',
  audience: 'systems',
  status: 'active',
  statusReason: null,
  health: null,
  unreached: null,
} as unknown as OverviewFacts['subscribers'][number];
/** A channel that alerts people. */
const SLACK = { ...BOOKS, id: 2, name: '@slack', kind: 'slack', audience: 'people' } as OverviewFacts['subscribers'][number];
const DAEMON = {
  id: 'rep_1',
  process: 'elsewhere',
  startedAt: NOW - 60_000,
  settings: null,
  named: null,
  shards: 64,
} as OverviewFacts['replicas'][number];

const CALM: OverviewFacts = {
  now: NOW,
  clockOffset: 40,
  notificationQueue: 0,
  stuck: [],
  lost: [],
  replicas: [DAEMON],
  silence: { takesWrites: true, silentMs: 0 },
  unowned: 0,
  sites: [SITE],
  counts: [{ site: 'se', status: 'watching', state: 1, count: 3, stuck: 0, oldest: NOW }],
  lags: [{ site: 'se', due: 0, atLeast: false, oldest: 0, oldestSingle: 0 }],
  firsts: [],
  incidents: [],
  subscribers: [BOOKS, SLACK],
  waiting: [],
  troubles: [],
  changes: [],
  unnamed: [],
  unreadable: [],
  completions: { completed: 20, usual: 20 },
};

const INCIDENT = {
  id: 'inc_1',
  kind: 'stuck',
  site: 'no',
  state: 6,
  subscriber: null,
  count: 4,
  peak: 4,
  severity: 1,
  parent: null,
  parts: [],
  quietSince: null,
  endsAt: null,
  endedAt: null,
  openedAt: NOW,
  since: NOW - 60_000,
  acknowledgedAt: null,
  acknowledgedBy: null,
  silencedUntil: null,
} as unknown as IncidentRow;

const with1 =
  <Name extends keyof OverviewFacts>(name: Name, change: (value: OverviewFacts[Name]) => unknown) =>
  (facts: OverviewFacts): OverviewFacts => ({ ...facts, [name]: change(facts[name]) });
const site = (change: Partial<OverviewFacts['sites'][number]>) =>
  with1('sites', (sites) => sites.map((each) => ({ ...each, ...change })));
const receiver = (name: string, change: object) =>
  with1('subscribers', (all) => all.map((each) => (each.name === name ? { ...each, ...change } : each)));
const books = (change: object) => receiver('books', change);
const PAUSED = { health: { failures: 4, failingSince: NOW - 600_000, pausedUntil: NOW + 60_000, lastError: 'It answered 500.' } };
const trouble = (reason: string) =>
  with1('troubles', (all) => [...all, { replica: 'r', host: 'h', reason, since: NOW, error: null }]);
const change = (kind: string, knownUntil: number | null) =>
  with1('changes', (all) => [...all, { id: 'a', kind, noticedAt: NOW, replica: 'r', host: 'h', cameBackTo: null, knownUntil }]);
const incident = (changes: Partial<IncidentRow>) =>
  with1('incidents', (all) => [...all, { ...INCIDENT, ...changes, id: `inc_${all.length}` }]);

/** Each state of the world that needs somebody. */
const TROUBLES: Readonly<Record<string, (facts: OverviewFacts) => OverviewFacts>> = {
  'no daemon': with1('replicas', () => []),
  'a database without writes': (facts) => ({ ...facts, replicas: [], silence: { takesWrites: false, silentMs: 9 } }),
  'a start under way': with1('unowned', () => 64),
  'polls that cannot be recorded': trouble('not_recording'),
  'a second primary': trouble('two_primaries'),
  'a loss of the database': change('went_back', NOW),
  'a move while no daemon ran': change('moved', null),
  'late polls': with1('lags', () => [{ site: 'se', due: 9, atLeast: false, oldest: 90_000, oldestSingle: 90_000 }]),
  'a site that fails': site({ failingSince: NOW, failingReason: 'refused' }),
  'a site without settings': site({ configured: false, unpolled: 7 }),
  'a site that was not asked yet': site({ lastSuccessAt: null, lastReadAt: null }),
  'a subscriber that no daemon names': with1('unnamed', () => [{ name: 'books', waiting: 2 }]),
  'a subscriber that is off': books({ status: 'off', statusReason: 'It answered 410.' }),
  'a paused subscriber': books(PAUSED),
  'a dead channel': receiver('@slack', PAUSED),
  'events that a subscriber misses': with1('lost', () => [{ name: 'bank', count: 3, since: NOW - 7_200_000 }]),
  'replicas with other settings': trouble('settings_differ'),
  'a replica that reaches no receiver': trouble('reaches_no_receiver'),
  'a replica that reaches no site': trouble('reaches_no_site'),
  'a judge that fails': trouble('not_judging'),
  'results that cannot be settled': trouble('not_settling'),
  'an incident of replicas': incident({ kind: 'replica', site: null, state: null, severity: 3 }),
  'an incident of several sites': incident({ site: null, state: null }),
  'an incident in a silence': incident({ silencedUntil: NOW + 3_600_000 }),
  'an incident that somebody looks after': incident({ acknowledgedAt: NOW, acknowledgedBy: 'Kim' }),
  'a clock that is wrong': with1('clockOffset', () => -61_000),
  'a queue of notifications that fills up': with1('notificationQueue', () => 0.4),
  'a subscriber that is not reached': books({ unreached: { since: NOW, error: 'ENOTFOUND', failures: 3 } }),
  'deliveries that wait': with1('waiting', () => [
    { subscriber: 1, pending: 1, inFlight: 0, parked: 0, atLeast: false, dueSince: NOW - 400_000 },
  ]),
  'a single stuck checkout': with1('counts', (all) => all.map((row) => ({ ...row, stuck: 1 }))),
  'customers who are stuck': incident({}),
  'a site that cannot be read': incident({ kind: 'unreachable', site: 'fi', state: null, severity: 0 }),
  'a subscriber that loses events': incident({ kind: 'subscriber', site: null, subscriber: 'bank', state: null }),
  'a purchase that cannot be read': with1('unreadable', () => [
    { site: 'se', purchaseId: 'p1', since: NOW, lastError: 'It is no JSON.' },
  ]),
  'fewer completions than usual': with1('completions', () => ({ completed: 3, usual: 20 })),
};
/** States that end without a person. */
const CALMS: Readonly<Record<string, (facts: OverviewFacts) => OverviewFacts>> = {
  'a move between servers': change('moved', NOW),
  'bulk polls': (facts) => ({
    ...facts,
    lags: [{ site: 'se', due: 9, atLeast: false, oldest: 90_000, oldestSingle: 0 }],
    firsts: [{ site: 'se', waiting: 9, ceiling: 50, within: 1_000 }],
  }),
  'a receiver that asked for a rest': books({
    health: { failures: 1, failingSince: NOW, pausedUntil: NOW + 60_000, lastError: 'It answered 429.' },
  }),
  'a subscriber that no daemon names and for which nothing waits': with1('unnamed', () => [{ name: 'books', waiting: 0 }]),
  'a quiet night': with1('completions', () => ({ completed: 0, usual: 4 })),
};

test.each(Object.entries(TROUBLES))('%s needs somebody, and the sentence says so', (_, strike) => {
  const facts = strike(CALM);
  const needs = needsOf(facts);
  expect(needs).not.toEqual([]);
  for (const { todo, action, text, why } of needs) {
    expect(todo).not.toBe('');
    expect(action.path).toMatch(/^\/\w/);
    expect(action.label).not.toBe('');
    // A page shows times in one zone, so no text holds one of its own.
    expect(`${text} ${why}`).not.toMatch(/\d\d:\d\d/);
  }
  const { text, severity } = headlineOf(needs, facts);
  expect(text).not.toContain('Nothing needs to be done');
  expect(severity).not.toBeNull();
});

test('the sentence reassures exactly when no state of the world needs somebody', () => {
  const states = { ...TROUBLES, ...CALMS };
  fc.assert(
    fc.property(fc.subarray(Object.keys(states), { maxLength: 6 }), fc.boolean(), (names, hasEndingKey) => {
      const facts = names.reduce((world, name) => states[name]!(world), CALM);
      const others = hasEndingKey ? [reporterOf('settings').warning('the key ends', 'replace it')] : [];
      const needs = needsOf(facts, others);
      // A state may take the place of another one of the same thing: what is left is what counts.
      const isTrouble = hasEndingKey || names.some((name) => name in TROUBLES && !isReplaced(name, names));
      if (isTrouble) expect(needs).not.toEqual([]);
      if (names.every((name) => name in CALMS) && !hasEndingKey) expect(needs).toEqual([]);
      expect(headlineOf(needs, facts).text.includes('Nothing needs to be done')).toBe(needs.length === 0);
    }),
    { numRuns: 2_000 },
  );
});

/** Whether a later state of the list overwrites the same fact. */
function isReplaced(name: string, names: readonly string[]): boolean {
  return names
    .slice(names.indexOf(name) + 1)
    .some((later) => OVERWRITES.some((group) => group.includes(name) && group.includes(later)));
}
const OVERWRITES = [
  ['late polls', 'bulk polls', 'a site that fails', 'a site without settings'],
  ['a subscriber that no daemon names', 'a subscriber that no daemon names and for which nothing waits'],
  ['a subscriber that is off', 'a paused subscriber', 'a receiver that asked for a rest', 'a subscriber that is not reached'],
  ['a site that was not asked yet', 'a site without settings', 'a site that fails'],
  ['fewer completions than usual', 'a quiet night'],
  ['no daemon', 'a database without writes'],
];

test('an incident that ends by itself asks for nothing, unless its customers are stuck', () => {
  const ending = incident({ count: 0, endsAt: NOW + 60_000, quietSince: NOW });
  const calm = ending(CALM);
  expect(needsOf(calm)).toEqual([]);
  expect(headlineOf([], calm)).toMatchObject({
    severity: 'ending',
    text: expect.stringContaining('The incident ends in 1 min unless'),
  });
  const left = with1('counts', () => [{ site: 'no', status: 'watching', state: 6, count: 3, stuck: 2, oldest: NOW }])(calm);
  expect(needsOf(left)).toMatchObject([{ about: 'site no', text: expect.stringContaining('2 purchases are stuck') }]);
});

test('one thing is counted once: what an incident says is not said again of its site, subscriber, daemon or customers', () => {
  const failing = site({ failingSince: NOW, failingReason: 'refused' })(CALM);
  const [need, ...others] = needsOf(incident({ kind: 'unreachable', site: 'se', state: null, severity: 0 })(failing));
  expect(need).toMatchObject({ incident: 'inc_0' });
  expect(others).toEqual([]);
  const stuck = incident({ site: 'se', state: 1 })(TROUBLES['a single stuck checkout']!(CALM));
  expect(needsOf(stuck)).toHaveLength(1);
  expect(headlineOf(needsOf(stuck), stuck).text).not.toContain('more');
});

test('the gravest comes first, with how many there are besides', () => {
  const facts = incident({})(site({ failingSince: NOW, lastError: 'It answered 503.' })(CALM));
  const needs = needsOf(facts);
  expect(needs.map(({ severity }) => severity)).toEqual(['critical', 'warning']);
  expect(headlineOf(needs, facts).text).toMatch(/^no: 4 customers .*\. 1 more thing needs somebody\.$/);
});

test('within a severity: incident, dead channel, replica, subscriber, site, single checkouts, then doctor', () => {
  const all = [
    'a clock that is wrong',
    'a single stuck checkout',
    'a site that fails',
    'a paused subscriber',
    'replicas with other settings',
    'a dead channel',
  ];
  const warnings = all.reduce((facts, name) => TROUBLES[name]!(facts), incident({ severity: 0 })(CALM));
  // A second channel still alerts people.
  const heard = with1('subscribers', (subscribers) => [...subscribers, { ...SLACK, id: 3, name: '@teams' }])(warnings);
  const needs = needsOf({ ...heard, troubles: [] });
  expect(needs.map(({ kind }) => kind)).toEqual(['incident', 'channel', 'subscriber', 'site', 'stuck', 'settings']);
  expect(needs.every(({ severity }) => severity === 'warning')).toBe(true);
  // Without it nobody hears of what is open: that is worse than all of it.
  expect(needsOf(warnings)[0]).toMatchObject({ kind: 'channel', severity: 'critical', text: '@slack takes no messages' });
  // While nothing is open, a channel is a receiver as others are.
  const calm = needsOf(receiver('@slack', PAUSED)(CALM));
  expect(calm).toMatchObject([{ kind: 'channel', severity: 'warning', action: { path: '/channels' } }]);
  const noChannel = with1('subscribers', () => [BOOKS])(TROUBLES['a single stuck checkout']!(CALM));
  expect(needsOf(noChannel).map(({ text }) => text)[0]).toBe('Nobody is alerted: no channel for people is set');
  expect(needsOf(with1('subscribers', () => [BOOKS])(CALM))).toEqual([]);
});

test('each says what, since when, why, and where it is done', () => {
  const parked = with1('waiting', () => [
    { subscriber: 1, pending: 0, inFlight: 0, parked: 9_520, atLeast: false, dueSince: NOW - 400_000 },
  ])(books(PAUSED)(CALM));
  expect(needsOf(parked)).toMatchObject([
    {
      ...{ kind: 'subscriber', text: 'books gets no events; 9 520 deliveries are parked', since: NOW - 600_000 },
      why: 'It answered 500, 4 times in a row. It is tried again in 1 min',
      action: { path: '/subscribers/books', label: 'Look, and resume' },
    },
  ]);
  const stuck = with1('stuck', () => [
    { purchaseId: 'p1', site: 'se', state: 1, order: 'ORD-1042', stateSince: NOW - 1_860_000 },
    { purchaseId: 'p2', site: 'no', state: 6, order: null, stateSince: NOW - 720_000 },
  ])(
    with1('counts', () => [
      { site: 'se', status: 'watching', state: 1, count: 3, stuck: 1, oldest: NOW },
      { site: 'no', status: 'watching', state: 6, count: 3, stuck: 1, oldest: NOW },
    ])(CALM),
  );
  expect(needsOf(stuck)).toMatchObject([
    {
      ...{ text: '2 purchases are stuck at 2 places of 2 sites', since: NOW - 1_860_000 },
      why: 'ORD-1042 in the check-out form for 31 min, p2 waiting for the card provider for 12 min',
      action: { path: '/purchases?stuck=true', label: 'See who' },
    },
  ]);
  // Those whom an incident counts are not counted again.
  expect(needsOf(incident({ site: 'no', state: 6 })(stuck)).at(-1)).toMatchObject({
    ...{ text: 'se: 1 purchase is stuck in the check-out form', why: 'ORD-1042 in the check-out form for 31 min' },
    action: { path: '/purchases?stuck=true&site=se&state=BeingProcessed' },
  });
  const [silenced] = needsOf(incident({ silencedUntil: NOW + 3_600_000, acknowledgedAt: NOW, acknowledgedBy: 'Kim' })(CALM));
  expect(silenced).toMatchObject({ why: 'Alerts are silenced for 1 h more. Kim looks after it', since: NOW - 60_000 });
  expect(silenced!.action.label).toBe('Look');
});

test('keys and certificates that end soon need somebody, those that last do not', () => {
  const day = 86_400_000;
  const key = (name: string, expires: number | null) => ({ name, scopes: [], hash: '', expires });
  const found = endingFindings(
    [key('shop', NOW + 3 * day), key('old', NOW - day), key('API_KEY', null), key('new', NOW + 90 * day)],
    [
      { name: 'checkout.example:443', at: NOW + day / 2 },
      { name: 'books', at: NOW + 13 * day },
      { name: 'bank.example:443', at: NOW + 30 * day },
    ],
    NOW,
  );
  expect(needsOf(CALM, found).map(({ severity, text, action }) => [severity, text, action.path])).toEqual([
    ['critical', 'The certificate for checkout.example:443 expires in 12 h', '/system'],
    ['warning', 'The key shop of the API expires in 3 d', '/system'],
    ['warning', 'The key old of the API expired 1 d ago', '/system'],
    ['warning', 'The certificate for books expires in 13 d', '/system'],
  ]);
});
