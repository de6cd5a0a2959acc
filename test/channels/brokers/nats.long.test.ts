import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { StreamConfig } from '@nats-io/jetstream';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createNatsChannel, type NatsOptions } from '../../../src/channels/brokers/nats.ts';
import type { Channel, OutgoingEvent, SendResult } from '../../../src/channels/outgoing/channel.ts';
import type { RequestTrace } from '../../../src/runtime/traces/traces.ts';
import { startChild } from '../../support/broker-process.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { askNats } from '../../support/nats-operator.ts';
import { NATS_PASSWORD, type NatsServer, type NatsServerOptions, noNats, startNatsServer } from '../../support/nats-server.ts';
import { failed, outgoingEvent } from '../../support/outgoing-event.ts';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OLD_KEY = 'whsec_dGhlIGtleSB0aGF0IHdhcyByZXBsYWNlZCBieSBhbm90aGVy';

function channel(
  url: string,
  options: Partial<NatsOptions> = {},
): Channel & { sendOne(one: OutgoingEvent, trace?: RequestTrace): Promise<SendResult> } {
  const made = createNatsChannel({
    name: 'books',
    url,
    subject: 'shop.{site}.{type}',
    format: 'standard',
    keys: [],
    timeout: 10_000,
    ...options,
  });
  onTestFinished(() => made.close());
  return { ...made, sendOne: (one, trace) => made.send(one, { attempt: 1, now: Date.now(), trace }) };
}

async function own(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await startNatsServer(options);
  onTestFinished(() => server.stop());
  return server;
}

if (noNats !== null) console.warn(`not tested: ${noNats}`);

