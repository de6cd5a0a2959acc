import { describe, expect, test } from 'vitest';
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import type { Facts } from '../../../src/domain/explain/facts.ts';
import { singleSteps } from '../../../src/domain/explain/single-alerts.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { CARD, HOUR, MINUTE, NOW, policy, texts, theFacts } from './facts.ts';

const since = NOW - 20 * MINUTE;
const channel: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };

describe('alerts of a stuck purchase by itself', () => {
  const purchase = { stateSince: since, stuckSince: NOW - 5 * MINUTE };
  const single: Facts['singles'][number] = {
    ...{ state: CARD, since, alertedAt: NOW - 4 * MINUTE, endedAt: null, channels: ['@slack'] },
    ...{ mode: 'auto', counted: 14, perDay: 5, isLast: false, unreadable: null, foundLate: false },
  };
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

describe('alerts about one purchase', () => {
  const purchase = { stateSince: since, stuckSince: NOW - 5 * MINUTE };
  const single: Facts['singles'][number] = {
    ...{ state: CARD, since, alertedAt: NOW - 4 * MINUTE, endedAt: null, channels: ['@slack', '@teams'] },
    ...{ mode: 'auto', counted: 14, perDay: 5, isLast: false, unreadable: null, foundLate: false },
  };
  const about = (facts: Parameters<typeof theFacts>[0], channels: readonly ChannelRule[] = [channel]) =>
    explainPurchase(theFacts({ purchase, ...facts }), { ...policy, channels });
  const alerts = (differs: Partial<typeof single>) => texts(about({ singles: [{ ...single, ...differs }] }).steps, 'alert');
  const standing = (facts: Parameters<typeof theFacts>[0], channels?: readonly ChannelRule[]) =>
    texts(about(facts, channels).standing, 'incident')[0]!.split('; ')[1];

  test('name the channels, and say what was wrong', () => {
    expect(singleSteps(theFacts({ singles: [{ ...single, alertedAt: null }] }))).toEqual([]);
    expect(alerts({ channels: [], unreadable: 'wrong_shape', endedAt: NOW })).toEqual([
      'alerted people that it cannot be read (wrong_shape)',
      'alerted people that it can be read again',
    ]);
    expect(alerts({ foundLate: true })).toEqual([
      expect.stringMatching(
        /^alerted people \(@slack, @teams\) that it is stuck waiting for the card provider: found late, .*; each stuck checkout alerts/,
      ),
    ]);
  });
  test.each<[string, Partial<typeof single>, string]>([
    [
      'too few stays',
      { counted: 99, perDay: 34, isLast: true },
      'each stuck checkout alerts because only 99 stays are counted (100 are needed)',
    ],
    [
      'no stay',
      { counted: null, perDay: 34, isLast: true },
      'each stuck checkout alerts because only 0 stays are counted (100 are needed)',
    ],
    [
      'enough stays, and enough customers',
      { counted: 100, perDay: 20, isLast: true },
      'the last one by itself, because 100 stays are counted and about 20 customers a day come',
    ],
    [
      'enough stays, and too few customers',
      { counted: 100, perDay: 19, isLast: true },
      'each stuck checkout alerts because only about 19 customers a day come (20 are needed)',
    ],
    [
      'enough, and others that follow',
      { counted: 100, perDay: 19 },
      'each stuck checkout alerts because only about 19 customers a day come (20 are needed)',
    ],
  ])('say why by %s', (_, differs, why) => expect(alerts(differs)[0]!.split('provider: ')[1]).toBe(why));

  const KNOWN = { share: 0.03, perDay: 34, counted: 412 };

  test('are those of this stay', () => {
    const earlier = { ...single, since: since - 1 };
    expect(standing({ singles: [earlier] })).toBeUndefined();
    expect(standing({ singles: [earlier, { ...single, alertedAt: NOW }] })).toMatch(/^people were alerted of it 0 s ago/);
    const said = (singles: Facts['singles']) => about({ singles, known: KNOWN }).verdict;
    for (const singles of [[], [earlier]]) expect(said(singles)).toContain('no incident is open, so people are not alerted');
    expect(said([earlier, single])).toContain('people were alerted of it 4 min ago');
  });

  const only = 'people are alerted by incidents only';
  test.each<[string, readonly Partial<ChannelRule>[], string | undefined]>([
    ['none', [], undefined],
    ['one of another site', [{ sites: ['no'] }], `${only} (slack.stuck: incidents)`],
    [
      'one of this site',
      [{ sites: ['no', 'se'] }],
      `${only}, because 412 stays are counted and about 34 customers a day come (slack.stuck: auto)`,
    ],
    ['one that is alerted of each', [{ stuck: 'each' }], undefined],
    ['of two, one that is alerted of each', [{}, { stuck: 'each' }], undefined],
    ['one of incidents and one of another site', [{ stuck: 'incidents' }, { sites: ['no'] }], `${only} (slack.stuck: incidents)`],
  ])('are told by the modes of the channels: %s', (_, channels, text) => {
    expect(
      standing(
        { known: KNOWN },
        channels.map((each) => ({ ...channel, ...each })),
      ),
    ).toBe(text);
  });

  const look = { foundAt: NOW - 4 * MINUTE, alertedAt: null, isBacklog: true };
  const waiting = { ...single, alertedAt: null };
  const soon = 'the first look at site se alerts people of it, at 09:26:00Z at the latest';
  const collected = /^people are about to be alerted of it/;
  test.each<[string, Parameters<typeof theFacts>[0], string | RegExp | undefined]>([
    ['that comes', { firstLook: look }, soon],
    [
      'that is due',
      { firstLook: { ...look, foundAt: NOW - 5 * MINUTE } },
      'the first look at site se alerts people of it in a moment',
    ],
    ['that was', { firstLook: { ...look, alertedAt: NOW - HOUR } }, 'the first look at site se alerted people of it 1 h ago'],
    [
      'that was a moment ago by another clock',
      { firstLook: { ...look, alertedAt: NOW + 1 } },
      'the first look at site se alerted people of it 0 s ago',
    ],
    ['of a backlog speaks for the purchase', { firstLook: look, singles: [waiting] }, soon],
    ['of few does not', { firstLook: { ...look, isBacklog: false }, singles: [waiting] }, collected],
    ['of few, when it has no alert of its own', { firstLook: { ...look, isBacklog: false } }, soon],
    ['comes also after an earlier stay alerted', { firstLook: look, singles: [{ ...single, since: since - 1 }] }, soon],
    ['comes after its own alert', { firstLook: look, singles: [single] }, /^people were alerted of it 4 min ago/],
  ])('a first look %s', (_, facts, text) => {
    const said = standing(facts);
    if (text instanceof RegExp) expect(said).toMatch(text);
    else expect(said).toBe(text);
  });
  test('a first look is announced only where a channel hears of it', () => {
    const elsewhere = [{ ...channel, sites: ['no'] }];
    expect(standing({ firstLook: look }, elsewhere)).toBe(`${only} (slack.stuck: incidents)`);
    expect(standing({ firstLook: look }, [{ ...channel, sites: ['se'] }])).toBe(soon);
    expect(about({ firstLook: look, hasPeople: false }, []).verdict).toContain('no incident is open, so people are not');
    expect([true, false].map((hasPeople) => standing({ firstLook: look, hasPeople }, []))).toEqual([soon, undefined]);
  });
});
