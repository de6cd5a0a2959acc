/** Subscribers of the settings file: webhooks with all they may have, and message brokers. */
import { describe, expect, test } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { newSigningKey } from '../../src/config/kinds/signing-key.ts';
import { subscriberUrl } from '../../src/config/kinds/subscriber-kinds.ts';
import { makeAuthority, makeWeakPair } from '../support/certificates.ts';
import { makeNkey, makeOperator } from '../support/nats-logins.ts';
import { loadFile, problemsOf, SIGNING_SECRET } from './files.ts';

const SIGNING_KEY = newSigningKey();
const load = (subscriber: object, env: NodeJS.ProcessEnv = {}) =>
  loadFile(JSON.stringify({ subscribers: { shop: subscriber } }), env);
const problems = (subscriber: object, env: NodeJS.ProcessEnv = {}) => problemsOf(() => load(subscriber, env));
const WEBHOOK = { url: 'https://shop.example/hooks', secret: SIGNING_SECRET };
const NKEY_SEED = makeNkey().seed;
const RABBIT = { url: 'amqp://mq.example', exchange: 'events' };

test('a webhook may have headers, another format, a certificate and a key of its own', () => {
  const { certificate, key } = makeAuthority().issue('shop');
  const further = {
    signingKey: SIGNING_KEY,
    format: 'cloudevents',
    headers: { Authorization: 'Bearer hush', 'X-Team': 'Åsa & co' },
    clientCertificate: certificate,
    clientKey: key,
  };
  expect(load({ ...WEBHOOK, ...further }).subscribers).toMatchObject([{ kind: 'webhook', ...WEBHOOK, ...further }]);
});

test.each(['tls://nats.example', 'amqps://mq.example'])('a broker with TLS may be shown a certificate: %s', (url) => {
  const { certificate, key } = makeAuthority().issue('shop');
  const pair = { clientCertificate: certificate, clientKey: key };
  const exchange = url.startsWith('amqps') ? { exchange: 'events' } : {};
  expect(load({ url, ...exchange, ...pair }).subscribers).toMatchObject([pair]);
  expect(problems({ url: url.replace('s://', '://').replace('tl://', 'nats://'), ...exchange, ...pair })).toEqual([
    expect.stringMatching(/^subscribers\.shop\.clientCertificate: is shown with TLS only .* and url is (?:nats|amqp);/),
  ]);
});

test('a certificate that TLS refuses is told before anything is sent', () => {
  const { certificate, key } = makeWeakPair();
  expect(problems({ ...WEBHOOK, clientCertificate: certificate, clientKey: key })).toEqual([
    expect.stringMatching(/^subscribers\.shop\.clientCertificate: is refused by TLS here \(not shown\)/),
  ]);
});

test('an address is shown with the host it has, whatever stands in its path, and refused as it is shown', () => {
  expect(subscriberUrl.write('https://hooks.example/@team/x?token=hush')).toBe('https://hooks.example/…');
  expect(subscriberUrl.write('amqps://me:hush@mq1.example,mq2.example/a@b')).toBe('amqps://mq1.example,mq2.example/…');
  expect(problems({ ...WEBHOOK, url: 'https://shop.example/…' })).toEqual([
    'subscribers.shop.url: "https://shop.example/…" is shortened, as addresses are shown; write the whole address',
  ]);
});

test('a .creds file of NATS comes as it is', () => {
  const credentials = makeOperator().creds('books').trim();
  expect(load({ url: 'nats://nats.example', credentials: `\${CREDS}` }, { CREDS: credentials }).subscribers).toMatchObject([
    { credentials },
  ]);
});

test.each([
  [{ url: 'nats://me:hush@n1.example:4222,n2.example:99999' }],
  [{ url: 'nats://me:hush@n1.example,,n2.example' }],
  [{ url: 'nats://me:hush@n1.example,other:hush@n2.example:99999' }],
])('a list of servers that cannot be read is told without its password: %j', (written) => {
  const [problem] = problems(written);
  expect(problem).toMatch(/^subscribers\.shop\.url: /);
  expect(problem).not.toContain('hush');
});

test.each([
  [{ url: 'nats://me:hush@nats.example', credentials: NKEY_SEED }, /credentials: is there while url holds a user or a token/],
  [{ url: 'nats://nats.example', credentials: 'hush' }, /credentials: .*not shown.* is not the content of a \.creds file/],
  [{ ...RABBIT, credentials: NKEY_SEED }, /credentials: is for NATS/],
])('credentials that do not fit are told without showing them: %j', (written, told) => {
  const [problem] = problems(written);
  expect(problem).toMatch(told);
  expect(problem).not.toMatch(/hush|SUA/);
});

