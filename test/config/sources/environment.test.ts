import { describe, expect, test } from 'vitest';
import { describeSettings } from '../../../src/config/describe.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { problemsOf, SIGNING_SECRET, SITE, temporaryFile } from '../files.ts';

const problems = (env: NodeJS.ProcessEnv, requireSite = false) => problemsOf(() => loadSettings(env, { requireSite }));

describe('without any variable', () => {
  test('everything has its default', () => {
    expect(loadSettings({})).toMatchObject({
      databaseUrl: null,
      dataDir: './.purchase-watch',
      sites: [],
      policy: DEFAULT_POLL_POLICY,
      subscribers: [],
      webhooks: { timeout: 15_000, concurrency: 64, allowAddresses: [], apiAllowAddresses: [], proxy: null },
      host: '127.0.0.1',
      port: 8080,
      logLevel: 'info',
    });
    expect(loadSettings({}).webhooks.schedule).toHaveLength(9);
  });

  test('start misses its site, all three variables at once', () => {
    expect(problems({}, true).map((line) => line.split(':')[0])).toEqual([
      'CHECKOUT_BASE_URL',
      'CHECKOUT_CLIENT_ID',
      'CHECKOUT_CLIENT_SECRET',
    ]);
  });
});

describe('the site of the variables', () => {
  test('is named default', () => {
    const env = { ...SITE, CHECKOUT_AUTH: 'basic', CHECKOUT_MAX_RPS: '2.5', CHECKOUT_CONCURRENCY: '8', CHECKOUT_TIMEOUT: '3s' };
    expect(loadSettings(env, { requireSite: true }).sites).toEqual([
      {
        name: 'default',
        baseUrl: 'https://checkout.example',
        auth: 'basic',
        clientId: 'shop',
        clientSecret: 'hush',
        timeZone: 'Europe/Stockholm',
        maxRps: 2.5,
        concurrency: 8,
        timeout: 3_000,
        proxy: null,
        invoices: false,
        formerly: [],
      },
    ]);
  });

  test('is never half a site, whoever asks', () => {
    expect(problems({ CHECKOUT_BASE_URL: 'https://checkout.example' })).toHaveLength(2);
  });

  test.each([
    ['CHECKOUT_BASE_URL', 'ftp://checkout.example'],
    ['CHECKOUT_BASE_URL', 'https://checkout.example/?site=1'],
    ['CHECKOUT_BASE_URL', 'https://checkout.example/#a'],
    ['CHECKOUT_BASE_URL', 'https://user:pass@checkout.example/'],
    ['CHECKOUT_BASE_URL', 'checkout.example'],
    ['CHECKOUT_AUTH', 'digest'],
    ['CHECKOUT_TIME_ZONE', 'Europe/Nowhere'],
    ['CHECKOUT_TIME_ZONE', '+01:00'],
    ['CHECKOUT_MAX_RPS', '0'],
    ['CHECKOUT_MAX_RPS', '-1'],
    ['CHECKOUT_MAX_RPS', 'many'],
    ['CHECKOUT_CONCURRENCY', '0'],
    ['CHECKOUT_CONCURRENCY', '1001'],
    ['CHECKOUT_CONCURRENCY', '1.5'],
    ['CHECKOUT_TIMEOUT', '10'],
    ['CHECKOUT_TIMEOUT', '0s'],
    ['CHECKOUT_TIMEOUT', '9999d'],
  ])('refuses %s=%s and says what is expected', (name, value) => {
    const [line, ...others] = problems({ ...SITE, [name]: value });
    expect(line).toMatch(new RegExp(`^${name}: ".*" is not .{5,}`));
    expect(others).toEqual([]);
  });

  test('cannot have a user name that HTTP Basic cannot send', () => {
    expect(problems({ ...SITE, CHECKOUT_AUTH: 'basic', CHECKOUT_CLIENT_ID: 'a:b' })).toEqual([
      expect.stringMatching(/^CHECKOUT_CLIENT_ID: "a:b" holds a colon/),
    ]);
  });
});

