/** Logins and clusters as they are usual where brokers are run for real; each at a real server. */
import { createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createNatsChannel, type NatsOptions } from '../../../src/channels/brokers/nats.ts';
import { createRabbitChannel, type RabbitOptions } from '../../../src/channels/brokers/rabbitmq.ts';
import type { Channel } from '../../../src/channels/outgoing/channel.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { makeNkey, makeOperator } from '../../support/nats-logins.ts';
import { askNats } from '../../support/nats-operator.ts';
import { NATS_PASSWORD, type NatsServer, type NatsServerOptions, noNats, startNatsServer } from '../../support/nats-server.ts';
import { failed, outgoingEvent } from '../../support/outgoing-event.ts';
import { noRabbit, type RabbitServer, startRabbitServer } from '../../support/rabbitmq-server.ts';

const LOGIN = `shop:${encodeURIComponent(NATS_PASSWORD)}`;
const ALL = `{ user: shop, password: ${JSON.stringify(NATS_PASSWORD)} }`;

const sending = (made: Channel) => {
  onTestFinished(() => made.close());
  return (number: number) => made.send(outgoingEvent(number), { attempt: 1, now: Date.now() });
};
const common = { name: 'shop', format: 'standard', keys: [], timeout: 10_000 } as const;
const nats = (url: string, options: Partial<NatsOptions> = {}) =>
  sending(createNatsChannel({ ...common, url, subject: 'shop.{site}.{type}', ...options }));
const rabbit = (url: string, options: Partial<RabbitOptions> = {}) =>
  sending(createRabbitChannel({ ...common, url, exchange: 'amq.topic', routingKey: '{type}', ...options }));

async function natsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await startNatsServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** Something that takes connections and says nothing. */
async function silence(): Promise<{ port: number; taken: Socket[] }> {
  const taken: Socket[] = [];
  const server = createServer((socket) => taken.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of taken) socket.destroy();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, taken };
}

function trust(certificate: string): void {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, certificate]);
  onTestFinished(() => setDefaultCACertificates(usual));
}