test.each([
  [{ url: 'nats://me:hush@nats.example:4222' }, { kind: 'nats', secret: null, subject: 'purchase-watch.{type}' }],
  [
    { url: 'tls://nats.example', subject: 'shop.{site}.{type}', secret: SIGNING_SECRET },
    { kind: 'nats', secret: SIGNING_SECRET },
  ],
  [{ url: 'nats://me:hush@n1.example:4222,n2.example,[::1]:4223' }, { kind: 'nats' }],
  [{ ...RABBIT, url: 'amqps://me:p%40ss@mq1.example,mq2.example:5671/%2F' }, { kind: 'rabbitmq' }],
  [{ ...RABBIT, url: 'amqps://me:hush@mq1.example,mq2.example/shop@home' }, { kind: 'rabbitmq' }],
  [{ url: 'tls://token@n1.example,n2.example' }, { kind: 'nats' }],
  [
    { url: 'nats://nats.example', credentials: NKEY_SEED },
    { kind: 'nats', credentials: NKEY_SEED },
  ],
  [RABBIT, { kind: 'rabbitmq', exchange: 'events', routingKey: '{type}' }],
  [
    { ...RABBIT, url: 'amqps://me:p%40ss@mq.example/%2F', routingKey: '', format: 'cloudevents' },
    { kind: 'rabbitmq', routingKey: '' },
  ],
])('a broker is told by its scheme: %j', (written, meant) => {
  expect(load(written).subscribers).toMatchObject([{ ...written, ...meant }]);
});

test('secrets come from the environment and its files, also into headers and certificates', () => {
  const { certificate, key } = makeAuthority().issue('shop');
  const [settings] = load(
    { ...WEBHOOK, headers: { Authorization: `Bearer \${TOKEN}` }, clientCertificate: `\${CERT}`, clientKey: `\${CERT_KEY}` },
    { TOKEN: 'hush', CERT: certificate, CERT_KEY: key },
  ).subscribers;
  expect(settings).toMatchObject({ headers: { Authorization: 'Bearer hush' }, clientCertificate: certificate, clientKey: key });
});

test('old secrets stand beside the new one while it is replaced', () => {
  const old = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  expect(load({ ...WEBHOOK, oldSecrets: [`\${OLD}`] }, { OLD: old }).subscribers).toMatchObject([{ oldSecrets: [old] }]);
  expect(load({ ...RABBIT, secret: SIGNING_SECRET, oldSecrets: [old] }).subscribers).toMatchObject([{ oldSecrets: [old] }]);
});

