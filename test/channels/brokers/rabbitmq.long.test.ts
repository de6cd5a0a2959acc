import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createRabbitChannel, type RabbitOptions } from '../../../src/channels/brokers/rabbitmq.ts';
import type { Channel, OutgoingEvent, SendResult } from '../../../src/channels/outgoing/channel.ts';
import { startChild } from '../../support/broker-process.ts';
import { type Authority, makeAuthority } from '../../support/certificates.ts';
import { failed, outgoingEvent } from '../../support/outgoing-event.ts';
import { RabbitOperator } from '../../support/rabbitmq-operator.ts';
import { MOST_BYTES, noRabbit, type RabbitServer, startRabbitServer, WRITER } from '../../support/rabbitmq-server.ts';

/** It takes seconds to start, and much longer on a machine that has other things to do. */
const SLOW = 120_000;
const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

type TestChannel = Channel & { sendOne(one: OutgoingEvent): Promise<SendResult> };

function channel(url: string, options: Partial<RabbitOptions> = {}): TestChannel {
  const fixed = {
    name: 'books',
    url,
    exchange: 'shop',
    routingKey: '{site}.{type}',
    format: 'standard',
    keys: [],
    timeout: 10_000,
  } as const;
  const made = createRabbitChannel({ ...fixed, ...options });
  onTestFinished(() => made.close());
  return { ...made, sendOne: (one) => made.send(one, { attempt: 1, now: Date.now() }) };
}

/** Sockets that this process holds open. */
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
/** The operator's alone. What a former test closed may take a moment to be gone. */
const nobodyElses = () => expect.poll(sockets).toBe(1);

if (noRabbit !== null) console.warn(`not tested: ${noRabbit}`);