describe.skipIf(noNats !== null)('a stream', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
    await askNats(server, (who) => who.addStream());
  });
  afterAll(() => server?.stop());

  test('keeps each event under its subject, byte for byte, signed as a webhook is', async () => {
    const keys = [
      { key: KEY, until: null },
      { key: OLD_KEY, until: Date.now() + 60_000 },
    ];
    const { sendOne } = channel(server.url, { keys });
    const one = outgoingEvent(101);
    expect(await sendOne(one)).toMatchObject({
      kind: 'delivered',
      httpStatus: null,
      excerpt: expect.stringMatching(/^stream SHOP, sequence \d+$/),
    });
    const kept = (await askNats(server, (who) => who.kept())).at(-1)!;
    expect(kept).toMatchObject({
      subject: 'shop.se.purchase.state_changed',
      body: one.body,
      headers: { 'Nats-Msg-Id': 'evt_101/books', 'webhook-id': 'evt_101', 'content-type': 'application/json' },
    });
    for (const key of [KEY, OLD_KEY]) expect(new Webhook(key).verify(kept.body, kept.headers)).toMatchObject({ id: 'evt_101' });
  });

  test('without a key nothing is signed, and the id is there all the same', async () => {
    await channel(server.url).sendOne(outgoingEvent(102));
    const { headers } = (await askNats(server, (who) => who.kept())).at(-1)!;
    expect(headers).toEqual({ 'Nats-Msg-Id': 'evt_102/books', 'webhook-id': 'evt_102', 'content-type': 'application/json' });
  });

  test('a traced attempt leaves its traceparent beside the signature', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const request = () => ({ traceparent: '', end: () => undefined });
    await channel(server.url, { keys: [{ key: KEY, until: null }] }).sendOne(outgoingEvent(199), { traceparent, request });
    const { body, headers } = (await askNats(server, (who) => who.kept())).at(-1)!;
    expect(headers).toMatchObject({ traceparent });
    expect(new Webhook(KEY).verify(body, headers)).toMatchObject({ id: 'evt_199' });
  });

  test('an event that is sent again is kept once, and counts as delivered', async () => {
    const { sendOne } = channel(server.url);
    expect(await sendOne(outgoingEvent(103))).toMatchObject({ kind: 'delivered' });
    expect(await sendOne(outgoingEvent(103))).toMatchObject({
      kind: 'delivered',
      excerpt: expect.stringContaining('it was there already'),
    });
    const kept = await askNats(server, (who) => who.kept());
    expect(kept.filter(({ headers }) => headers['webhook-id'] === 'evt_103')).toHaveLength(1);
  });

  test('a CloudEvent is signed as it is sent, and keeps the digits', async () => {
    await channel(server.url, { format: 'cloudevents', keys: [{ key: KEY, until: null }] }).sendOne(outgoingEvent(104));
    const { body, headers } = (await askNats(server, (who) => who.kept())).at(-1)!;
    expect(headers['content-type']).toMatch(/^application\/cloudevents\+json/);
    expect(new Webhook(KEY).verify(body, headers)).toMatchObject({
      specversion: '1.0',
      id: 'evt_104',
      data: { purchaseId: 'p-1' },
    });
    expect(body).toContain('"price":249.50');
  });

  test('one connection carries many at once, and keeps their order', async () => {
    const { sendOne } = channel(server.url);
    const numbers = Array.from({ length: 200 }, (_, index) => 1_000 + index);
    const results = await Promise.all(numbers.map((number) => sendOne(outgoingEvent(number))));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['delivered']));
    const kept = await askNats(server, (who) => who.kept());
    expect(kept.slice(-200).map(({ headers }) => headers['webhook-id'])).toEqual(numbers.map((number) => `evt_${number}`));
    expect(await askNats(server, (who) => who.connections())).toHaveLength(1);
  });

  test('what a subject must not hold is replaced, and an event of no site has a _ there', async () => {
    const { sendOne } = channel(server.url);
    await sendOne(outgoingEvent(105, { site: 'a.b *>c' }));
    await sendOne(outgoingEvent(106, { site: '', type: 'subscriber.test' }));
    const kept = await askNats(server, (who) => who.kept());
    expect(kept.slice(-2).map(({ subject }) => subject)).toEqual([
      'shop.a_b___c.purchase.state_changed',
      'shop._.subscriber.test',
    ]);
  });

  test('a process that has closed its channel ends by itself', async () => {
    const options = { url: server.url, subject: 'shop.{type}', format: 'standard', keys: [], timeout: 60_000 };
    const script = `
      import { createNatsChannel } from ${JSON.stringify(join(import.meta.dirname, '../../../src/channels/brokers/nats.ts'))};
      const channel = createNatsChannel(${JSON.stringify(options)});
      const { kind } = await channel.send(${JSON.stringify(outgoingEvent(9))}, { attempt: 1, now: Date.now() });
      await channel.close();
      console.log(kind);`;
    const child = startChild(process.execPath, ['--input-type=module-typescript', '--eval', script], {});
    await child.says('delivered');
    await child.ended;
  });

  test('an attempt that is stopped is a fault of ours', async () => {
    const made = channel(server.url);
    const stop = new AbortController();
    const sending = made.send(outgoingEvent(107), { attempt: 1, now: Date.now(), signal: stop.signal });
    stop.abort();
    expect(await sending).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
  });

  test('after close the connection is gone, and nothing is sent', async () => {
    const made = channel(server.url);
    const sending = made.sendOne(outgoingEvent(108));
    await made.close();
    expect(await sending).toMatchObject({ kind: 'delivered' });
    expect(await made.sendOne(outgoingEvent(109))).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
    await expect.poll(() => askNats(server, (who) => who.connections())).toEqual([]);
  });
});

