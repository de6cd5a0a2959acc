/** Which way each address is called, by settings and environment. */
import { describe, expect, test } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { namedAddresses, wayTo, wayToWebhook } from '../../src/config/ways.ts';
import { wayText } from '../../src/domain/values/way.ts';
import { loadFile, problemsOf, SIGNING_SECRET, SITE } from './files.ts';

const PROXIES = { HTTP_PROXY: 'http://plain.example:3128', HTTPS_PROXY: 'http://me:hush@secure.example:8080' };
const wayIn = (env: NodeJS.ProcessEnv, address: string): string => wayText(wayTo(address, loadSettings(env)));

describe('the environment', () => {
  test.each([
    [{}, 'https://pay.example', 'directly'],
    [PROXIES, 'https://pay.example', 'through the proxy secure.example:8080 (HTTPS_PROXY)'],
    [PROXIES, 'http://pay.example', 'through the proxy plain.example:3128 (HTTP_PROXY)'],
    [{ HTTP_PROXY: PROXIES.HTTP_PROXY }, 'https://pay.example', 'directly'],
    [{ ...PROXIES, https_proxy: 'https://small.example' }, 'https://a.example', 'through the proxy small.example (https_proxy)'],
    [{ ...PROXIES, https_proxy: '' }, 'https://a.example', 'through the proxy secure.example:8080 (HTTPS_PROXY)'],
    [{ HTTPS_PROXY: 'me:hush@bare.example:3128' }, 'https://a.example', 'through the proxy bare.example:3128 (HTTPS_PROXY)'],
    [{ HTTPS_PROXY: 'http://[fd00::5]:3128' }, 'https://a.example', 'through the proxy [fd00::5]:3128 (HTTPS_PROXY)'],
  ])('%o: %s %s', (env, address, way) => expect(wayIn(env, address)).toBe(way));

  test.each(['https://localhost:8443', 'https://shop.localhost', 'https://127.0.0.9', 'https://[::1]', 'https://LOCALHOST.'])(
    'never sends %s, which is this machine, to a proxy',
    (address) => {
      expect(wayIn(PROXIES, address)).toBe('directly (an address of this machine)');
      const settings = loadSettings({ ...SITE, CHECKOUT_BASE_URL: address, CHECKOUT_PROXY: PROXIES.HTTP_PROXY });
      expect(wayText(namedAddresses(settings)[0]!.way)).toBe('directly (an address of this machine)');
    },
  );

  test.each([
    ['pay.example', true],
    ['.pay.example', true],
    ['*.pay.example', true],
    ['example', true],
    ['PAY.example.', true],
    ['other.example, pay.example', true],
    ['other.example pay.example:443', true],
    ['*', true],
    ['pay.example:8443', false],
    ['ay.example', false],
    ['api.pay.example', false],
    ['.', false],
    ['', false],
  ])('NO_PROXY=%s says of https://pay.example: %s', (noProxy, isDirect) => {
    const direct = 'directly (NO_PROXY)';
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(wayIn({ ...PROXIES, [name]: noProxy }, 'https://pay.example') === direct, name).toBe(isDirect);
  });

  test.each([
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.1.2.3', 'https://10.1.2.3:8443', true],
    ['10.1.2.3:443', 'https://10.1.2.3:8443', false],
    ['fd00::/8', 'https://[fd00::5]', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/8', 'https://ten.example', false],
  ])('NO_PROXY=%s says of %s: %s', (noProxy, address, isDirect) => {
    expect(wayIn({ ...PROXIES, NO_PROXY: noProxy }, address) === 'directly (NO_PROXY)').toBe(isDirect);
  });

  test.each([
    ['socks5://proxy.example:1080', '"socks5://proxy.example:1080"'],
    ['socks5://me:hush@proxy.example:1080', '"socks5://…@proxy.example:1080"'],
    ['http://me:hu/sh@proxy.example/path', 'its value (not shown)'],
    ['http://me:hush', 'its value (not shown)'],
    ['http://', '"http://"'],
  ])('%s is no proxy, and its credentials are not repeated', (value, shown) => {
    expect(problemsOf(() => loadSettings({ HTTPS_PROXY: value }))).toEqual([
      `HTTPS_PROXY: ${shown} is not the http or https address of a proxy such as http://user:password@proxy.example:3128; set one, or unset HTTPS_PROXY`,
    ]);
  });
});

describe('a setting of its own', () => {
  const site = { baseUrl: 'https://pay.example', clientId: 'a', clientSecret: 'b' };
  const wayOf = (proxy: string | undefined, env = {}) =>
    wayText(namedAddresses(loadFile(JSON.stringify({ sites: { se: { ...site, proxy } } }), env))[0]!.way);

  test('wins over the environment, NO_PROXY too', () => {
    expect(wayOf(undefined, PROXIES)).toBe('through the proxy secure.example:8080 (HTTPS_PROXY)');
    expect(wayOf('http://own.example:1', { ...PROXIES, NO_PROXY: '*' })).toBe('through the proxy own.example:1 (sites.se.proxy)');
    for (const none of ['direct', '']) expect(wayOf(none, PROXIES)).toBe('directly (sites.se.proxy)');
  });

  test('of the site of the variables is CHECKOUT_PROXY, and an empty one is not set', () => {
    const ofVariable = (CHECKOUT_PROXY: string) =>
      wayText(namedAddresses(loadSettings({ ...SITE, ...PROXIES, CHECKOUT_PROXY }))[0]!.way);
    expect(ofVariable('http://own.example')).toBe('through the proxy own.example (CHECKOUT_PROXY)');
    expect(ofVariable('direct')).toBe('directly (CHECKOUT_PROXY)');
    expect(ofVariable('')).toBe('through the proxy secure.example:8080 (HTTPS_PROXY)');
  });

  test('that is no proxy is refused without its value', () => {
    expect(problemsOf(() => loadSettings({ ...SITE, CHECKOUT_PROXY: 'socks5://me:hush@a' }))).toEqual([
      'CHECKOUT_PROXY: its value (not shown) is not the http or https address of a proxy such as http://user:password@proxy.example:3128, or direct',
    ]);
  });
});

test('webhooks go by the environment unless webhooks.proxy says otherwise, listed addresses and http directly', () => {
  const wayOf = (address: string, env = {}) => {
    const settings = loadSettings({ ...PROXIES, WEBHOOK_ALLOW_ADDRESSES: '10.0.0.0/8', ...env });
    return wayText(wayToWebhook(address, settings.webhooks.allowAddresses, settings));
  };
  expect(wayOf('https://shop.example')).toBe('through the proxy secure.example:8080 (HTTPS_PROXY)');
  expect(wayOf('https://shop.example', { WEBHOOK_PROXY: 'direct' })).toBe('directly (WEBHOOK_PROXY)');
  expect(wayOf('https://shop.example', { WEBHOOK_PROXY: 'http://own.example', NO_PROXY: '*' })).toBe(
    'through the proxy own.example (WEBHOOK_PROXY)',
  );
  expect(wayOf('https://10.1.2.3')).toBe('directly (an allowed address)');
  expect(wayOf('https://11.1.2.3')).toBe('through the proxy secure.example:8080 (HTTPS_PROXY)');
  expect(wayOf('http://shop.example')).toBe('directly (http webhooks use no proxy)');
});

test('config says which way each address is called once a proxy is set, without credentials', () => {
  const file = {
    sites: { se: { baseUrl: 'https://pay.example/api', clientId: 'a', clientSecret: 'b' } },
    teams: { channels: { ops: { webhookUrl: 'https://teams.example/secret' } } },
    subscribers: { shop: { url: 'https://shop.example/x', secret: SIGNING_SECRET }, bus: { url: 'nats://nats.example' } },
    webhooks: { proxy: 'http://me:hush@hooks.example:1' },
  };
  const linesOf = (env: NodeJS.ProcessEnv) =>
    new Map(describeSettings(loadFile(JSON.stringify(file), env)).map(({ name, text }) => [name, text]));
  const lines = linesOf({ ...PROXIES, NO_PROXY: 'teams.example' });
  expect(lines.get('sites.se.baseUrl')).toBe('https://pay.example/…, through the proxy secure.example:8080 (HTTPS_PROXY)');
  expect(lines.get('teams.channels.ops.webhookUrl')).toBe('set, directly (NO_PROXY)');
  expect(lines.get('subscribers.shop.url')).toBe('https://shop.example/…, through the proxy hooks.example:1 (webhooks.proxy)');
  expect(lines.get('subscribers.bus.url')).toBe('nats://nats.example');
  expect([...lines.values()].join()).not.toContain('hush');
  expect(linesOf({}).get('sites.se.baseUrl')).toBe('https://pay.example/…');
});