describe.skipIf(noRabbit !== null)('RabbitMQ', () => {
  let server: RabbitServer;
  let operator: RabbitOperator;
  let authority: Authority;
  beforeAll(async () => {
    authority = makeAuthority();
    server = await startRabbitServer({ tls: authority.issue('localhost') });
    operator = new RabbitOperator(server.url);
  }, SLOW);
  afterAll(async () => {
    await operator?.close();
    await server?.stop();
  });
  beforeEach(() => operator.setUp());

  test('a queue keeps each event, byte for byte, signed as a webhook is', async () => {
    const { sendOne } = channel(server.url, { keys: [{ key: KEY, until: null }] });
    expect(await sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered', httpStatus: null, excerpt: 'confirmed' });
    const [kept] = await operator.kept();
    const { properties, fields, content } = kept!;
    expect(content.toString()).toBe(outgoingEvent(1).body);
    expect(fields).toMatchObject({ exchange: 'shop', routingKey: 'se.purchase.state_changed' });
    expect(properties).toMatchObject({
      messageId: 'evt_1',
      type: 'purchase.state_changed',
      timestamp: Date.parse('2026-11-20T09:15:02Z') / 1_000,
      contentType: 'application/json',
      deliveryMode: 2,
      appId: 'purchase-watch',
      headers: { 'x-deduplication-header': 'evt_1/books', 'webhook-id': 'evt_1' },
    });
    expect(new Webhook(KEY).verify(content, properties.headers as Record<string, string>)).toMatchObject({ id: 'evt_1' });
  });

  test('without a key nothing is signed, and the ids are there all the same', async () => {
    await channel(server.url).sendOne(outgoingEvent(1));
    const [kept] = await operator.kept();
    expect(kept!.properties.headers).toEqual({ 'x-deduplication-header': 'evt_1/books', 'webhook-id': 'evt_1' });
  });

  test('a CloudEvent is signed as it is sent, and keeps the digits', async () => {
    await channel(server.url, { format: 'cloudevents', keys: [{ key: KEY, until: null }] }).sendOne(outgoingEvent(1));
    const { properties, content } = (await operator.kept())[0]!;
    expect(properties.contentType).toMatch(/^application\/cloudevents\+json/);
    const verified = new Webhook(KEY).verify(content, properties.headers as Record<string, string>);
    expect(verified).toMatchObject({ specversion: '1.0', id: 'evt_1', data: { purchaseId: 'p-1' } });
    expect(content.toString()).toContain('"price":249.50');
  });

  test('one connection carries many at once, large ones too, and keeps their order', async () => {
    const { sendOne } = channel(server.url);
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map((number) => sendOne(outgoingEvent(number, number % 50 === 7 ? { padding: 200_000 } : {}))),
    );
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['delivered']));
    expect(await operator.keptIds()).toEqual(numbers.map((number) => `evt_${number}`));
  });

  test('what no queue wants has failed; what others sent at the same moment has not', async () => {
    const wire = await operator.wire();
    await wire.unbindQueue('events', 'shop', '#');
    await wire.bindQueue('events', 'shop', 'se.#');
    const { sendOne } = channel(server.url);
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, number) => sendOne(outgoingEvent(number, { site: number % 2 === 0 ? 'se' : 'no' }))),
    );
    expect(results.map(({ kind }) => kind)).toEqual(results.map((_, number) => (number % 2 === 0 ? 'delivered' : 'failed')));
    expect(failed(results[1]!)).toMatchObject({ reason: 'unroutable', fault: 'receiver' });
    expect(failed(results[1]!).detail).toContain('exchange shop for the routing key no.purchase.state_changed');
    expect(await operator.kept()).toHaveLength(10);
  });

  test('a full queue that refuses is a failure, and goes on later', async () => {
    await operator.setUp({ maxLength: 1, overflow: 'reject-publish' });
    const { sendOne } = channel(server.url);
    expect(await sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered' });
    expect(await sendOne(outgoingEvent(2))).toMatchObject({ kind: 'failed', reason: 'nack', fault: 'receiver' });
    expect(await operator.keptIds()).toEqual(['evt_1']);
    expect(await sendOne(outgoingEvent(2))).toMatchObject({ kind: 'delivered' });
  });

  test('an exchange that is missing, or goes away, is named; it works as soon as it is there', async () => {
    const { sendOne } = channel(server.url);
    await sendOne(outgoingEvent(1));
    const wire = await operator.wire();
    await wire.deleteExchange('shop');
    for (let attempt = 0; attempt < 2; attempt++) {
      const result = failed(await sendOne(outgoingEvent(2)));
      expect(result).toMatchObject({
        reason: 'no_exchange',
        fault: 'receiver',
        detail: expect.stringContaining('exchange shop'),
      });
    }
    await operator.setUp();
    expect(await sendOne(outgoingEvent(2))).toMatchObject({ kind: 'delivered' });
  });

  test('the exchange without a name leads to the queue of the routing key', async () => {
    const { sendOne } = channel(server.url, { exchange: '', routingKey: 'events' });
    expect(await sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered' });
    expect(await operator.keptIds()).toEqual(['evt_1']);
    const nowhere = channel(server.url, { exchange: '', routingKey: 'nowhere' });
    expect(await nowhere.sendOne(outgoingEvent(1))).toMatchObject({
      reason: 'unroutable',
      detail: expect.stringContaining('queue nowhere'),
    });
  });

  test('an event larger than the broker takes is refused, and others still go', async () => {
    const { sendOne } = channel(server.url);
    expect(await sendOne(outgoingEvent(1, { padding: MOST_BYTES }))).toMatchObject({
      kind: 'failed',
      reason: 'refused',
    });
    expect(await sendOne(outgoingEvent(2))).toMatchObject({ kind: 'delivered' });
  });

  test('refused logins and rights are told in words that help, and never with the credentials', async () => {
    const as = (userinfo: string, path = '') => server.url.replace('guest:guest', userinfo) + path;
    const writer = `${WRITER.name}:${encodeURIComponent(WRITER.password)}`;
    const reasons: string[] = [];
    for (const url of [as('writer:wrong-password'), as('nobody:wrong-password'), as(writer, '/other'), as(writer)]) {
      const result = failed(await channel(url).sendOne(outgoingEvent(1)));
      expect(result).toMatchObject({ fault: 'receiver', httpStatus: null, excerpt: '' });
      expect(JSON.stringify(result)).not.toMatch(/p@ss|p%40ss|wrong-password|127\.0\.0\.1/);
      reasons.push(result.reason);
    }
    expect(reasons).toEqual(['login_refused', 'login_refused', 'not_permitted', 'not_permitted']);
    // Who may write there needs no other right.
    expect(await channel(as(writer), { exchange: 'amq.topic' }).sendOne(outgoingEvent(1))).toMatchObject({
      reason: 'unroutable',
    });
  });

  test('nobody listens, or the host does not exist', async () => {
    expect(await channel('amqp://127.0.0.1:1').sendOne(outgoingEvent(1))).toMatchObject({
      reason: 'connection_refused',
      fault: 'receiver',
    });
    expect(await channel('amqp://rabbitmq.invalid').sendOne(outgoingEvent(1))).toMatchObject({
      reason: 'unknown_host',
      fault: 'receiver',
    });
  });

  test('amqps is spoken with a broker whose certificate is good, and with no other', async () => {
    expect(await channel(server.tlsUrl).sendOne(outgoingEvent(1))).toMatchObject({
      kind: 'failed',
      reason: 'tls',
      fault: 'receiver',
    });
    const usual = getCACertificates('default');
    setDefaultCACertificates([...usual, authority.certificate]);
    onTestFinished(() => setDefaultCACertificates(usual));
    expect(await channel(server.tlsUrl).sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered' });
    expect(await channel(server.url.replace('amqp:', 'amqps:')).sendOne(outgoingEvent(1))).toMatchObject({
      kind: 'failed',
      reason: 'tls',
    });
  });

  test('a process that has closed its channel ends by itself', async () => {
    const options = { url: server.url, exchange: 'shop', routingKey: '{type}', format: 'standard', keys: [], timeout: 60_000 };
    const script = `
      import { createRabbitChannel } from ${JSON.stringify(join(import.meta.dirname, '../../../src/channels/brokers/rabbitmq.ts'))};
      const channel = createRabbitChannel(${JSON.stringify(options)});
      const { kind } = await channel.send(${JSON.stringify(outgoingEvent(9))}, { attempt: 1, now: Date.now() });
      await channel.close();
      console.log(kind);`;
    const child = startChild(process.execPath, ['--input-type=module-typescript', '--eval', script], {});
    await child.says('delivered');
    await child.ended;
  });

  test('after close the connection is gone, and nothing is sent', async () => {
    await nobodyElses();
    const made = channel(server.url);
    const sending = made.sendOne(outgoingEvent(1));
    await made.close();
    expect(await sending).toMatchObject({ kind: 'delivered' });
    expect(await made.sendOne(outgoingEvent(2))).toMatchObject({ kind: 'failed', reason: 'stopped', fault: 'ours' });
    await nobodyElses();
  });

  test(
    'while it is short of memory, attempts end at the deadline and pile up nothing',
    async () => {
      const { sendOne } = channel(server.url, { timeout: 1_500 });
      await sendOne(outgoingEvent(1));
      await server.control('set_vm_memory_high_watermark', 'absolute', '1');
      // The broker speaks up when it is given something; that one waits there, in its place.
      for (const number of [2, 2, 2]) {
        const result = failed(await sendOne(outgoingEvent(number)));
        expect(result).toMatchObject({ reason: 'blocked', fault: 'receiver', detail: expect.stringContaining('memory') });
        expect(result.tookMs).toBeGreaterThanOrEqual(1_499);
      }
      await server.control('set_vm_memory_high_watermark', '0.6');
      await expect.poll(async () => (await sendOne(outgoingEvent(2))).kind).toBe('delivered');
      await sendOne(outgoingEvent(3));
      // The one that waited there, the one that was delivered, and perhaps one whose confirmation came a moment too late.
      const ids = await operator.keptIds();
      expect(ids[0]).toBe('evt_1');
      expect(ids.at(-1)).toBe('evt_3');
      expect(new Set(ids.slice(1, -1))).toEqual(new Set(['evt_2']));
      expect(ids.length).toBeLessThanOrEqual(5);
    },
    SLOW,
  );

  test('one that hangs ends at the deadline, also when it accepts connections and says nothing', async () => {
    await nobodyElses();
    const { sendOne } = channel(server.url, { timeout: 1_500 });
    await sendOne(outgoingEvent(1));
    server.pause();
    const unconfirmed = failed(await sendOne(outgoingEvent(2)));
    expect(unconfirmed).toMatchObject({ reason: 'timeout', detail: expect.stringContaining('1500 ms') });
    const unconnected = failed(await sendOne(outgoingEvent(2)));
    expect(unconnected).toMatchObject({ reason: 'timeout', detail: expect.stringContaining('no connection') });
    server.resume();
    await expect.poll(async () => (await sendOne(outgoingEvent(2))).kind).toBe('delivered');
    await sendOne(outgoingEvent(3));
    // The one that had reached the broker before its attempt was given up may be there, too: that is what the id is for.
    expect([...new Set(await operator.keptIds())]).toEqual(['evt_1', 'evt_2', 'evt_3']);
    await expect.poll(sockets).toBe(2);
  });

  test(
    'killed and started again: nothing is lost, nothing is sent behind our back, nothing is out of order',
    async () => {
      const { sendOne } = channel(server.url);
      expect(await sendOne(outgoingEvent(1))).toMatchObject({ kind: 'delivered' });
      await server.kill();
      expect(failed(await sendOne(outgoingEvent(2))).reason).toMatch(/^connection_(lost|refused)$/);
      expect(await sendOne(outgoingEvent(3))).toMatchObject({ kind: 'failed', reason: 'connection_refused' });
      await server.start();
      // What failed is not sent by itself: the caller may have changed its mind.
      expect(await operator.keptIds()).toEqual(['evt_1']);
      for (const number of [2, 3, 4]) expect(await sendOne(outgoingEvent(number))).toMatchObject({ kind: 'delivered' });
      expect(await operator.keptIds()).toEqual(['evt_2', 'evt_3', 'evt_4']);
    },
    SLOW,
  );
});