describe('other variables', () => {
  test('say together what is wrong with each', () => {
    const lines = problems({
      DATABASE_URL: 'mysql://root@db/x',
      WEBHOOK_ALLOW_ADDRESSES: '10.0.0.0/8, ten, 10.0.0.0/99',
      API_KEY: 'nineteen-characters',
      SECRETS_KEY: 'short',
      PORT: '70000',
      LOG_LEVEL: 'inof',
    });
    expect(lines).toHaveLength(7);
    expect(lines).toContain('PORT: "70000" is not a whole number from 0 to 65535');
    expect(lines).toContain(
      'WEBHOOK_ALLOW_ADDRESSES: "ten" is not a range of addresses such as 10.0.0.0/8 or fd00::/8, or one with a port such as 10.1.2.3:8443 or [fd00::5]:8443',
    );
    expect(lines.at(-1)).toMatch(/^LOG_LEVEL: "inof" is not one of fatal, error, .*, silent \(did you mean info\?\)$/);
  });

  test('an empty variable is one that is not set', () => {
    expect(loadSettings({ ...SITE, CHECKOUT_TIMEOUT: '', DATABASE_URL: '', SLACK_WEBHOOK_URL: '' })).toMatchObject({
      databaseUrl: null,
    });
  });

  test.each(['10.1/16', '010.0.0.0/8', '0x7f.0.0.0/8', 'fe80::1%eth0/64', '10.0.0.0/8/8', '10.0.0.0/'])(
    '%s is no range: not everybody reads it in the same way',
    (range) => {
      expect(problemsOf(() => loadSettings({ WEBHOOK_ALLOW_ADDRESSES: range }))).toEqual([
        expect.stringMatching(/^WEBHOOK_ALLOW_ADDRESSES: ".*" is not a range of addresses/),
      ]);
    },
  );

  test('an address counts as the range of itself', () => {
    expect(loadSettings({ WEBHOOK_ALLOW_ADDRESSES: '10.0.0.7,fd00::/8,::1' }).webhooks.allowAddresses).toEqual([
      '10.0.0.7/32',
      'fd00::/8',
      '::1/128',
    ]);
    const withPorts = '10.0.0.7:8443,[fd00::5]:80';
    expect(loadSettings({ WEBHOOK_API_ALLOW_ADDRESSES: withPorts }).webhooks).toMatchObject({
      allowAddresses: [],
      apiAllowAddresses: ['10.0.0.7/32:8443', '[fd00::5/128]:80'],
    });
  });

  test.each(['0.0.0.0', '::', 'purchases.example', '10.0.0.7'])(
    'listening on %s needs a key, and both remedies are named',
    (HOST) => {
      expect(problems({ HOST })).toEqual([expect.stringMatching(/^HOST: .* set API_KEY .* or use HOST=127\.0\.0\.1$/)]);
      expect(problems({ HOST, API_KEY: 'a-key-for-other-hosts' })).toEqual([]);
    },
  );

  test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('listening on %s needs none', (HOST) => {
    expect(problems({ HOST })).toEqual([]);
  });

  test('the key for readers must not be the key for all', () => {
    const same = 'one-key-for-all-callers';
    expect(problems({ API_KEY: same, API_READ_KEY: same })).toEqual([
      'API_READ_KEY: is the same key as API_KEY; choose another one',
    ]);
  });
});

describe('the webhook of the variables', () => {
  test('is the subscriber named default', () => {
    const { subscribers } = loadSettings({ WEBHOOK_URL: 'https://shop.example/hook?t=1', WEBHOOK_SECRET: SIGNING_SECRET });
    expect(subscribers).toEqual([
      {
        name: 'default',
        kind: 'webhook',
        url: 'https://shop.example/hook?t=1',
        secret: SIGNING_SECRET,
        oldSecrets: [],
        signingKey: null,
        format: 'standard',
        headers: {},
        clientCertificate: null,
        clientKey: null,
        types: null,
        sites: null,
        states: null,
      },
    ]);
  });

  test('without a secret is told how to make one', () => {
    expect(problems({ WEBHOOK_URL: 'https://shop.example/hook' })).toEqual([
      expect.stringMatching(/^WEBHOOK_SECRET: is missing .*openssl rand -base64 32/),
    ]);
  });

  test.each([' ', ',', ', ', '\n'])('may have an old secret after the new one, separated by %j', (between) => {
    const old = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    const WEBHOOK_SECRET = `${SIGNING_SECRET}${between}${old}`;
    const settings = loadSettings({ WEBHOOK_URL: 'https://shop.example/hook', WEBHOOK_SECRET });
    expect(settings.subscribers).toMatchObject([{ secret: SIGNING_SECRET, oldSecrets: [old] }]);
    expect(describeSettings(settings)).toContainEqual({
      name: 'subscribers.default.oldSecrets',
      value: 'set',
      text: 'set',
      origin: 'environment (WEBHOOK_SECRET)',
    });
  });

  test('cannot have a secret twice, nor more of them than receivers look at', () => {
    const of = (...secrets: string[]) => problems({ WEBHOOK_URL: 'https://shop.example', WEBHOOK_SECRET: secrets.join(' ') });
    expect(of(SIGNING_SECRET, SIGNING_SECRET)).toEqual([expect.stringMatching(/^WEBHOOK_SECRET: holds the same secret twice/)]);
    const many = [1, 2, 3, 4, 5, 6].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);
    expect(of(...many)).toEqual(['WEBHOOK_SECRET: makes 6 secrets; at most 5 sign at once']);
    expect(of(...many.slice(1))).toEqual([]);
    expect(of(SIGNING_SECRET, 'whsec_short')).toEqual([expect.stringMatching(/^WEBHOOK_SECRET: its value \(not shown\)/)]);
  });

  test('without an address has no use for its secret', () => {
    expect(problems({ WEBHOOK_SECRET: SIGNING_SECRET })).toEqual([expect.stringMatching(/^WEBHOOK_URL: is missing/)]);
  });

  test.each([
    'whsec_',
    'whsec_c2hvcnQ=',
    SIGNING_SECRET.slice(6),
    `whsec_${'A'.repeat(200)}`,
    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  ])('refuses the secret %s without repeating it', (WEBHOOK_SECRET) => {
    const lines = problems({ WEBHOOK_URL: 'https://shop.example/hook', WEBHOOK_SECRET });
    expect(lines).toEqual([expect.stringMatching(/^WEBHOOK_SECRET: its value \(not shown\) is not whsec_/)]);
    if (WEBHOOK_SECRET.length > 10) expect(lines.join()).not.toContain(WEBHOOK_SECRET);
  });
});

