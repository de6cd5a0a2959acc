import { describe, expect, test } from 'vitest';
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import type { Facts } from '../../../src/domain/explain/facts.ts';
import type { ChannelRule } from '../../../src/domain/incidents/audience.ts';
import { CARD, MINUTE, NOW, policy, texts, theFacts } from './facts.ts';

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
