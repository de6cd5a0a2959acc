import { expect, test } from 'vitest';
import { audienceOf, type ChannelRule } from '../../../src/domain/incidents/audience.ts';

const rule = (name: string, differs: Partial<ChannelRule> = {}): ChannelRule => ({
  name,
  sites: null,
  severity: 'warning',
  ...differs,
});
const warning = { kind: 'stuck', severity: 0, subscriber: null } as const;
const critical = { ...warning, severity: 1 } as const;
const subscriber = (name: string) => ({ kind: 'subscriber', severity: 3, subscriber: name }) as const;

const all = rule('@slack');
const se = rule('@slack-se', { sites: ['se'] });
const urgent = rule('@slack-urgent', { severity: 'critical' });

test.each([
  ['a warning of a site goes to channels for all sites and for that one', warning, ['se'], ['@slack', '@slack-se']],
  ['what is urgent goes to all of them', critical, ['se'], ['@slack', '@slack-se', '@slack-urgent']],
  ['a site that nobody named goes to channels for all', critical, ['fi'], ['@slack', '@slack-urgent']],
  ['several sites go wherever one of them does', warning, ['fi', 'se'], ['@slack', '@slack-se']],
  ['a subscriber is of no site', subscriber('shop'), [], ['@slack', '@slack-urgent']],
  ['a channel does not hear of its own trouble', subscriber('@slack'), [], ['@slack-urgent']],
] as const)('%s', (_, incident, sites, names) => {
  expect(audienceOf(incident, sites, [all, se, urgent])).toEqual(names);
});

test('where all that should hear it take nothing, the others hear it', () => {
  const deaf = { ...se, isDeaf: true };
  expect(audienceOf(warning, ['se'], [deaf, rule('@slack-fi', { sites: ['fi'] }), urgent])).toEqual([
    '@slack-se',
    '@slack-fi',
    '@slack-urgent',
  ]);
  expect(audienceOf(warning, ['se'], [deaf, all, urgent])).toEqual(['@slack-se', '@slack']);
  const ofTwo = rule('@slack-two', { sites: ['se', 'no'] });
  expect(audienceOf(warning, ['se'], [ofTwo])).toEqual(['@slack-two']);
  expect(audienceOf(subscriber('@slack'), ['se'], [deaf, all])).toEqual(['@slack-se']);
  // Nobody wanted it in the first place.
  expect(audienceOf(warning, ['se'], [urgent])).toEqual([]);
});

test('where every channel is for some sites, all of them hear what is of no site', () => {
  expect(audienceOf(subscriber('shop'), [], [se, rule('@slack-fi', { sites: ['fi'] })])).toEqual(['@slack-se', '@slack-fi']);
});
