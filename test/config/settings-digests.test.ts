import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { compareSettings, comparisonText, differingSettings, settingsDigests } from '../../src/config/settings-digests.ts';
import { SIGNING_SECRET, SITE, temporaryFile } from './files.ts';

const digestsOf = (env: Record<string, string> = {}) => settingsDigests(loadSettings({ ...SITE, ...env }), '1.2.3');
const OWN = digestsOf();

/** Groups in which a daemon with these variables differs from one with the site alone. */
const differing = (env: Record<string, string>) => compareSettings(OWN, [digestsOf(env)]).groups;

test('digests are short, and the same for the same settings wherever they were read from', () => {
  expect(Object.keys(OWN)).toEqual(
    expect.arrayContaining([
      'version',
      'sites.default',
      'polling.giveUpAfter',
      'states.New',
      'states.default',
      'slack.groupWait',
    ]),
  );
  for (const [name, digest] of Object.entries(OWN)) if (name !== 'version') expect(digest).toMatch(/^[0-9a-f]{4}$/);
  expect(digestsOf()).toEqual(OWN);
  expect(differing({ PURCHASE_WATCH_CONFIG: temporaryFile('polling: {}') })).toEqual([]);
});

test('settings that differ are named as in the file, and never by their values', () => {
  const named = (env: Record<string, string>) => differingSettings(OWN, digestsOf(env));
  const file = '{ slack: { groupWait: 1m }, states: { 17: { stuckAfter: 5m } }, webhooks: { timeout: 7s } }';
  expect(named({ PURCHASE_WATCH_CONFIG: temporaryFile(file) })).toEqual([
    'slack.groupWait',
    'states.Unknown(17)',
    'webhooks.timeout',
  ]);
  expect(named({ CHECKOUT_CLIENT_SECRET: 'another' })).toEqual(['sites.default']);
  expect(named({ SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T/B/x' })).toEqual(['slack.channels.default']);
});

test('a difference shows in its group alone, also when it is one of secrets', () => {
  expect(differing({ CHECKOUT_CLIENT_SECRET: 'another' })).toEqual(['sites']);
  expect(differing({ CHECKOUT_MAX_RPS: '7' })).toEqual(['sites']);
  expect(differing({ PURCHASE_WATCH_CONFIG: temporaryFile('states: { WaitingForCardPayments: { stuckAfter: 5m } }') })).toEqual([
    'polling',
  ]);
  expect(differing({ SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T/B/x' })).toEqual(['alerts']);
  expect(differing({ WEBHOOK_URL: 'https://shop.example/hooks', WEBHOOK_SECRET: SIGNING_SECRET })).toEqual(['receivers']);
  expect(differing({ SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') })).toEqual(['receivers']);
  // Where a daemon listens changes nothing of what a command shows.
  expect(differing({ PORT: '9090', LOG_LEVEL: 'debug' })).toEqual([]);
});

test('of several daemons one with other settings is enough, and only wanted groups count', () => {
  const other = digestsOf({ CHECKOUT_MAX_RPS: '7', SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T/B/x' });
  expect(compareSettings(OWN, [OWN, other, null])).toEqual({ groups: ['sites', 'alerts'], own: '1.2.3', versions: [] });
  expect(compareSettings(OWN, [OWN, other], ['polling', 'alerts'])).toEqual({ groups: ['alerts'], own: '1.2.3', versions: [] });
  expect(compareSettings(OWN, [])).toEqual({ groups: [], own: '1.2.3', versions: [] });
});

test('settings of another version are not compared', () => {
  const newer = { ...digestsOf({ CHECKOUT_MAX_RPS: '7' }), version: '99.0.0' };
  const comparison = compareSettings(OWN, [newer]);
  expect(comparison).toEqual({ groups: [], own: '1.2.3', versions: ['99.0.0'] });
  expect(comparisonText(comparison)).toMatch(/^a running daemon has version 99\.0\.0, this program 1\.2\.3: /);
});

test('the sentence lists the groups', () => {
  expect(comparisonText({ groups: ['sites', 'polling', 'alerts'], own: '1.2.3', versions: [] })).toBe(
    'a running daemon uses other settings for sites, polling, and alerts',
  );
  expect(comparisonText({ groups: [], own: '1.2.3', versions: [] })).toBeNull();
});
