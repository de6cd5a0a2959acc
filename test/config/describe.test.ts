import { describe, expect, test } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import { loadFile, SIGNING_SECRET, SITE, temporaryFile } from './files.ts';

const row = (settings: Settings, name: string) => {
  const { value, origin } = describeSettings(settings).find((each) => each.name === name)!;
  return { value, origin };
};

describe('where a setting came from', () => {
  test('is told of variables, of files with secrets, and of defaults', () => {
    const API_KEY_FILE = temporaryFile('a-key-of-the-operator');
    const settings = loadSettings({
      ...SITE,
      PORT: '81',
      CHECKOUT_MAX_RPS: '5',
      WEBHOOK_ALLOW_ADDRESSES: '10.0.0.1',
      API_KEY_FILE,
    });
    expect(row(settings, 'PORT')).toEqual({ value: 81, origin: 'environment' });
    expect(row(settings, 'HOST')).toEqual({ value: '127.0.0.1', origin: 'default' });
    expect(row(settings, 'API_KEY')).toEqual({ value: 'set', origin: `file ${API_KEY_FILE} (API_KEY_FILE)` });
    expect(row(settings, 'API_READ_KEY')).toEqual({ value: 'not set', origin: 'default' });
    expect(row(settings, 'sites.default.maxRps')).toEqual({ value: 5, origin: 'environment (CHECKOUT_MAX_RPS)' });
    expect(row(settings, 'sites.default.timeout')).toEqual({ value: '10s', origin: 'default' });
    expect(row(settings, 'webhooks.allowAddresses')).toEqual({
      value: ['10.0.0.1/32'],
      origin: 'environment (WEBHOOK_ALLOW_ADDRESSES)',
    });
  });

  test('is told of the settings file and of what fills its placeholders', () => {
    const settings = loadFile(
      `sites: { se: { baseUrl: https://se.example, clientId: me, clientSecret: "\${S}" } }
states: { 4: { stuckAfter: auto }, 6: { stuckAfter: 1h }, 17: { final: true }, default: { poll: { most: 1h } } }
subscribers: { shop: { url: "https://shop.example/hook?key=1", secret: ${SIGNING_SECRET}, states: [6, 17] } }`,
      { S: 'hush', CHECKOUT_TIMEOUT: '1s' },
    );
    const file = `file ${settings.configFile}`;
    expect(row(settings, 'sites.se.clientSecret')).toEqual({ value: 'set', origin: `${file} \${S}` });
    expect(row(settings, 'sites.se.timeout')).toEqual({ value: '10s', origin: 'default' });
    expect(row(settings, 'states.WaitingForCardPayments')).toEqual({
      value: { poll: { first: '5s', growth: 0.1, most: '5m' }, stuckAfter: '1h', final: false, recheck: [] },
      origin: file,
    });
    expect(row(settings, 'states.WaitingForIdentityProvider').value).toMatchObject({ stuckAfter: 'auto' });
    expect(describeSettings(settings).find(({ name }) => name === 'states.WaitingForIdentityProvider')!.text).toMatch(
      /stuck after a limit that is learned, at first 10m$/,
    );
    expect(row(settings, 'polling.sessionLength')).toEqual({ value: '30m', origin: 'default' });
    expect(row(settings, 'states.New').origin).toBe('default');
    expect(row(settings, 'states.Unknown(17)').origin).toBe(file);
    expect(row(settings, 'states.default').origin).toBe(file);
    expect(row(settings, 'subscribers.shop.url').value).toBe('https://shop.example/…');
    expect(row(settings, 'subscribers.shop.states').value).toEqual(['WaitingForCardPayments', 17]);
  });
});

describe('the database', () => {
  test.each([
    ['postgres://u:hunter2@db.example:5432/shop?sslmode=require', 'set (postgres://db.example:5432/…)'],
    ['postgres://u:p/hunter2@db.example/shop', 'set (postgres://…)'],
    ['postgres://u:1/hunter2@db.example/shop', 'set (postgres://…)'],
    ['postgres://u:p@hunter2@db.example/shop', 'set (postgres://db.example/…)'],
    ['postgres://u:hunter2@a:1,b:2/shop', 'set (postgres://a:1,b:2/…)'],
  ])('%s is shown as %s', (DATABASE_URL, shown) => {
    expect(row(loadSettings({ DATABASE_URL }), 'DATABASE_URL').value).toBe(shown);
  });
});