describe('what is wrong', () => {
  test.each<[string, object, RegExp]>([
    ['a webhook without a secret', { url: WEBHOOK.url }, /^subscribers\.shop\.secret: is missing; expected whsec_/],
    [
      'old secrets of nobody',
      { ...RABBIT, oldSecrets: [SIGNING_SECRET] },
      /^subscribers\.shop\.oldSecrets: is there while secret is missing/,
    ],
    [
      'an old secret that is the new one',
      { ...WEBHOOK, oldSecrets: [SIGNING_SECRET] },
      /^subscribers\.shop\.oldSecrets: holds the same secret twice/,
    ],
    [
      'an old secret that is none',
      { ...WEBHOOK, oldSecrets: ['whsec_hush'] },
      /^subscribers\.shop\.oldSecrets\[0\]: its value \(not shown\) is not whsec_/,
    ],
    ['an exchange for RabbitMQ', { url: 'amqp://mq.example' }, /^subscribers\.shop\.exchange: is missing; expected the exchange/],
    [
      'another scheme',
      { ...WEBHOOK, url: 'kafka://k.example' },
      /^subscribers\.shop\.url: "kafka:\/\/k\.example" is not an http or https address .* or a broker/,
    ],
    ['a broker without a host', { url: 'nats:///x' }, /^subscribers\.shop\.url: /],
    ['a percent sign that is none', { url: 'nats://me:100%@nats.example' }, /^subscribers\.shop\.url: "…@nats\.example" is not/],
    [
      'credentials of a webhook',
      { ...WEBHOOK, url: 'https://me:hush@shop.example' },
      /^subscribers\.shop\.url: "…@shop\.example" is not/,
    ],
    [
      'a subject of a webhook',
      { ...WEBHOOK, subject: 'a' },
      /^subscribers\.shop\.subject: is for NATS \(nats, tls\) only, and url leads to a webhook; leave it out$/,
    ],
    [
      'an exchange of NATS',
      { url: 'nats://n.example', exchange: 'a' },
      /^subscribers\.shop\.exchange: is for RabbitMQ .* url leads to NATS/,
    ],
    [
      'headers of NATS',
      { url: 'nats://n.example', headers: { 'X-A': 'b' } },
      /^subscribers\.shop\.headers: is for webhooks .* url leads to NATS/,
    ],
    [
      'a certificate for RabbitMQ',
      { ...RABBIT, clientKey: '-----BEGIN PRIVATE KEY-----' },
      /^subscribers\.shop\.clientCertificate: is missing while clientKey is set/,
    ],
    [
      'another format',
      { ...WEBHOOK, format: 'cloudevent' },
      /^subscribers\.shop\.format: "cloudevent" is not one of standard, cloudevents \(did you mean cloudevents\?\)/,
    ],
    [
      'a wildcard in a subject',
      { url: 'nats://n.example', subject: 'a.*' },
      /^subscribers\.shop\.subject: "a\.\*" is not a subject/,
    ],
    [
      'a subject of the server',
      { url: 'nats://n.example', subject: '$SYS.a' },
      /^subscribers\.shop\.subject: .* is not a subject/,
    ],
    [
      'an unknown placeholder',
      { url: 'nats://n.example', subject: 'a.{id}' },
      /^subscribers\.shop\.subject: .* placeholders \{type\} and \{site\}/,
    ],
    [
      'an unknown placeholder of a routing key',
      { ...RABBIT, routingKey: '{id}' },
      /^subscribers\.shop\.routingKey: "\{id\}" is not a routing key/,
    ],
    ['the default exchange', { ...RABBIT, exchange: '' }, /^subscribers\.shop\.exchange: "" is not the name of an exchange/],
    [
      'a header of ours',
      { ...WEBHOOK, headers: { 'Webhook-Id': 'a' } },
      /^subscribers\.shop\.headers\.Webhook-Id: cannot be set: it belongs to Standard Webhooks$/,
    ],
    ['a header of the connection', { ...WEBHOOK, headers: { HOST: 'a' } }, /^subscribers\.shop\.headers\.HOST: cannot be set/],
    [
      'what is not a header name',
      { ...WEBHOOK, headers: { 'a b': 'c' } },
      /^subscribers\.shop\.headers: holds something \(not shown\) that is not a header name/,
    ],
    [
      'the same header twice',
      { ...WEBHOOK, headers: { 'X-A': '1', 'x-a': '2' } },
      /^subscribers\.shop\.headers\.x-a: is the same header as X-A/,
    ],
    [
      'a number as a header',
      { ...WEBHOOK, headers: { 'X-A': 7 } },
      /^subscribers\.shop\.headers\.X-A: its value \(not shown\) is not text of Latin-1/,
    ],
    [
      'half a pair',
      { ...WEBHOOK, clientKey: '-----BEGIN PRIVATE KEY-----' },
      /^subscribers\.shop\.clientCertificate: is missing while clientKey is set/,
    ],
    [
      'a certificate for http',
      {
        ...WEBHOOK,
        url: 'http://shop.example',
        clientKey: '-----BEGIN PRIVATE KEY-----',
        clientCertificate: '-----BEGIN CERTIFICATE-----',
      },
      /^subscribers\.shop\.clientCertificate: is shown with TLS only \(https, tls, amqps\), and url is http;/,
    ],
    [
      'a secret as a signing key',
      { ...WEBHOOK, signingKey: SIGNING_SECRET },
      /^subscribers\.shop\.signingKey: its value \(not shown\) is not whsk_/,
    ],
  ])('%s is told', (_what, subscriber, sentence) => {
    expect(problems(subscriber)).toEqual([expect.stringMatching(sentence)]);
  });

  test('everything is told at once, what is wrong by itself and what is wrong beside something else', () => {
    const wrong = {
      ...WEBHOOK,
      headers: { 'Webhook-Id': 'a', 'X-A': 7, 'X-B': 'b', 'x-b': 'c' },
      clientKey: '-----BEGIN PRIVATE KEY-----',
      subject: 'a',
    };
    expect(problems(wrong)).toEqual([
      expect.stringMatching(/headers\.X-A: its value \(not shown\) is not text of Latin-1/),
      expect.stringMatching(/headers\.Webhook-Id: cannot be set/),
      expect.stringMatching(/shop\.subject: is for NATS/),
      expect.stringMatching(/headers\.x-b: is the same header as X-B/),
      expect.stringMatching(/clientCertificate: is missing while clientKey is set/),
    ]);
    expect(problems({ url: 'kafka://k.example', secret: 'whsec_hush', clientKey: '-----BEGIN PRIVATE KEY-----' })).toEqual([
      expect.stringMatching(/shop\.url: "kafka:/),
      expect.stringMatching(/shop\.secret: its value/),
      expect.stringMatching(/clientCertificate: is missing while clientKey is set/),
    ]);
  });

  test('a problem of one subscriber hides none of another, nor one between the settings', () => {
    const file = { subscribers: { shop: { ...WEBHOOK, format: 'xml' }, till: { ...WEBHOOK, sites: ['sv'] }, default: WEBHOOK } };
    const lines = problemsOf(() => loadFile(JSON.stringify(file), { WEBHOOK_URL: WEBHOOK.url, WEBHOOK_SECRET: SIGNING_SECRET }));
    expect(lines).toEqual([
      expect.stringMatching(/^subscribers\.shop\.format: /),
      expect.stringMatching(/^subscribers\.default: WEBHOOK_URL makes a subscriber of the same name/),
      expect.stringMatching(/^subscribers\.till\.sites\[0\]: "sv" is not a site/),
    ]);
  });

  test('a value in the place of a header, or of its name, is not repeated', () => {
    const lines = [
      ...problems({ ...WEBHOOK, headers: { 'Bearer hush': null, 'hush/1': 'x' } }),
      ...problems({ ...WEBHOOK, headers: { 'Bearer hush': `\${NOBODY}` } }),
      ...problems({ ...WEBHOOK, headers: 'Bearer hush' }),
    ];
    expect(lines.join('\n')).not.toContain('hush');
    expect(lines.filter((line) => line.includes('holds something (not shown) that is not a header name'))).toHaveLength(2);
  });

  test('secrets are never part of it', () => {
    const lines = problems({
      url: 'amqp://me:hush%@mq.example',
      secret: 'whsec_hush',
      signingKey: 'whsk_hush',
      headers: { 'X-A': 'hush\n', 'X-B': 'hush☃' },
      clientCertificate: 'hush',
      clientKey: 'hush',
    });
    expect(lines).toHaveLength(7);
    expect(lines.join('\n')).not.toContain('hush');
  });

  test('a pair that cannot be read, or is of two, is told', () => {
    const authority = makeAuthority();
    const [one, two] = [authority.issue('one'), authority.issue('two')];
    const of = (clientCertificate: string, clientKey: string) => problems({ ...WEBHOOK, clientCertificate, clientKey });
    expect(of(one.certificate, one.key)).toEqual([]);
    expect(of(one.certificate + authority.certificate, one.key), 'with its chain').toEqual([]);
    expect(of(one.certificate, two.key)).toEqual([
      'subscribers.shop.clientKey: does not belong to clientCertificate: they are of different key pairs',
    ]);
    const cut = (pem: string) => pem.replace(/\n.{20}/, '\n');
    const unread = of(cut(one.certificate), cut(one.key));
    expect(unread).toEqual([
      expect.stringMatching(/clientCertificate: its value \(not shown\) cannot be read/),
      expect.stringMatching(/clientKey: its value \(not shown\) cannot be read/),
    ]);
    expect(of(one.key, one.certificate)).toEqual([
      expect.stringMatching(/clientCertificate: its value \(not shown\) is not a certificate in PEM/),
      expect.stringMatching(/clientKey: its value \(not shown\) is not a private key without a passphrase in PEM/),
    ]);
  });

  test.each([
    'socks5://proxy.example',
    'proxy.example:3128',
    'http://me:hush@proxy.example/path',
    'http://me:hush@proxy.example?a',
  ])('%s is no proxy', (proxy) => {
    expect(problemsOf(() => loadFile(JSON.stringify({ webhooks: { proxy } })))).toEqual([
      expect.stringMatching(/^webhooks\.proxy: its value \(not shown\) is not the http or https address of a proxy/),
    ]);
  });
});

test('config shows which headers there are and where brokers are, and no secret', () => {
  const text = JSON.stringify([
    ...describeSettings(
      loadFile(
        JSON.stringify({
          subscribers: {
            shop: { ...WEBHOOK, headers: { Authorization: 'Bearer hush' }, signingKey: SIGNING_KEY },
            bus: { url: 'nats://me:hush@nats.example:4222' },
          },
          webhooks: { proxy: 'http://me:hush@proxy.example' },
        }),
      ),
    ),
  ]);
  expect(text).not.toMatch(/hush|whsk_|whsec_/);
  expect(JSON.parse(text)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'subscribers.shop.headers.Authorization', text: 'set' }),
      expect.objectContaining({ name: 'subscribers.shop.signingKey', text: 'set' }),
      expect.objectContaining({ name: 'subscribers.bus.url', text: 'nats://nats.example:4222' }),
      expect.objectContaining({ name: 'subscribers.bus.subject', text: 'purchase-watch.{type}', origin: 'default' }),
      expect.objectContaining({ name: 'webhooks.proxy', text: 'set (http://proxy.example)' }),
    ]),
  );
});
