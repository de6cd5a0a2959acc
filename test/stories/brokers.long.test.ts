/** Two brokers named in the settings file get what a webhook gets: every event, in order, once, also through an outage. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/actions/overview/finding.ts';
import { runCommand } from '../cli/run.ts';
import { askNats } from '../support/nats-operator.ts';
import { NATS_PASSWORD, type NatsServer, noNats, startNatsServer } from '../support/nats-server.ts';
import { RabbitOperator } from '../support/rabbitmq-operator.ts';
import { noRabbit, type RabbitServer, startRabbitServer } from '../support/rabbitmq-server.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

const missing = noNats ?? noRabbit;
if (missing !== null) console.warn(`not tested: ${missing}`);

/** A message at either broker, in its own words. */
interface Kept {
  readonly id: string;
  readonly address: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

describe.skipIf(missing !== null)('brokers of the settings file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  const file = join(folder, 'config.yaml');
  let nats: NatsServer;
  let rabbit: RabbitServer;
  let operator: RabbitOperator;
  let t: TestApp;

  beforeAll(async () => {
    [nats, rabbit] = await Promise.all([startNatsServer(), startRabbitServer()]);
    await askNats(nats, (who) => who.addStream({ name: 'PURCHASES', subjects: ['purchases.>'] }));
    operator = new RabbitOperator(rabbit.url);
    const wire = await operator.wire();
    await wire.assertExchange('purchases', 'topic', { durable: true });
    await wire.assertQueue('books', { durable: true });
    await wire.bindQueue('books', 'purchases', 'purchase.#');
    writeFileSync(
      file,
      `subscribers:
  stream: { url: "${nats.url}", subject: "purchases.{site}.{type}", secret: "${SECRET}", types: [purchase.state_changed] }
  books:
    { url: "${rabbit.url}", exchange: purchases, routingKey: "{type}", format: cloudevents, types: [purchase.state_changed] }
`,
    );
    t = await startTestApp({ env: { PURCHASE_WATCH_CONFIG: file } });
  });
  afterAll(async () => {
    await t?.stop();
    await operator?.close();
    await Promise.all([nats?.stop(), rabbit?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const inStream = async (): Promise<Kept[]> => {
    const kept = await askNats(nats, (who) => who.kept('PURCHASES'));
    return kept.map(({ subject, body, headers }) => ({ id: headers['webhook-id']!, address: subject, body, headers }));
  };
  const inQueue = async (): Promise<Kept[]> =>
    (await operator.kept('books')).map(({ properties, fields, content }) => ({
      id: properties.messageId,
      address: fields.routingKey,
      body: content.toString(),
      headers: properties.headers!,
    }));

  const change = async (purchase: string, state: string): Promise<void> => {
    t.simulator.control.setState(purchase, state);
    t.clock.advance('1m');
    await t.app.pollOnce();
    await t.app.deliverOnce();
  };

  test('hold every event in order, exactly once, though both were down in between', async () => {
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await t.app.pollOnce();
    await t.app.deliverOnce();
    await Promise.all([nats.kill(), rabbit.kill()]);
    await change(purchase, 'BeingProcessed');
    await change(purchase, 'Completed');
    // The webhook is not kept waiting by brokers that are down.
    expect(t.changesOf(purchase)).toEqual(['New', 'BeingProcessed', 'Completed']);
    await Promise.all([nats.start(), rabbit.start()]);
    for (let wait = 0; wait < 3; wait++) {
      t.clock.advance('6m');
      await t.app.deliverOnce();
    }

    const stored = await t.app.sql<{ id: string; body: string }[]>`
      select id, body from purchase_watch_internal.events where type = 'purchase.state_changed' order by position`;
    expect(stored).toHaveLength(3);
    const stream = await inStream();
    expect(stream.map(({ id, body }) => ({ id, body }))).toEqual([...stored]);
    expect(new Set(stream.map(({ address }) => address))).toEqual(new Set(['purchases.default.purchase.state_changed']));
    const books = await inQueue();
    expect(books.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    expect(books.map(({ body }) => JSON.parse(body).data.to.name)).toEqual(['New', 'BeingProcessed', 'Completed']);
    expect(JSON.parse(books[0]!.body)).toMatchObject({ specversion: '1.0', id: stored[0]!.id, subject: purchase });

    // Signed at the time of the test's clock, which is that of this machine moved on.
    for (const { body, headers } of stream) {
      const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
      expect(new Webhook(SECRET).sign(headers['webhook-id']!, at, body)).toBe(headers['webhook-signature']);
    }
    expect(t.log.join('')).not.toContain(NATS_PASSWORD);
    expect(t.log.join('')).not.toContain('guest');
  });

  test('doctor tries both with a test event, and says what it has no place for', async () => {
    const env = {
      DATABASE_URL: t.database.url,
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
      PURCHASE_WATCH_CONFIG: file,
      PORT: '0',
    };
    const { stdout } = await runCommand(['doctor', '--json'], env);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const of = (name: string): Finding | undefined => findings.find(({ about }) => about === `receiver ${name}`);
    expect(of('stream')).toMatchObject({ verdict: 'ok', found: expect.stringContaining('stream PURCHASES, sequence 4') });
    expect(of('books')).toMatchObject({
      verdict: 'warning',
      found: expect.stringContaining('for the routing key subscriber.test'),
    });
  });

  test('a queue that is missing is said in the ledger, and the event goes there as soon as there is one', async () => {
    const wire = await operator.wire();
    await wire.unbindQueue('books', 'purchases', 'purchase.#');
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    await t.app.pollOnce();
    await t.app.deliverOnce();
    const [waiting] = await t.app.sql<{ lastError: string }[]>`
      select last_error as "lastError" from purchase_watch_internal.deliveries where status = 'pending'`;
    expect(waiting?.lastError).toContain('No queue is bound to the exchange purchases');
    await wire.bindQueue('books', 'purchases', 'purchase.#');
    t.clock.advance('1m');
    await t.app.deliverOnce();
    expect((await inQueue()).map(({ body }) => JSON.parse(body).subject)).toEqual([purchase]);
  });
});
