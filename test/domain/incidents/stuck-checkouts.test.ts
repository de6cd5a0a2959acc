import { describe, expect, test } from 'vitest';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import type { Silence } from '../../../src/domain/incidents/incident.ts';
import {
  type CheckoutSituation,
  checkoutOutcome,
  enoughKnown,
  firstLookAt,
  isShareKnown,
  planCheckouts,
  type StuckCheckout,
  tooLittleKnown,
} from '../../../src/domain/incidents/stuck-checkouts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NOW = Date.UTC(2026, 10, 20, 9);
const AUTO: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const EACH: ChannelRule = { name: '@slack-each', sites: null, severity: 'warning', stuck: 'each' };
const INCIDENTS: ChannelRule = { name: '@slack-incidents', sites: null, severity: 'warning', stuck: 'incidents' };
const LITTLE = { share: null, perDay: 5, counted: 14 };
const ENOUGH = { share: 0.03, perDay: 34, counted: 112 };

const aCheckout = (differs: Partial<StuckCheckout> = {}): StuckCheckout => ({
  ...{ id: 1, site: 'se', state: 6, stuckAt: NOW - 30 * SECOND, isBacklog: false, alerted: null, overAt: null },
  ...differs,
});
const plan = (checkouts: StuckCheckout[], differs: Partial<CheckoutSituation<StuckCheckout>> = {}) => {
  const { alerts, dropped, lookAgainAt } = planCheckouts({
    ...{ now: NOW, checkouts, channels: [AUTO], silences: [], policy: { groupWait: 30 * SECOND, groupInterval: 5 * MINUTE } },
    ...{ known: () => LITTLE, hasIncident: () => false, isSingle: () => false },
    ...differs,
  });
  const ids = (some: readonly StuckCheckout[]): number[] => some.map(({ id }) => id);
  return {
    alerts: alerts.map(({ channels, stuck, over }) => ({ channels, stuck: ids(stuck), over: ids(over) })),
    reasons: alerts.flatMap(({ reasons }) => reasons),
    dropped: ids(dropped),
    lookAgainAt,
  };
};

describe('a share can be judged', () => {
  test.each([
    [{ share: 0.03, perDay: 20 }, true],
    [{ share: 0.03, perDay: 19.9 }, false],
    [{ share: null, perDay: 200 }, false],
    [{ share: 0.03, perDay: null }, false],
  ])('%j: %s', (known, expected) => expect(isShareKnown(known)).toBe(expected));

  test('says in words what is missing, and what is known', () => {
    expect(tooLittleKnown(LITTLE)).toBe('only 14 stays are counted (100 are needed)');
    expect(tooLittleKnown({ counted: 1, perDay: null })).toBe('only 1 stay is counted (100 are needed)');
    expect(tooLittleKnown({ counted: 210, perDay: 19.6 })).toBe('only about 19 customers a day come (20 are needed)');
    expect(tooLittleKnown({ counted: 110, perDay: 0.5 })).toBe('fewer than one customer a day comes (20 are needed)');
    expect(tooLittleKnown({ counted: 100, perDay: null })).toBe('fewer than one customer a day comes (20 are needed)');
    expect(tooLittleKnown({ counted: 100, perDay: 1 })).toBe('only about 1 customer a day come (20 are needed)');
    expect(enoughKnown(ENOUGH)).toBe('112 stays are counted and about 34 customers a day come');
  });
});