describe.skipIf(noNats !== null)('NATS', () => {
  test('an NKEY logs in, and another one does not', async () => {
    const { publicKey, seed } = makeNkey();
    const server = await natsServer({ config: `authorization { users: [${ALL}, { nkey: ${publicKey} }] }` });
    await askNats(server, (who) => who.addStream());
    const url = `nats://127.0.0.1:${server.port}`;
    expect(await nats(url, { credentials: seed })(1)).toMatchObject({ kind: 'delivered' });
    expect(failed(await nats(url, { credentials: makeNkey().seed })(2))).toMatchObject({ reason: 'login_refused' });
    expect(failed(await nats(url)(3))).toMatchObject({ reason: 'login_refused' });
  });

  test("a user of an operator's account logs in with its .creds file, and one of another operator does not", async () => {
    const [ours, theirs] = [makeOperator(), makeOperator()];
    const server = await natsServer({ config: ours.config });
    const url = `nats://127.0.0.1:${server.port}`;
    // Nobody made a stream in that account: it came as far as that.
    expect(failed(await nats(url, { credentials: ours.creds('books') })(1))).toMatchObject({ reason: 'no_stream' });
    expect(failed(await nats(url, { credentials: theirs.creds('books') })(2))).toMatchObject({ reason: 'login_refused' });
  });

  test('a server that wants a certificate of its clients is shown one', async () => {
    const authority = makeAuthority();
    const server = await natsServer({ tls: authority.issue('localhost'), clientsOf: authority.certificate });
    await askNatsWithout(server);
    trust(authority.certificate);
    const url = `tls://${LOGIN}@localhost:${server.port}`;
    expect(failed(await nats(url, { clientCertificate: authority.issue('shop') })(1))).toMatchObject({ reason: 'no_stream' });
    expect((await nats(url)(2)).kind).toBe('failed');
    expect((await nats(url, { clientCertificate: makeAuthority().issue('shop') })(3)).kind).toBe('failed');
  });

  test('of several servers it takes one that is there, whatever the others do', async () => {
    const server = await natsServer();
    await askNats(server, (who) => who.addStream());
    const quiet = await silence();
    // A third of it for each: the quiet one uses up its own.
    const send = nats(`nats://${LOGIN}@127.0.0.1:1,127.0.0.1:${quiet.port},127.0.0.1:${server.port}`, { timeout: 4_500 });
    expect(await send(1)).toMatchObject({ kind: 'delivered' });
    // It stays with the one that served.
    expect(await send(2)).toMatchObject({ kind: 'delivered' });
    expect(quiet.taken).toHaveLength(1);
    await expect.poll(() => quiet.taken[0]!.destroyed || quiet.taken[0]!.readableEnded).toBe(true);
  });

  test('subscribers may share a stream, and what a replay sends again is no repeat', async () => {
    const server = await natsServer();
    await askNats(server, (who) => who.addStream());
    const url = `nats://${LOGIN}@127.0.0.1:${server.port}`;
    for (const name of ['one', 'two'])
      expect(await nats(url, { name, subject: `shop.${name}.{type}` })(1)).toMatchObject({ kind: 'delivered' });
    expect(await askNats(server, (who) => who.keptIds())).toEqual(['evt_1', 'evt_1']);
    const one = createNatsChannel({ ...common, url, name: 'one', subject: 'shop.one.{type}' });
    onTestFinished(() => one.close());
    const again = { attempt: 2, now: Date.now(), again: 1 };
    for (const expected of [/sequence 3$/, /it was there already$/]) {
      expect(await one.send(outgoingEvent(1), again)).toMatchObject({ excerpt: expect.stringMatching(expected) });
    }
  });

  test('when the server that served is gone the next event goes to another one', async () => {
    const [one, two] = [await natsServer(), await natsServer()];
    for (const server of [one, two]) await askNats(server, (who) => who.addStream());
    const send = nats(`nats://${LOGIN}@127.0.0.1:${one.port},127.0.0.1:${two.port}`);
    expect(await send(1)).toMatchObject({ kind: 'delivered' });
    await one.kill();
    // The loss may be noticed by this one; what follows goes elsewhere, at the latest.
    await send(2);
    expect(await send(3)).toMatchObject({ kind: 'delivered' });
    expect(await askNats(two, (who) => who.keptIds())).toContain('evt_3');
    await two.kill();
    expect((await send(4)).kind).toBe('failed');
    expect(failed(await send(5))).toMatchObject({ reason: 'connection_refused' });
    await one.start();
    expect(await send(6)).toMatchObject({ kind: 'delivered' });
  });
});

/** Its client here has no certificate, so nothing can be made there. */
async function askNatsWithout(server: NatsServer): Promise<void> {
  await expect(askNats(server, (who) => who.addStream())).rejects.toThrow();
}

describe.skipIf(noRabbit !== null)('RabbitMQ', () => {
  const own = async (options: Parameters<typeof startRabbitServer>[0] = {}): Promise<RabbitServer> => {
    const server = await startRabbitServer(options);
    onTestFinished(() => server.stop());
    return server;
  };

  // It takes seconds to start, and much longer on a machine that has other things to do.
  const SLOW = 120_000;
  test('a broker that wants a certificate of its clients is shown one; of several servers the one that is there is taken', {
    timeout: SLOW,
  }, async () => {
    const authority = makeAuthority();
    const server = await own({ tls: authority.issue('localhost'), clientsOf: authority.certificate });
    trust(authority.certificate);
    const clientCertificate = authority.issue('shop');
    // Nothing is bound there: it came as far as that.
    expect(failed(await rabbit(server.tlsUrl, { clientCertificate })(1))).toMatchObject({ reason: 'unroutable' });
    expect((await rabbit(server.tlsUrl)(2)).kind).toBe('failed');

    const quiet = await silence();
    const { host } = new URL(server.url);
    const send = rabbit(server.url.replace(host, `127.0.0.1:1,127.0.0.1:${quiet.port},${host}`), { timeout: 6_000 });
    for (const number of [3, 4]) expect(failed(await send(number))).toMatchObject({ reason: 'unroutable' });
    expect(quiet.taken).toHaveLength(1);
  });
});