describe.skipIf(noNats !== null)('refusals are told in words that help, and never with the credentials', () => {
  const refusal = async (url: string, options: Partial<NatsOptions> = {}) => {
    const result = failed(await channel(url, options).sendOne(outgoingEvent(1)));
    expect(JSON.stringify(result)).not.toMatch(/p@ss|p%40ss|wrong-password|secret-token|127\.0\.0\.1/);
    expect(result).toMatchObject({ fault: 'receiver', httpStatus: null, retryAfter: null, excerpt: '' });
    return { reason: result.reason, detail: result.detail };
  };

  test('no stream takes the subject', async () => {
    const { reason, detail } = await refusal((await own()).url);
    expect(reason).toBe('no_stream');
    expect(detail).toContain('shop.se.purchase.state_changed');
    expect(detail).toContain("nats stream add PURCHASES --subjects 'shop.>'");
  });

  test('JetStream is off', async () => {
    expect(await refusal((await own({ jetstream: false })).url)).toMatchObject({ reason: 'no_jetstream' });
  });

  test('a full stream', async () => {
    const server = await own();
    await askNats(server, (who) => who.addStream({ max_msgs: 1, discard: 'new' as StreamConfig['discard'] }));
    const { sendOne } = channel(server.url);
    await sendOne(outgoingEvent(7));
    const result = failed(await sendOne(outgoingEvent(8)));
    expect(result).toMatchObject({
      reason: 'refused',
      fault: 'receiver',
      detail: expect.stringContaining('maximum messages exceeded'),
    });
  });

  test('an event larger than the server takes', async () => {
    const server = await own({ config: 'max_payload: 200' });
    expect(await refusal(server.url, { keys: [{ key: KEY, until: null }] })).toMatchObject({ reason: 'too_large' });
  });

  test('wrong credentials, none, and a token', async () => {
    const server = await own();
    expect(await refusal(`nats://shop:wrong-password@127.0.0.1:${server.port}`)).toMatchObject({ reason: 'login_refused' });
    expect(await refusal(`nats://127.0.0.1:${server.port}`)).toMatchObject({ reason: 'login_refused' });
    const byToken = await own({ config: 'authorization { token: "secret-token" }' });
    expect(await refusal(`nats://secret-token@127.0.0.1:${byToken.port}`)).toMatchObject({ reason: 'no_stream' });
    expect(await refusal(`nats://wrong@127.0.0.1:${byToken.port}`)).toMatchObject({ reason: 'login_refused' });
  });

  test('a user who may publish nothing, or not hear the confirmation', async () => {
    const users = ['publish: { deny: "shop.>" }', 'subscribe: { deny: "_INBOX.>" }'].map(
      (permissions, index) => `{ user: u${index}, password: pw, permissions: { ${permissions} } }`,
    );
    const server = await own({ config: `authorization { users: [${users.join(', ')}] }` });
    for (const user of ['u0', 'u1']) {
      expect(await refusal(`nats://${user}:pw@127.0.0.1:${server.port}`)).toMatchObject({ reason: 'not_permitted' });
    }
  });

  test('TLS is required and not there', async () => {
    expect(await refusal((await own()).url.replace('nats:', 'tls:'))).toMatchObject({ reason: 'tls' });
  });

  test('a certificate that nobody vouches for; a good one is taken, and TLS is used wherever it is offered', async () => {
    const authority = makeAuthority();
    const server = await own({ tls: authority.issue('localhost') });
    const urls = ['tls', 'nats'].map(
      (scheme) => `${scheme}://shop:${encodeURIComponent(NATS_PASSWORD)}@localhost:${server.port}`,
    );
    for (const url of urls) expect(await refusal(url)).toMatchObject({ reason: 'tls' });
    const usual = getCACertificates('default');
    setDefaultCACertificates([...usual, authority.certificate]);
    onTestFinished(() => setDefaultCACertificates(usual));
    for (const url of urls) expect(await refusal(url)).toMatchObject({ reason: 'no_stream' });
  });

  test('nobody listens, or the host does not exist', async () => {
    expect(await refusal('nats://127.0.0.1:1')).toMatchObject({ reason: 'connection_refused' });
    expect(await refusal('nats://shop:p%40ss@nats.invalid:4222')).toMatchObject({ reason: 'unknown_host' });
  });
});

