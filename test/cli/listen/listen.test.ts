/** `listen` as a developer has it: a process of its own, sent to by the daemon's own channel. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSigner } from '../../../src/channels/outgoing/signature.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { runCommand } from '../run.ts';
import { changed, listener, OTHER, SECRET, sender } from './listener.ts';

test('a verified event is a line: time, type, site, purchase, sequence, from and to, with the digits of its price', async () => {
  const listening = await listener(['--secret', SECRET]);
  const send = sender(listening.url);
  expect(await send('evt_1', changed('evt_1', 1, { to: 1 }))).toMatchObject({ kind: 'delivered', httpStatus: 200 });
  await send('evt_2', changed('evt_2', 2, { from: 1 }));
  await listening.until(/#2/);
  expect(listening.out().split('\n')).toEqual([
    expect.stringMatching(
      /^\d\d:\d\d:\d\d\.\d{3}Z {2}purchase\.state_changed {2}se {2}2f1c9a7e {2}#1 {3}first seen: in the check-out form \(BeingProcessed\) {2}249\.50 SEK$/,
    ),
    expect.stringMatching(/ #2 {3}in the check-out form → completed {2}249\.50 SEK$/),
    '',
  ]);
  expect(listening.err()).not.toContain(SECRET);
  expect(await listening.end('SIGINT')).toBe(0);
  expect(listening.err()).toMatch(/^2 events in .*s$/m);
});

test('four refusals in a row are followed by what the daemon does then, once for each row', async () => {
  const listening = await listener(['--secret', SECRET, '--fail', '1']);
  const send = sender(listening.url);
  for (const id of ['evt_1', 'evt_2', 'evt_3', 'evt_4', 'evt_5', 'evt_5', 'evt_6']) await send(id, changed(id, 1));
  await listening.end('SIGINT');
  expect(listening.err().match(/^4 refusals in a row: a daemon pauses .*subscribers resume <name>$/gm)).toHaveLength(1);
});

test('a repeat, a jump and a step back are said, and what happened long ago', async () => {
  const listening = await listener(['--secret', SECRET]);
  const send = sender(listening.url);
  for (const [id, sequence] of [
    ['evt_1', 3],
    ['evt_1', 3],
    ['evt_5', 5],
    ['evt_4', 4],
    ['evt_6', 6],
  ] as const)
    await send(id, changed(id, sequence));
  await send('evt_7', changed('evt_7', 7, { at: new Date(Date.now() - 3_600_000) }));
  await listening.until(/#7/);
  const notes = listening
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => line.split('SEK')[1]);
  expect(notes).toEqual([
    '',
    '  [repeat: this id came once before, and was taken]',
    '  [sequence jumped: the last was 3]',
    '  [sequence went back: the last was 5]',
    '',
    '  [came 1 h after it happened]',
  ]);
  await listening.end('SIGTERM');
  expect(listening.err()).toMatch(/^5 events and 1 repeat in /m);
});

test('without a secret one is made and shown with what a daemon needs; it verifies', async () => {
  const listening = await listener([]);
  const [, secret] = /^ {2}export WEBHOOK_SECRET=(whsec_\S+)$/m.exec(listening.err())!;
  expect(listening.err()).toContain(`  export WEBHOOK_URL=${listening.url}\n`);
  expect(listening.err()).toContain('  export WEBHOOK_ALLOW_ADDRESSES=127.0.0.0/8\n');
  expect(await sender(listening.url, [secret!])('evt_1', changed('evt_1', 1))).toMatchObject({ kind: 'delivered' });
  expect(await listening.end('SIGINT')).toBe(0);
});

test('a secret of the environment verifies, is not shown, and yields to the option', async () => {
  const listening = await listener([], { WEBHOOK_SECRET: OTHER });
  expect(await sender(listening.url, [OTHER])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
  const both = await listener(['--secret', SECRET], { WEBHOOK_SECRET: OTHER });
  expect(await sender(both.url, [OTHER])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 401 });
  expect(listening.err() + both.err()).not.toMatch(/whsec_/);
});

test('while a secret is replaced either is enough', async () => {
  const listening = await listener(['--secret', SECRET, '--secret', OTHER]);
  expect(await sender(listening.url, [OTHER])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
  const old = await listener(['--secret', SECRET]);
  expect(await sender(old.url, [OTHER, SECRET])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
});

test('what is not verified is refused, and its reason said beside the events', async () => {
  const listening = await listener(['--secret', SECRET, '--json']);
  const send = sender(listening.url);
  const body = changed('evt_1', 1);
  expect(await sender(listening.url, [OTHER])('evt_other', body)).toMatchObject({ httpStatus: 401 });
  expect(await send('evt_old', body, Date.now() - 400_000)).toMatchObject({ httpStatus: 401 });
  expect(await send('evt_new', body, Date.now() + 400_000)).toMatchObject({ httpStatus: 401 });
  expect(await send('evt_list', '[1]')).toMatchObject({ httpStatus: 400 });
  expect(await send('evt_text', 'hello')).toMatchObject({ httpStatus: 400 });
  expect(await send('evt_deep', `{"type":"t","data":${'['.repeat(100_000)}`)).toMatchObject({ httpStatus: 400 });
  const post = (init: RequestInit) => fetch(listening.url, { method: 'POST', ...init }).then(({ status }) => status);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signed = { 'webhook-id': 'evt_changed', 'webhook-timestamp': timestamp };
  const signature = createSigner([SECRET])('evt_changed', Number(timestamp), body);
  expect(await post({ body: `${body} `, headers: { ...signed, 'webhook-signature': signature } })).toBe(401);
  expect(await post({ body: Buffer.from([0xff, 0xfe]), headers: { ...signed, 'webhook-signature': signature } })).toBe(401);
  expect(await post({ body, headers: { ...signed, 'webhook-signature': 'v1a,AAAA' } })).toBe(401);
  expect(await post({ body, headers: { ...signed, 'webhook-timestamp': 'now', 'webhook-signature': 'v1,AAAA' } })).toBe(401);
  expect(await post({ body })).toBe(401);
  expect(await post({ body, headers: { 'webhook-id': 'a friend, verified  purchase.state_changed  se' } })).toBe(401);
  await listening.end('SIGINT');
  const said = listening
    .err()
    .split('\n')
    .flatMap((line) => line.split('refused  ').slice(1));
  expect(said).toEqual([
    'evt_other: no signature matches: it was signed with another secret, or its body was changed on the way',
    expect.stringMatching(/^evt_old: it was signed 6 min 4\d s ago, and 5 min are accepted/),
    expect.stringMatching(/^evt_new: it was signed 6 min (3\d|40) s from now: compare the clocks$/),
    'evt_list: it is signed well, and is no event',
    'evt_text: it is signed well, and is no event',
    'evt_deep: it is signed well, and is no event',
    'evt_changed: no signature matches: it was signed with another secret, or its body was changed on the way',
    'evt_changed: the body is not UTF-8',
    'evt_changed: it has no v1 signature: v1a needs a public key',
    'evt_changed: webhook-timestamp is not a number of seconds',
    'it is not signed: without webhook-id, webhook-timestamp, webhook-signature',
    'an id that no event has: it is not signed: without webhook-timestamp, webhook-signature',
  ]);
  expect(listening.err()).toMatch(/^0 events in .*; 12 requests were refused$/m);
  expect(listening.out()).toBe('');
});

test('other methods, too much, and what is no HTTP are answered, and change nothing', async () => {
  const listening = await listener(['--secret', SECRET]);
  const got = await fetch(`${listening.url}any/path`);
  expect([got.status, got.headers.get('allow'), await got.text()]).toEqual([405, 'POST', 'GET /any/path: webhooks are POSTs\n']);
  expect((await fetch(listening.url, { method: 'POST', body: 'x'.repeat(1_100_000) })).status).toBe(413);
  const { hostname, port } = new URL(listening.url);
  const raw = connect({ host: hostname, port: Number(port) }).setEncoding('utf8');
  let answer = '';
  raw.on('data', (chunk) => {
    answer += chunk;
  });
  raw.write('\u0016\u0003\u0001 no HTTP\r\n\r\n');
  await once(raw, 'close');
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(await sender(`${listening.url}hooks/purchases?shop=7`)('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
});

test('--json writes the bytes that came, a line each, and nothing else', async () => {
  const listening = await listener(['--secret', SECRET, '--json', '--count', '3']);
  const send = sender(listening.url);
  const bodies = [changed('evt_1', 1), changed('evt_2', 2)];
  await send('evt_1', bodies[0]!);
  await send('evt_1', bodies[0]!);
  await send('evt_2', bodies[1]!);
  await send('evt_3', '{"type": "pretty",\n "data": {"price": 1.10}}');
  expect(await listening.end()).toBe(0);
  expect(listening.out()).toBe(`${bodies[0]}\n${bodies[0]}\n${bodies[1]}\n{"type":"pretty","data":{"price":1.10}}\n`);
});

test('--full shows the body below, with its digits', async () => {
  const listening = await listener(['--secret', SECRET, '--full', '--count', '1']);
  await sender(listening.url)('evt_1', changed('evt_1', 1));
  expect(await listening.end()).toBe(0);
  expect(listening.out()).toMatch(/#1 .*\n {4}\{\n {6}"id": "evt_1",\n[\s\S]* {8}"price": 249\.50,\n/);
});

test('--fail refuses the first tries of each event, and --answer and --delay what follows', async () => {
  const listening = await listener(['--secret', SECRET, '--fail', '2', '--count', '1', '--answer', '202', '--delay', '20ms']);
  const send = sender(listening.url);
  const statuses = [];
  for (const id of ['evt_1', 'evt_2', 'evt_1', 'evt_1']) statuses.push((await send(id, changed(id, 1))).httpStatus);
  expect(statuses).toEqual([500, 500, 500, 202]);
  expect(await listening.end()).toBe(0);
  const [, , second, third] = listening.out().split('\n');
  expect(second).toMatch(/SEK {2}\[try 2\] {2}\[answered 500: 2nd try, and 2 are to fail\]$/);
  expect(third).toMatch(/SEK {2}\[try 3\] {2}\[answered 202\]$/);
  expect(listening.err()).toMatch(/^2 events and 2 further tries in /m);
});

test('a sender that does not wait for a delayed answer is said, and the end does not wait for it', async () => {
  const listening = await listener(['--secret', SECRET, '--delay', '1h']);
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1_000)) };
  const body = changed('evt_1', 1);
  const signature = createSigner([SECRET])('evt_1', Number(headers['webhook-timestamp']), body);
  const init = { method: 'POST', body, headers: { ...headers, 'webhook-signature': signature } };
  await expect(fetch(listening.url, { ...init, signal: AbortSignal.timeout(2_000) })).rejects.toThrow();
  await listening.until(/\[answered 503: the sender did not wait so long\]/);
  const waiting = fetch(listening.url, init).then(({ status }) => status);
  // Who asks after it is answered at once: by then it was read.
  for (let asked = 0; asked < 5; asked++) expect((await fetch(listening.url)).status).toBe(405);
  expect(await listening.end('SIGINT')).toBe(0);
  expect(await waiting).toBe(503);
});

describe('--forward', () => {
  let app: Receiver;
  beforeAll(async () => {
    app = await startReceiver({ secret: SECRET });
  });
  afterAll(() => app.stop());

  test('passes on the same bytes and headers, and answers what was answered there', async () => {
    const listening = await listener(['--secret', SECRET, '--forward', app.url.replace('http://', '')]);
    const send = sender(listening.url);
    app.respond({ status: 201, body: 'kept' }, { status: 503, headers: { 'retry-after': '7' }, body: 'busy' });
    expect(await send('evt_1', changed('evt_1', 1))).toMatchObject({ kind: 'delivered', httpStatus: 201, excerpt: 'kept' });
    expect(await send('evt_2', changed('evt_2', 2))).toMatchObject({ httpStatus: 503, retryAfter: 7_000, excerpt: 'busy' });
    expect(app.received.map(({ body, verified }) => [body, verified])).toEqual([
      [changed('evt_1', 1, { at: new Date(JSON.parse(app.received[0]!.body).timestamp) }), true],
      [expect.stringContaining('"sequence":2'), true],
    ]);
    expect(app.received[0]!.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'purchase-watch/test' });
    await listening.until(/\[answered 503: from http:\/\/127/);
    expect(await sender(listening.url, [OTHER])('evt_3', changed('evt_3', 3))).toMatchObject({ httpStatus: 401 });
    expect(app.received).toHaveLength(2);
  });

  test('says that nobody is there', async () => {
    const gone = await startReceiver();
    await gone.stop();
    const listening = await listener(['--secret', SECRET, '--forward', gone.url]);
    expect(await sender(listening.url)('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 502 });
    await listening.until(/\[answered 502: http:\/\/127.*: ECONNREFUSED\]/);
  });
});

test('a public key verifies v1a, beside a secret or alone', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const own = `whsk_${privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32).toString('base64')}`;
  const known = `whpk_${publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`;
  const alone = await listener(['--public-key', known]);
  expect(await sender(alone.url, [own])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
  expect(await sender(alone.url, [SECRET])('evt_2', changed('evt_2', 2))).toMatchObject({ httpStatus: 401 });
  await alone.until(/evt_2: it has no v1a signature: v1 needs a secret/);
  const both = await listener(['--public-key', known, '--secret', SECRET]);
  expect(await sender(both.url, [SECRET])('evt_1', changed('evt_1', 1))).toMatchObject({ httpStatus: 200 });
  expect(await sender(both.url, [OTHER, own])('evt_2', changed('evt_2', 2))).toMatchObject({ httpStatus: 200 });
});

test('a CloudEvent around the same data reads the same', async () => {
  const listening = await listener(['--secret', SECRET]);
  await sender(listening.url, [SECRET], 'cloudevents')('evt_1', changed('evt_1', 1));
  await sender(listening.url)('evt_2', '{"specversion":"1.0","type":"x.new\\u001b[31m","time":7,"data":{"sequence":"a"}}');
  await listening.until(/x\.new/);
  expect(listening.out()).toMatch(/purchase\.state_changed {2}se {2}2f1c9a7e {2}#1 {3}first seen: completed {2}249\.50 SEK\n/);
  expect(listening.out()).toContain('x.new\\u001b[31m');
});

test('a reader that has seen enough ends it', async () => {
  const listening = await listener(['--secret', SECRET, '--json']);
  const send = sender(listening.url);
  listening.process.stdout!.destroy();
  await send('evt_1', changed('evt_1', 1));
  expect(await listening.end()).toBe(0);
});

test.each<[string, readonly string[], number, RegExp]>([
  ['a port that is none', ['--port', '70000'], 2, /'70000' is invalid\. Expected a whole number from 0 to 65535/],
  ['a status that is none', ['--answer', '99'], 2, /Expected a whole number from 200 to 599/],
  ['a delay without a unit', ['--delay', '5'], 2, /Expected a duration such as 250ms/],
  ['half a try', ['--fail', '1.5'], 2, /Expected a whole number/],
  ['somewhere that is no address', ['--forward', 'ftp://a'], 2, /Expected an http or https address/],
  [
    'two answers',
    ['--forward', '3000', '--answer', '200'],
    2,
    /'--forward <url>' cannot be used with option '--answer <status>'/,
  ],
  ['two forms', ['--json', '--full'], 2, /cannot be used with option/],
  ['filters of nobody', ['--types', 'purchase.stuck'], 2, /--types: only with --subscribe/],
  ['a name of capitals', ['--subscribe', 'Me'], 2, /--subscribe: must be up to 63 small letters/],
  ['a secret that is none', ['--secret', 'whsec_short'], 2, /--secret: must be whsec_ followed by base64/],
  [
    'a public key that is none',
    ['--public-key', 'whpk_short'],
    2,
    /--public-key: it is not whpk_ followed by base64 of 32 bytes/,
  ],
  [
    'a private key as a public one',
    ['--public-key', 'whsk_c2VjcmV0'],
    2,
    /^(?!.*c2Vj).*--public-key: it is not whpk_ .*begins as a private key/,
  ],
  ['a secret without its beginning', ['--public-key', 'c2VjcmV0c2VjcmV0'], 2, /^(?!.*c2Vj).*--public-key: it is not whpk_/],
  ['a mistyped option', ['--fowrard', '3000'], 2, /unknown option '--fowrard'\n\(Did you mean --forward\?\)/],
  ['an address of another machine', ['--port', '0', '--host', '192.0.2.1'], 1, /cannot listen on 192\.0\.2\.1.*no such address/],
])('%s is refused: %j', async (_, argv, code, message) => {
  const { exitCode, stdout, stderr } = await runCommand(['listen', ...argv]);
  expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/whsec_short|whpk_short/);
});

test('a port that is taken is said, and an environment that names two secrets', async () => {
  const { port } = new URL((await listener(['--secret', SECRET])).url);
  expect(await runCommand(['listen', '--port', port])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`port ${port} is in use; choose another one with --port, or 0 for any that is free`),
  });
  const env = { WEBHOOK_SECRET: SECRET, WEBHOOK_SECRET_FILE: '/nowhere' };
  expect(await runCommand(['listen'], env)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/WEBHOOK_SECRET_FILE is set too/),
  });
});