describe('a stuck checkout', () => {
  test('waits for groupWait, and what came meanwhile goes with it', () => {
    const young = aCheckout({ stuckAt: NOW - 10 * SECOND });
    expect(plan([young])).toMatchObject({ alerts: [], dropped: [], lookAgainAt: NOW + 20 * SECOND });
    expect(plan([aCheckout(), { ...young, id: 2 }]).alerts).toEqual([{ channels: ['@slack'], stuck: [1, 2], over: [] }]);
  });

  test('that is over before anybody was alerted alerts nobody', () => {
    for (const overAt of [NOW - SECOND, NOW - MINUTE])
      expect(plan([aCheckout({ overAt })])).toMatchObject({ alerts: [], dropped: [1] });
  });

  test('alerts nobody where the share can be judged, unless single checkouts alerted before: once more, with the reason', () => {
    expect(plan([aCheckout()], { known: () => ENOUGH })).toMatchObject({ alerts: [], dropped: [1] });
    const last = plan([aCheckout()], { known: () => ENOUGH, isSingle: () => true });
    expect(last.alerts).toEqual([{ channels: ['@slack'], stuck: [1], over: [] }]);
    expect(last.reasons).toEqual([{ site: 'se', state: 6, mode: 'auto', counted: 112, perDay: 34, isLast: true }]);
  });

  test('is left to an incident of its state, but for channels that want each: those wait for groupInterval', () => {
    const hasIncident = (site: string, state: number): boolean => site === 'se' && state === 6;
    expect(plan([aCheckout({ stuckAt: NOW - 5 * MINUTE })], { hasIncident })).toMatchObject({ alerts: [], dropped: [1] });
    expect(plan([aCheckout({ state: 4 })], { hasIncident }).alerts).toHaveLength(1);
    const both = { hasIncident, channels: [AUTO, EACH] };
    expect(plan([aCheckout()], both)).toMatchObject({ alerts: [], dropped: [], lookAgainAt: NOW + 270 * SECOND });
    const waited = plan([aCheckout({ stuckAt: NOW - 5 * MINUTE })], both);
    expect(waited.alerts).toEqual([{ channels: ['@slack-each'], stuck: [1], over: [] }]);
    expect(waited.reasons).toMatchObject([{ mode: 'each', isLast: false }]);
  });

  test('goes to the channels of its mode, site and severity', () => {
    const channels = [
      AUTO,
      INCIDENTS,
      { ...EACH, sites: ['fi'] },
      { ...AUTO, name: '@slack-urgent', severity: 'critical' as const },
    ];
    expect(plan([aCheckout()], { channels }).alerts).toEqual([{ channels: ['@slack'], stuck: [1], over: [] }]);
    const ofSites = ['se', 'fi'].map((site) => ({ ...AUTO, name: `@slack-${site}`, sites: [site] }));
    expect(plan([aCheckout()], { channels: ofSites }).alerts[0]!.channels).toEqual(['@slack-se']);
    expect(plan([aCheckout()], { channels: [INCIDENTS] })).toMatchObject({ alerts: [], dropped: [1] });
    // Another one of the same modes gets what a deaf one would have missed.
    const deaf = [{ ...AUTO, isDeaf: true }, { ...EACH, sites: ['fi'] }, INCIDENTS];
    expect(plan([aCheckout()], { channels: deaf }).alerts[0]!.channels).toEqual(['@slack', '@slack-each']);
  });

  test('of a backlog is left to the first look', () => {
    expect(plan([aCheckout({ isBacklog: true })])).toMatchObject({ alerts: [], dropped: [1] });
  });

  test('waits for the end of a silence', () => {
    const silence: Silence = {
      kind: 'stuck',
      site: 'se',
      state: null,
      subscriber: null,
      startsAt: NOW - MINUTE,
      endsAt: NOW + MINUTE,
    };
    expect(plan([aCheckout()], { silences: [silence] })).toMatchObject({ alerts: [], dropped: [], lookAgainAt: NOW + MINUTE });
    expect(plan([aCheckout()], { silences: [{ ...silence, site: 'fi' }] }).alerts).toHaveLength(1);
    expect(plan([aCheckout()], { silences: [{ ...silence, kind: 'unreachable' }] }).alerts).toHaveLength(1);
  });
});

