import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verify } from '../../../src/channels/outgoing/signature.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { request, startTestApi, type TestApi } from '../api.ts';

const CONFIGURED = {
  name: 'shop',
  kind: 'webhook',
  audience: 'systems',
  format: 'standard',
  types: ['purchase.stuck'],
  sites: null,
  states: [2],
  addressHash: 'x',
} as const;

describe('subscribers', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ sites: ['se', 'fi'] });
    await syncSubscribers(api.sql, [CONFIGURED]);
  });
  afterAll(() => api.stop());
  const add = (json: object) => api.call('POST', '/v1/subscribers', { json });
  const stored = (name: string) => api.sql`
    select *, (extract(epoch from now() - matching_since) * 1000)::float8 as since from purchase_watch_internal.subscribers where name = ${name} order by id`;

  test('one that is added is shown with its secret once, and without it ever after', async () => {
    const { status, body, headers } = await add({
      name: 'books',
      url: 'https://books.example/hooks/abc?token=xyz',
      types: ['purchase.state_changed', 'purchase.state_changed'],
      sites: ['se'],
      states: ['Completed', 77],
      description: 'The ledger',
    });
    expect([status, headers.get('location')]).toEqual([201, '/v1/subscribers/books']);
    expect(body).toMatchObject({
      name: 'books',
      kind: 'webhook',
      origin: 'api',
      url: 'https://books.example/…',
      types: ['purchase.state_changed'],
      sites: ['se'],
      states: ['Completed', 77],
      description: 'The ledger',
      status: 'active',
      statusReason: null,
    });
    expect(Buffer.from(body.secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
    const { secret, ...rest } = body;
    const read = await api.call('GET', '/v1/subscribers/books');
    expect([read.status, read.body]).toEqual([200, rest]);
    const list = await api.call('GET', '/v1/subscribers');
    expect(list.body.data.map(({ name, origin }: { name: string; origin: string }) => [name, origin])).toEqual([
      ['shop', 'configuration'],
      ['books', 'api'],
    ]);
    expect(list.text + read.text).not.toContain(secret);
  });

  test('neither address nor secret lies in the database in the clear, and a ciphertext opens only in its own row', async () => {
    await add({ name: 'first', url: 'https://first.example/private-path' });
    await add({ name: 'second', url: 'https://second.example/private-path' });
    const [row] = await api.sql`select s::text as text from purchase_watch_internal.subscribers s where name = 'first'`;
    expect(row!.text).not.toContain('private-path');
    expect(row!.text).not.toContain(Buffer.from('private-path').toString('hex'));
    await api.sql`
      update purchase_watch_internal.subscribers set url = (select url from purchase_watch_internal.subscribers where name = 'first') where name = 'second'`;
    const { body } = await api.call('GET', '/v1/subscribers/second');
    expect([body.url, body.statusReason]).toEqual([null, expect.stringContaining('SECRETS_KEY')]);
    const rotated = await api.call('POST', '/v1/subscribers/second/rotate-secret');
    expect([rotated.status, rotated.body.code]).toEqual([409, 'secrets_key_wrong']);
  });

  test.each<[string, object, string, RegExp]>([
    ['no name', { url: 'https://a.example' }, 'name', /is missing/],
    ['a name of capitals', { name: 'Shop', url: 'https://a.example' }, 'name', /small letters/],
    ['the name of Slack', { name: '@slack', url: 'https://a.example' }, 'name', /small letters/],
    ['no address', { name: 'a' }, 'url', /is missing/],
    ['an address with a password', { name: 'a', url: 'https://u:p@a.example' }, 'url', /without credentials/],
    [
      'an address of this machine',
      { name: 'a', url: 'https://127.0.0.1/x' },
      'url',
      /not a public address \(loopback\).*WEBHOOK_API_ALLOW/,
    ],
    ['one of this machine in disguise', { name: 'a', url: 'https://[::ffff:7f00:1]/x' }, 'url', /not a public address/],
    ['the name of this machine as a name server has it', { name: 'a', url: 'https://localhost./' }, 'url', /is this machine/],
    ['the metadata of a cloud', { name: 'a', url: 'https://169.254.169.254/' }, 'url', /not a public address/],
    ['an address without encryption', { name: 'a', url: 'http://a.example' }, 'url', /must begin with https/],
    ['a short secret', { name: 'a', url: 'https://a.example', secret: 'whsec_c2hvcnQ=' }, 'secret', /24 to 64 bytes/],
    [
      'an unknown type',
      { name: 'a', url: 'https://a.example', types: ['purchase.stuk'] },
      'types[0]',
      /did you mean purchase.stuck/,
    ],
    ['no types', { name: 'a', url: 'https://a.example', types: [] }, 'types', /is empty/],
    ['an unknown site', { name: 'a', url: 'https://a.example', sites: ['sv'] }, 'sites[0]', /did you mean se/],
    ['an unknown state', { name: 'a', url: 'https://a.example', states: ['Complete'] }, 'states[0]', /did you mean Completed/],
    ['a message broker', { name: 'a', url: 'amqps://u:p@mq.example' }, 'url', /leads to RabbitMQ: .* in the settings file only/],
    ['a scheme that every object has', { name: 'a', url: 'constructor://a.example' }, 'url', /must be an http or https address/],
    ['another format', { name: 'a', url: 'https://a.example', format: 'xml' }, 'format', /must be standard or cloudevents/],
    ['headers as a list', { name: 'a', url: 'https://a.example', headers: ['X-A: u:p@'] }, 'headers', /must be an object/],
    ['a number as a header', { name: 'a', url: 'https://a.example', headers: { 'X-A': 7 } }, 'headers.X-A', /must be text/],
    ['a header of ours', { name: 'a', url: 'https://a.example', headers: { 'CE-Id': 'u:p@' } }, 'headers.CE-Id', /CloudEvents/],
    [
      'a line break in one',
      { name: 'a', url: 'https://a.example', headers: { 'X-A': 'u:p@\r\nX-B: c' } },
      'headers.X-A',
      /Latin-1/,
    ],
    ['one header twice', { name: 'a', url: 'https://a.example', headers: { A: '1', a: '2' } }, 'headers.a', /same header as A/],
    ['a key that is no answer', { name: 'a', url: 'https://a.example', asymmetric: 'yes' }, 'asymmetric', /true or false/],
    ['a field nobody knows', { name: 'a', url: 'https://a.example', sits: ['se'] }, 'sits', /did you mean sites/],
  ])('%s is refused, naming the field', async (_, json, field, detail) => {
    const { status, body, text } = await add(json);
    expect([status, body.errors[0].field]).toEqual([400, field]);
    expect(body.errors[0].detail).toMatch(detail);
    expect(text).not.toMatch(/u:p@|c2hvcnQ/);
  });

  test('a name in use is refused, and one that the configuration formerly used is free', async () => {
    for (const name of ['shop', 'books']) {
      const { status, body } = await add({ name, url: 'https://a.example' });
      expect([status, body.code]).toEqual([409, 'subscriber_exists']);
    }
    await syncSubscribers(api.sql, [CONFIGURED, { ...CONFIGURED, name: 'former' }]);
    await api.sql`update purchase_watch_internal.subscribers set unnamed_since = now() where name = 'former'`;
    expect((await add({ name: 'former', url: 'https://a.example' })).status).toBe(201);
  });

  test('of two that add the same name at once, one is told so', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => add({ name: 'contested', url: 'https://a.example' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test('a change leaves alone what it does not name, and says since when the filters are so', async () => {
    await add({ name: 'changing', url: 'https://a.example/x', types: ['purchase.stuck'], states: [2] });
    await api.sql`update purchase_watch_internal.subscribers set matching_since = now() - interval '1 hour' where name = 'changing'`;
    const change = (json: object) => api.call('PATCH', '/v1/subscribers/changing', { json });
    expect((await change({ description: 'new', url: 'https://b.example' })).body).toMatchObject({
      url: 'https://b.example',
      description: 'new',
      types: ['purchase.stuck'],
      states: ['Completed'],
    });
    expect((await stored('changing'))[0]!.since).toBeGreaterThan(3_500_000);
    expect((await change({ types: null, sites: ['fi'] })).body).toMatchObject({
      types: null,
      sites: ['fi'],
      states: ['Completed'],
    });
    expect((await stored('changing'))[0]!.since).toBeLessThan(60_000);
    expect((await change({ status: 'off' })).body).toMatchObject({ status: 'off', statusReason: 'It was switched off by hand.' });
    expect((await change({ status: 'active' })).body).toMatchObject({ status: 'active', statusReason: null });
    expect((await change({ status: 'paused' })).body.errors[0].field).toBe('status');
    expect((await change({ secret: 'x' })).body.errors[0].field).toBe('secret');
  });

  test('headers and a signing key are stored encrypted and shown without what is secret', async () => {
    const headers = { Authorization: 'Bearer private-token', 'X-Team': 'private-team' };
    const added = await add({ name: 'extras', url: 'https://a.example', headers, asymmetric: true, format: 'cloudevents' });
    expect(added.body).toMatchObject({
      headers: ['Authorization', 'X-Team'],
      publicKey: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
      format: 'cloudevents',
    });
    expect(added.text).not.toMatch(/private-|whsk_/);
    const [row] = await api.sql`select s::text as text from purchase_watch_internal.subscribers s where name = 'extras'`;
    for (const secret of ['private-token', 'private-team', 'whsk_']) {
      expect(row!.text).not.toContain(secret);
      expect(row!.text).not.toContain(Buffer.from(secret).toString('hex'));
    }
    const change = async (json: object) => (await api.call('PATCH', '/v1/subscribers/extras', { json })).body;
    expect(await change({ description: 'x', url: 'https://a.example/b' }), 'left alone').toMatchObject({
      headers: ['Authorization', 'X-Team'],
      publicKey: added.body.publicKey,
      format: 'cloudevents',
    });
    expect(await change({ asymmetric: true })).toMatchObject({ publicKey: added.body.publicKey });
    expect(await change({ headers: { 'X-B': 'c' } })).toMatchObject({ headers: ['X-B'], publicKey: added.body.publicKey });
    expect(await change({ asymmetric: false, format: 'standard' })).toMatchObject({ headers: ['X-B'], publicKey: null });
    expect((await stored('extras'))[0]!.options).not.toBeNull();
    expect(await change({ headers: null })).toMatchObject({ headers: [], publicKey: null, format: 'standard' });
    expect((await stored('extras'))[0]!.options).toBeNull();
    expect((await change({ asymmetric: true })).publicKey).not.toBe(added.body.publicKey);
  });

  test('of changes at once none is lost, and every one is told to the daemons', async () => {
    await add({ name: 'busy', url: 'https://a.example' });
    const [before] = await stored('busy');
    const changes = [
      { headers: { 'X-A': 'b' } },
      { asymmetric: true },
      { format: 'cloudevents' },
      { url: 'https://a.example/c' },
    ];
    await Promise.all(changes.map((json) => api.call('PATCH', '/v1/subscribers/busy', { json })));
    expect((await api.call('GET', '/v1/subscribers/busy')).body).toMatchObject({
      headers: ['X-A'],
      publicKey: expect.stringMatching(/^whpk_/),
      format: 'cloudevents',
      url: 'https://a.example/…',
    });
    expect((await stored('busy'))[0]!.addressHash).not.toBe(before!.addressHash);
  });

  test('what was encrypted with another key cannot be changed in part', async () => {
    await add({ name: 'locked', url: 'https://a.example', headers: { 'X-A': 'b' } });
    const other = await startTestApi({ sql: api.sql, secrets: createSecrets('another key of many characters') });
    const { status, body } = await other.call('PATCH', '/v1/subscribers/locked', { json: { asymmetric: true } });
    expect([status, body.code]).toEqual([409, 'secrets_key_wrong']);
    await other.stop();
  });

  test('those of the configuration are changed there', async () => {
    for (const [method, path] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
    ] as const) {
      const { status, body } = await api.call(
        method,
        `/v1/subscribers/shop${path}`,
        method === 'PATCH' ? { json: { status: 'off', types: null } } : {},
      );
      expect([status, body.code]).toEqual([409, 'subscriber_configured']);
      expect(body.detail).toMatch(/change subscribers\.shop in the settings file \(PURCHASE_WATCH_CONFIG\) and restart/);
    }
  });

  test('those of the configuration are switched off and on here, which their daemon keeps when it starts again', async () => {
    await api.sql`insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, paused_until)
      select id, 5, 2, now() + interval '1 hour' from purchase_watch_internal.subscribers where name = 'shop' and configured`;
    const patch = (status: string) => api.call('PATCH', '/v1/subscribers/shop', { json: { status } });
    expect((await patch('off')).body).toMatchObject({ status: 'off', statusReason: 'It was switched off by hand.' });
    await syncSubscribers(api.sql, [CONFIGURED]);
    expect((await api.call('GET', '/v1/subscribers/shop')).body).toMatchObject({ status: 'off' });
    expect((await patch('active')).body).toMatchObject({ status: 'active', statusReason: null, health: { status: 'ok' } });
  });

  test('one that is removed is not there any more, keeps nothing secret, and leaves its name', async () => {
    await add({ name: 'leaving', url: 'https://a.example' });
    expect((await api.call('DELETE', '/v1/subscribers/leaving')).status).toBe(204);
    for (const method of ['GET', 'DELETE', 'PATCH']) {
      const { status, body } = await api.call(method, '/v1/subscribers/leaving', method === 'PATCH' ? { json: {} } : {});
      expect([status, body.code]).toEqual([404, 'subscriber_not_found']);
    }
    expect((await add({ name: 'leaving', url: 'https://b.example' })).status).toBe(201);
    expect((await stored('leaving')).map(({ url, deletedAt }) => [url !== null, deletedAt !== null])).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  test('the configuration wins a name, and nothing of the API is left in the row', async () => {
    await add({ name: 'taken', url: 'https://a.example', asymmetric: true });
    await syncSubscribers(api.sql, [CONFIGURED, { ...CONFIGURED, name: 'taken' }]);
    expect((await api.call('GET', '/v1/subscribers/taken')).body).toMatchObject({
      origin: 'configuration',
      url: null,
      types: ['purchase.stuck'],
    });
    expect(await stored('taken')).toMatchObject([{ url: null, keys: null, options: null }]);
  });

  test('a key that may only read changes nothing', async () => {
    const reading = await startTestApi({ sql: api.sql, apiKey: 'k'.repeat(20), apiReadKey: 'r'.repeat(20) });
    const headers = { authorization: `Bearer ${'r'.repeat(20)}` };
    expect((await reading.call('GET', '/v1/subscribers', { headers })).status).toBe(200);
    expect((await reading.call('POST', '/v1/subscribers/books/test', { headers })).body.code).toBe('read_only_key');
    await reading.stop();
  });

  test('without a key to encrypt with, nothing secret is stored, and the answer says how to make one', async () => {
    const keyless = await startTestApi({ sql: api.sql, secrets: null, sites: ['se'] });
    const { status, body } = await keyless.call('POST', '/v1/subscribers', { json: { name: 'poor', url: 'https://a.example' } });
    expect([status, body.code]).toEqual([409, 'secrets_key_missing']);
    expect(body.detail).toMatch(/SECRETS_KEY.*openssl rand -base64 32/);
    expect(await stored('poor')).toEqual([]);
    await keyless.stop();
  });
});

describe('with a daemon', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp({ realClock: true, env: { SECRETS_KEY: 'an encryption key of many characters' } });
    await t.app.start();
  });
  afterAll(() => t.stop());
  const call = (method: string, path: string, options?: Parameters<typeof request>[2]) =>
    request(t.app.url() + path, method, options);

  test('one that is added is told at once, verified by its secret, and one that is removed is not', async () => {
    const receiver = await startReceiver();
    const { body } = await call('POST', '/v1/subscribers', { json: { name: 'new', url: `${receiver.url}?token=1` } });
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    const [event] = await receiver.waitFor((received) => received.length === 1);
    const { Webhook } = await import('standardwebhooks');
    expect(new Webhook(body.secret).verify(event!.body, event!.headers as Record<string, string>)).toMatchObject({
      data: { purchaseId: purchase },
    });
    expect((await call('DELETE', '/v1/subscribers/new')).status).toBe(204);
    t.simulator.control.setState(purchase, 'Completed');
    await call('POST', `/v1/purchases/${purchase}/poll?wait=5s`);
    await t.receiver.waitFor(() => t.changesOf(purchase).length === 2);
    expect(receiver.received).toHaveLength(1);
    const pending = () =>
      t.app
        .sql`select s.name from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber where d.status = 'pending'`;
    // What was received is settled a moment later.
    await expect.poll(pending, { interval: 20 }).toEqual([]);
    await receiver.stop();
  });

  test('a test goes to the one tested and nobody else, and the answer tells how it went', async () => {
    const receiver = await startReceiver();
    await call('POST', '/v1/subscribers', { json: { name: 'tested', url: receiver.url, types: ['purchase.stuck'] } });
    const others = t.receiver.received.length;
    const good = await call('POST', '/v1/subscribers/tested/test?wait=10s');
    expect(good.status).toBe(200);
    expect(good.body).toMatchObject({
      status: 'delivered',
      subscriber: 'tested',
      event: { type: 'subscriber.test' },
      purchaseId: null,
      site: null,
      tries: 1,
      attempts: [{ number: 1, outcome: 'delivered', httpStatus: 200 }],
    });
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({
      id: good.body.event.id,
      type: 'subscriber.test',
      data: { subscriber: 'tested', note: expect.any(String) },
    });
    receiver.respond({ status: 503 });
    const bad = await call('POST', '/v1/subscribers/tested/test?wait=10s');
    expect(bad.body).toMatchObject({
      status: 'pending',
      attempts: [{ outcome: 'http_503' }],
      lastError: 'The receiver answered 503.',
    });
    // The failed one holds up nothing.
    expect((await call('POST', '/v1/subscribers/tested/test?wait=10s')).body.status).toBe('delivered');
    const soon = await call('POST', '/v1/subscribers/tested/test');
    expect([soon.status, soon.body.note]).toEqual([202, expect.stringContaining('?wait=10s')]);
    expect(t.receiver.received).toHaveLength(others);
    await call('DELETE', '/v1/subscribers/tested');
    await receiver.stop();
  });

  test('one that is off is sent no test, and what is scheduled for it waits', async () => {
    const receiver = await startReceiver();
    await call('POST', '/v1/subscribers', { json: { name: 'resting', url: receiver.url } });
    await call('PATCH', '/v1/subscribers/resting', { json: { status: 'off' } });
    const tested = await call('POST', '/v1/subscribers/resting/test?wait=20s');
    expect([tested.status, tested.body.code]).toEqual([409, 'subscriber_off']);
    expect(tested.body.detail).toMatch(/resting is off \(It was switched off by hand\); switch it on: .*"status": "active"/);
    expect((await call('GET', '/v1/deliveries?subscriber=resting')).body.data).toEqual([]);
    const replay = (json: object) => call('POST', '/v1/subscribers/resting/replay', { json: { since: '1h', ...json } });
    expect((await replay({ dryRun: true })).body.note).toMatch(/^They would wait: resting is off/);
    expect((await replay({})).body.note).toMatch(/^They are scheduled and wait: resting is off/);
    await call('PATCH', '/v1/subscribers/resting', { json: { status: 'active' } });
    expect((await replay({ dryRun: true })).body).not.toHaveProperty('note');
    await call('DELETE', '/v1/subscribers/resting');
    await receiver.stop();
  });

  test('while a secret is replaced both sign; afterwards only the new one', async () => {
    const receiver = await startReceiver();
    const { body } = await call('POST', '/v1/subscribers', { json: { name: 'rotating', url: receiver.url } });
    const { Webhook } = await import('standardwebhooks');
    const verifiesWith = async (): Promise<boolean[]> => {
      const before = receiver.received.length;
      await call('POST', '/v1/subscribers/rotating/test?wait=10s');
      const event = receiver.received[before]!;
      return [body.secret, rotated.body.secret].map((secret) => {
        try {
          new Webhook(secret).verify(event.body, event.headers as Record<string, string>);
          return true;
        } catch {
          return false;
        }
      });
    };
    let rotated = await call('POST', '/v1/subscribers/rotating/rotate-secret', { json: { overlap: '1h' } });
    expect(rotated.status).toBe(200);
    expect(Date.parse(rotated.body.oldSecretsUntil) - Date.now()).toBeGreaterThan(3_500_000);
    await expect.poll(verifiesWith).toEqual([true, true]);
    rotated = await call('POST', '/v1/subscribers/rotating/rotate-secret', { json: { overlap: '0' } });
    expect(rotated.body.oldSecretsUntil).toBeNull();
    await expect.poll(verifiesWith).toEqual([false, true]);
    await call('DELETE', '/v1/subscribers/rotating');
    await receiver.stop();
  });

  test('its own headers, signing key and format count from the next attempt on', async () => {
    const receiver = await startReceiver();
    const headers = { Authorization: 'Bearer of-nobody-else', 'X-Team': 'checkout' };
    const added = await call('POST', '/v1/subscribers', {
      json: { name: 'extras', url: receiver.url, headers, asymmetric: true },
    });
    receiver.respond({ status: 500, body: 'not for of-nobody-else' });
    const test = () => call('POST', '/v1/subscribers/extras/test?wait=20s');
    const failed = await test();
    const first = receiver.received[0]!;
    expect(first.headers).toMatchObject({ authorization: 'Bearer of-nobody-else', 'x-team': 'checkout' });
    const signed = {
      id: String(first.headers['webhook-id']),
      timestamp: String(first.headers['webhook-timestamp']),
      signature: String(first.headers['webhook-signature']),
    };
    expect(signed.signature.split(' ').map((part) => part.split(',')[0])).toEqual(['v1', 'v1a']);
    expect(verify(first.body, signed, { keys: [], publicKeys: [added.body.publicKey], now: first.at })).toBeNull();
    expect(failed.body.attempts[0].excerpt).toBe('not for [hidden]');
    expect(failed.text).not.toContain('of-nobody-else');
    // A caller with `operate` cannot have the headers sent to an address of its own.
    const thief = await startReceiver();
    const theft = await call('PATCH', '/v1/subscribers/extras', { json: { url: thief.url } });
    expect([theft.status, theft.body.code]).toEqual([409, 'headers_not_given']);
    const seen = receiver.received.length;
    await test();
    expect([receiver.received.length > seen, thief.received]).toEqual([true, []]);
    await thief.stop();
    await call('PATCH', '/v1/subscribers/extras', { json: { headers: null, asymmetric: false, format: 'cloudevents' } });
    const changed = () =>
      receiver.received.find(({ headers: got }) => String(got['content-type']).startsWith('application/cloudevents+json'));
    // The daemon hears of the change a moment later.
    await expect
      .poll(async () => {
        await test();
        return changed();
      })
      .toBeDefined();
    const last = changed()!;
    expect(last.headers).not.toHaveProperty('authorization');
    expect(String(last.headers['webhook-signature'])).not.toContain('v1a,');
    expect(JSON.parse(last.body)).toMatchObject({ specversion: '1.0', type: 'subscriber.test', data: { subscriber: 'extras' } });
    await call('DELETE', '/v1/subscribers/extras');
    await receiver.stop();
  });

  test('one that 410 switched off is sent what waits when it is switched on again', async () => {
    const receiver = await startReceiver();
    await call('POST', '/v1/subscribers', { json: { name: 'gone', url: receiver.url } });
    receiver.respond({ status: 410 });
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await expect.poll(async () => (await call('GET', '/v1/subscribers/gone')).body.status).toBe('off');
    expect((await call('GET', '/v1/subscribers/gone')).body.statusReason).toMatch(/410/);
    const waiting = async () => (await call('GET', `/v1/deliveries?subscriber=gone&purchase=${purchase}`)).body.data;
    await expect.poll(waiting).toMatchObject([{ status: 'parked', tries: 1 }]);
    await call('PATCH', '/v1/subscribers/gone', { json: { status: 'active' } });
    await receiver.waitFor((received) => received.length === 2);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    await call('DELETE', '/v1/subscribers/gone');
    await receiver.stop();
  });

  test('a change of address counts from the next attempt on', async () => {
    const [before, after] = [await startReceiver(), await startReceiver()];
    await call('POST', '/v1/subscribers', { json: { name: 'moving', url: before.url } });
    expect((await call('POST', '/v1/subscribers/moving/test?wait=10s')).body.status).toBe('delivered');
    await call('PATCH', '/v1/subscribers/moving', { json: { url: after.url } });
    await expect
      .poll(async () => {
        await call('POST', '/v1/subscribers/moving/test?wait=10s');
        return after.received.length;
      })
      .toBeGreaterThan(0);
    await call('DELETE', '/v1/subscribers/moving');
    await Promise.all([before.stop(), after.stop()]);
  });

  test('Slack is listed without its address and cannot be tested this way', async () => {
    const { body } = await call('GET', '/v1/subscribers/@slack');
    expect(body).toMatchObject({ kind: 'slack', origin: 'configuration', url: null });
    expect((await call('POST', '/v1/subscribers/@slack/test')).body.detail).toMatch(/slack test/);
    expect((await call('GET', '/v1/subscribers/default')).body.url).toBe(`${t.receiver.origin}/…`);
  });
});