describe('secrets from files', () => {
  test('are read without the line end that editors leave', () => {
    const CHECKOUT_CLIENT_SECRET_FILE = temporaryFile('from a file\n');
    const { CHECKOUT_CLIENT_SECRET: _, ...rest } = SITE;
    expect(loadSettings({ ...rest, CHECKOUT_CLIENT_SECRET_FILE }, { requireSite: true }).sites[0]!.clientSecret).toBe(
      'from a file',
    );
  });

  test('must not be given twice', () => {
    expect(problems({ API_KEY: 'a', API_KEY_FILE: temporaryFile('b') })).toEqual([
      'API_KEY: API_KEY_FILE is set too; keep one of them',
    ]);
  });

  test('must be readable and hold something', () => {
    expect(problems({ API_KEY_FILE: '/nowhere/key' })).toEqual(['API_KEY_FILE: there is no such file: /nowhere/key']);
    expect(problems({ API_KEY_FILE: temporaryFile('\n') })).toEqual([expect.stringMatching(/^API_KEY_FILE: .* is empty$/)]);
  });

  test('are checked like any other value, and not shown', () => {
    const lines = problems({ WEBHOOK_URL: 'https://shop.example', WEBHOOK_SECRET_FILE: temporaryFile('hunter2') });
    expect(lines).toEqual([expect.stringMatching(/^WEBHOOK_SECRET: its value \(not shown\)/)]);
  });
});

describe('names that look mistyped', () => {
  test.each([
    ['CHECKOUT_BASEURL', 'CHECKOUT_BASE_URL'],
    ['CHECKOUT_TIMEZONE', 'CHECKOUT_TIME_ZONE'],
    ['CHECKOUT_CLIENT_SECERT', 'CHECKOUT_CLIENT_SECRET'],
    ['WEBHOOK_SECRETS', 'WEBHOOK_SECRET'],
    ['SLACK_WEBHOOK_URI', 'SLACK_WEBHOOK_URL'],
    ['APIKEY', 'API_KEY'],
    ['API_KEY_FIEL', 'API_KEY_FILE'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['PURCHASE_WATCH_CONFG', 'PURCHASE_WATCH_CONFIG'],
    ['SLACK_URL', 'SLACK_WEBHOOK_URL'],
    ['SLACK_WEBHOOK', 'SLACK_WEBHOOK_URL'],
    ['SLACK_URL_FILE', 'SLACK_WEBHOOK_URL_FILE'],
    ['CHECKOUT_SECRET', 'CHECKOUT_CLIENT_SECRET'],
    ['PURCHASE_CONFIG', 'PURCHASE_WATCH_CONFIG'],
  ])('%s: did you mean %s?', (name, meant) => {
    expect(problems({ [name]: 'hunter2' })).toEqual([`${name}: is not a variable of purchase-watch (did you mean ${meant}?)`]);
  });

  test('the variables of other programs are left alone', () => {
    const env = {
      HOME: '/root',
      HOSTNAME: 'a',
      PORTS: '1',
      POST: 'x',
      PATH: '/bin',
      NODE_ENV: 'test',
      SLACK_TOKEN: 'x',
      SLACK_CHANNEL: 'x',
      SLACK_FILE: 'x',
      SECRETS_FILE: 'x',
      CLIENT_SECRET: 'x',
      DATABASE: 'x',
      AWS_API_KEY: 'x',
      GIT_DATA_DIR: 'x',
      CHECKOUT_SERVICE_HOST: '10.0.0.1',
      CHECKOUT_SERVICE_PORT_HTTP: '80',
      CHECKOUT_PORT: 'tcp://10.0.0.1:80',
      CHECKOUT_PORT_80_TCP_ADDR: '10.0.0.1',
      PURCHASE_WATCH_SERVICE_HOST: '10.0.0.2',
      PURCHASE_WATCH_PORT: 'tcp://10.0.0.2:80',
    };
    expect(problems(env)).toEqual([]);
  });

  test('a neighbour of a variable that is set is somebody else', () => {
    expect(problems({ DATABASE_URL: 'postgres://db/x', DATABASE_URI: 'whatever' })).toEqual([]);
    expect(problems({ SLACK_WEBHOOK_URL: 'https://hooks.slack.example/a', SLACK_URL: 'whatever' })).toEqual([]);
  });
});
