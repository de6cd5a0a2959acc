import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import {
  compareSettings,
  comparisonText,
  differingSettings,
  differingText,
  settingsDigests,
} from '../../src/config/settings-digests.ts';
import { createSecrets } from '../../src/runtime/secrets/secrets.ts';
import { SIGNING_SECRET, SITE, temporaryFile } from './files.ts';

const KEY = 'one key of the installation, of many characters';
const digestsOf = (env: Record<string, string> = {}, key: string | null = KEY) =>
  settingsDigests(loadSettings({ ...SITE, ...env }), '1.2.3', key === null ? null : createSecrets(key));
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
  const { version: _version, SECRETS_KEY: keys, ...digests } = OWN;
  for (const digest of Object.values(digests)) expect(digest).toMatch(/^[0-9a-f]{8}$/);
  expect(keys).toBe(createSecrets(KEY).keyIds[0]);
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
  // Where a daemon listens changes nothing of what a command shows.
  expect(differing({ PORT: '9090', LOG_LEVEL: 'debug' })).toEqual([]);
  // The environment's proxies belong to the network of each machine, and replicas may run in several; a setting is for all of them.
  expect(differing({ HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: 'a.example' })).toEqual([]);
  expect(differing({ CHECKOUT_PROXY: 'http://proxy.example:3128' })).toEqual(['sites']);
});

const BROKER = `{
  subscribers: { bus: { url: 'nats://watch:PASSWORD@nats.example' }, shop: { url: 'https://shop.example/PASSWORD', secret: '${SIGNING_SECRET}',
    headers: { X-Token: PASSWORD } } },
  webhooks: { proxy: 'http://me:PASSWORD@proxy.example' }, slack: { deadMansSwitch: 'https://hc.example/PASSWORD' } }`;
/** Settings in which everything secret is this word. */
const withSecret = (secret: string, key: string | null) =>
  digestsOf({ CHECKOUT_CLIENT_SECRET: secret, PURCHASE_WATCH_CONFIG: temporaryFile(BROKER.replaceAll('PASSWORD', secret)) }, key);

test('a dictionary of guesses confirms no secret without the key, and with the key every secret is compared', () => {
  const guesses = ['hunter2', 'letmein', 'correct-horse'];
  const stored = withSecret('hunter2', KEY);
  for (const guess of guesses) {
    // Under no key and under a wrong one, the true guess looks as every other one does.
    expect(differingSettings(stored, withSecret(guess, null))).toEqual(['SECRETS_KEY']);
    expect(differingSettings(stored, withSecret(guess, `a wrong ${KEY}`))).toEqual(['SECRETS_KEY']);
    expect(withSecret(guess, null)).toEqual(withSecret('hunter2', null));
  }
  const secret = ['sites.default', 'slack.deadMansSwitch', 'subscribers.bus', 'subscribers.shop', 'webhooks.proxy'];
  expect(differingSettings(stored, withSecret('letmein', KEY))).toEqual(secret);
  expect(differingSettings(stored, withSecret('hunter2', KEY))).toEqual([]);
});

test('of daemons with different keys the key is named, and what differs besides', () => {
  const other = digestsOf({}, `another ${KEY}`);
  expect(differingSettings(OWN, other)).toEqual(['SECRETS_KEY']);
  expect(differingText([OWN, other])).toBe('SECRETS_KEY');
  expect(compareSettings(OWN, [other]).groups).toEqual(['receivers']);
  expect(differingSettings(OWN, digestsOf({ CHECKOUT_MAX_RPS: '7' }, null))).toEqual(['SECRETS_KEY', 'sites.default']);
  // A key that only opens changes no other digest.
  const rotated = settingsDigests(loadSettings(SITE), '1.2.3', createSecrets(KEY, ['a former key of many characters']));
  expect(differingSettings(OWN, rotated)).toEqual(['SECRETS_KEY']);
  expect(differingSettings(rotated, { ...rotated, 'sites.default': '00000000' })).toEqual(['sites.default']);
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