describe.skipIf(noNats !== null)('a broker in trouble', () => {
  test('killed and started again: nothing is lost, nothing is sent behind our back, nothing is out of order', async () => {
    const server = await own();
    await askNats(server, (who) => who.addStream());
    const { sendOne } = channel(server.url);
    expect(await sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered' });
    await server.kill();
    expect(failed(await sendOne(outgoingEvent(2))).reason).toMatch(/^connection_(lost|refused)$/);
    expect(await sendOne(outgoingEvent(3))).toMatchObject({ kind: 'failed', reason: 'connection_refused' });
    await server.start();
    // What failed is not sent by itself: the caller may have changed its mind.
    expect(await askNats(server, (who) => who.keptIds())).toEqual(['evt_1']);
    for (const number of [2, 3, 4]) expect(await sendOne(outgoingEvent(number))).toMatchObject({ kind: 'delivered' });
    const kept = await askNats(server, (who) => who.keptIds());
    expect(kept).toEqual(['evt_1', 'evt_2', 'evt_3', 'evt_4']);
  });

  test('one that hangs ends at the deadline, also when it accepts connections and says nothing', async () => {
    const server = await own();
    await askNats(server, (who) => who.addStream());
    const { sendOne, close } = channel(server.url, { timeout: 1_500 });
    await sendOne(outgoingEvent(1));
    server.pause();
    const unconfirmed = failed(await sendOne(outgoingEvent(2)));
    expect(unconfirmed).toMatchObject({ reason: 'timeout', fault: 'receiver', detail: expect.stringContaining('1500 ms') });
    const unconnected = failed(await sendOne(outgoingEvent(2)));
    expect(unconnected).toMatchObject({ reason: 'timeout', detail: expect.stringContaining('no connection') });
    for (const { tookMs } of [unconfirmed, unconnected]) expect(tookMs).toBeGreaterThanOrEqual(1_499);
    server.resume();
    expect(await sendOne(outgoingEvent(2))).toMatchObject({ kind: 'delivered' });
    expect(await sendOne(outgoingEvent(3))).toMatchObject({ kind: 'delivered' });
    const kept = await askNats(server, (who) => who.keptIds());
    expect(kept).toEqual(['evt_1', 'evt_2', 'evt_3']);
    // Those that were given up are closed, too.
    await expect.poll(() => askNats(server, (who) => who.connections())).toHaveLength(1);
    await close();
    await expect.poll(() => askNats(server, (who) => who.connections())).toEqual([]);
  });

  test('a confirmation that never comes fails its own message; the connection is given up unless a later one was confirmed', async () => {
    const server = await own();
    await askNats(server, async (who) => {
      await who.addStream({ subjects: ['shop.se.>'] });
      await who.listenSilently('shop.no.>');
      const { sendOne } = channel(server.url, { timeout: 1_500 });
      await sendOne(outgoingEvent(1));
      const before = await who.connections();
      const unconfirmed = sendOne(outgoingEvent(2, { site: 'no' }));
      expect(await sendOne(outgoingEvent(3))).toMatchObject({ kind: 'delivered' });
      expect(await unconfirmed).toMatchObject({ kind: 'failed', reason: 'timeout' });
      await sendOne(outgoingEvent(4));
      expect(await who.connections()).toEqual(before);
      expect(await sendOne(outgoingEvent(5, { site: 'no' }))).toMatchObject({ kind: 'failed', reason: 'timeout' });
      await sendOne(outgoingEvent(6));
      expect(await who.connections()).not.toEqual(before);
    });
  });

  test('close does not wait for one that hangs', async () => {
    const server = await own();
    const made = channel(server.url, { timeout: 300 });
    server.pause();
    const sending = made.sendOne(outgoingEvent(1));
    await made.close();
    expect(await sending).toMatchObject({ kind: 'failed', reason: 'timeout' });
    server.resume();
    await expect.poll(() => askNats(server, (who) => who.connections())).toEqual([]);
  });
});