describe('the end of one that people were alerted of', () => {
  const over = aCheckout({ alerted: ['@slack'], overAt: NOW - 30 * SECOND });

  test('goes to whoever was alerted, after groupWait, also in a silence, together with new ones for the same channels', () => {
    expect(plan([{ ...over, overAt: NOW - 10 * SECOND }])).toMatchObject({ alerts: [], lookAgainAt: NOW + 20 * SECOND });
    const silences = [{ kind: null, site: null, state: null, subscriber: null, startsAt: NOW - MINUTE, endsAt: NOW + MINUTE }];
    expect(plan([over], { silences }).alerts).toEqual([{ channels: ['@slack'], stuck: [], over: [1] }]);
    expect(plan([over, aCheckout({ id: 2 })]).alerts).toEqual([{ channels: ['@slack'], stuck: [2], over: [1] }]);
  });

  test('waits until an incident of its state is over, but for channels that want each', () => {
    expect(plan([over], { hasIncident: () => true })).toMatchObject({ alerts: [], dropped: [], lookAgainAt: null });
    const each = { hasIncident: () => true, channels: [AUTO, EACH] };
    expect(plan([{ ...over, alerted: ['@slack-each'] }], each).alerts).toHaveLength(1);
  });

  test.each([
    [{ toState: 2, isPaid: false, status: 'settled' }, 'got_on'],
    [{ toState: 5, isPaid: false, status: 'settled' }, 'left'],
    [{ toState: 5, isPaid: true, status: 'settled' }, 'paid'],
    [{ toState: null, isPaid: false, status: 'stopped' }, 'stopped'],
    [{ toState: null, isPaid: false, status: 'expired' }, 'expired'],
    [{ toState: null, isPaid: false, status: 'watching' }, 'uncounted'],
    [{ toState: 2, isPaid: false, status: 'watching', unreadable: 'wrong_shape' }, 'readable'],
    [{ toState: 2, isPaid: false, status: 'stopped', unreadable: 'wrong_shape' }, 'stopped'],
  ])('%j is %s', (end, outcome) => expect(checkoutOutcome(end)).toBe(outcome));

  test('is that of one that was alerted of and is over, held by an incident where any of its channels wants no single ones', () => {
    const going = aCheckout({ id: 2, alerted: ['@slack'] });
    expect(plan([going, over]).alerts).toEqual([{ channels: ['@slack'], stuck: [], over: [1] }]);
    const held = { hasIncident: () => true, channels: [AUTO, EACH] };
    expect(plan([{ ...over, alerted: ['@slack', '@slack-each'] }], held).alerts).toEqual([]);
  });
});

describe('one message', () => {
  test('names each place once, in the mode of its channels', () => {
    const stuck = [aCheckout(), aCheckout({ id: 2 }), aCheckout({ id: 3, state: 4 }), aCheckout({ id: 4, isBacklog: true })];
    const { alerts, reasons, dropped } = plan(stuck, { channels: [AUTO, EACH] });
    expect(alerts).toEqual([{ channels: ['@slack', '@slack-each'], stuck: [1, 2, 3], over: [] }]);
    expect(dropped).toEqual([4]);
    expect(reasons.map(({ state, mode, isLast }) => [state, mode, isLast])).toEqual([
      [6, 'auto', false],
      [4, 'auto', false],
    ]);
    const each = plan([aCheckout()], { channels: [{ ...EACH, sites: ['se'] }], known: () => ENOUGH });
    expect(each.reasons).toMatchObject([{ mode: 'each', isLast: false }]);
  });
});

test('a first look waits for the last that was found, and five minutes at most', () => {
  const at = (lastAt: number) => firstLookAt({ foundAt: NOW, lastAt }, { groupWait: 30 * SECOND }) - NOW;
  expect([NOW - MINUTE, NOW + MINUTE, NOW + 4.5 * MINUTE + 1].map(at)).toEqual([30 * SECOND, 90 * SECOND, 5 * MINUTE]);
});
