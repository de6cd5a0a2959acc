/** An hour without the database leaves fewer than 2 000 lines in the log: what repeats is logged once, or once a minute. */
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { startDaemon } from '../support/daemon.ts';
import { startKillablePostgres } from '../support/killable-postgres.ts';
import { SECRET } from '../support/test-app.ts';

const MOST_AN_HOUR = 2_000;
/** Lines of the first moments come once: they count against the hour, and the rate is that of the time after them. */
const SETTLED_AFTER = 10_000;
const MEASURED = 20_000;

test('under load, with callers of the API and a receiver that is slow', async () => {
  const server = await startKillablePostgres();
  const simulator = createSimulator();
  await simulator.start();
  const receiver = createServer((_, response) => void setTimeout(() => response.writeHead(200).end(), 1_000));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const receiverUrl = `http://127.0.0.1:${(receiver.address() as { port: number }).port}/`;
  const daemon = startDaemon(['start'], {
    DATABASE_URL: server.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: receiverUrl,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    SLACK_WEBHOOK_URL: receiverUrl,
    PORT: '0',
  });
  onTestFinished(async () => {
    await daemon.end('SIGKILL');
    await server.stop();
    await simulator.stop();
    receiver.closeAllConnections();
    receiver.close();
  });
  const lines = (): { event: string; url?: string }[] =>
    daemon
      .output()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  await daemon.says('"started"');
  const sql = connect(server.url, { max: 1 });
  const script = [{ state: 'New' }, ...[1, 2, 3, 4].map((n) => ({ state: n % 2 ? 'BeingProcessed' : 'New', after: `${n}s` }))];
  const purchases = simulator.control.addMany(300, { script });
  await register(
    sql,
    purchases.map(({ purchaseId }) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  await sql.end();
  await daemon.says('"purchase.state_changed"');
  await expect.poll(() => purchases.every(({ purchaseId }) => simulator.control.callsOf(purchaseId) > 0)).toBe(true);

  const before = lines().length;
  await server.kill();
  const api = lines().find(({ event }) => event === 'api.listening')!.url;
  const calls = setInterval(() => {
    for (const path of ['/readyz', '/v1/purchases', '/metrics'])
      void fetch(api + path).then(
        (answer) => answer.text(),
        () => '',
      );
  }, 200);
  onTestFinished(() => clearInterval(calls));
  await delay(SETTLED_AFTER);
  const settled = lines().length;
  await delay(MEASURED);
  const after = lines();
  const anHour = settled - before + ((after.length - settled) * 3_600_000) / MEASURED;
  const counted = Object.fromEntries(
    [...Map.groupBy(after.slice(before), ({ event }) => event)].map(([event, { length }]) => [event, length]),
  );
  expect(counted).toMatchObject({ 'loop.failed': expect.any(Number), 'listen.lost': 1 });
  expect(anHour, JSON.stringify(counted)).toBeLessThan(MOST_AN_HOUR);
  await server.restart();
  await daemon.says('"listen.resumed"');
  await daemon.says('"loop.recovered"');
}, 300_000);
