/** A daemon as an operator starts it in a network where everything leaves through a proxy: the environment alone says so. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startDaemon } from '../support/daemon.ts';
import { testDatabase } from '../support/database.ts';
import { startHttpsReceiver } from '../support/https-receiver.ts';
import { SECRET } from '../support/test-app.ts';

test('a daemon polls and delivers through the proxies of its environment, names one that fails, and stops while it hangs', async () => {
  const authority = makeAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  writeFileSync(join(folder, 'ca.pem'), authority.certificate);
  const simulator = createSimulator({ allowHosts: ['pay.example'] });
  const [database, shop, secure, plain] = await Promise.all([
    testDatabase(),
    startHttpsReceiver(authority.issue('shop.example')),
    startConnectProxy(authority.issue('localhost'), 'me:hush hush'),
    startConnectProxy(),
    simulator.start(),
  ]);
  const baseUrl = simulator.url.replace('127.0.0.1', 'pay.example');
  const daemon = startDaemon(['start'], {
    ...{ DATABASE_URL: database.url, PORT: '0', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
    ...{ CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
    CHECKOUT_BASE_URL: baseUrl,
    ...{ WEBHOOK_URL: `https://shop.example:${shop.port}/hook`, WEBHOOK_SECRET: SECRET },
    ...{ HTTPS_PROXY: `https://me:hush%20hush@localhost:${secure.port}`, http_proxy: `http://127.0.0.1:${plain.port}` },
    NO_PROXY: 'localhost,10.0.0.0/8',
  });
  onTestFinished(async () => {
    await daemon.end('SIGKILL');
    await Promise.all([shop.stop(), secure.stop(), plain.stop(), simulator.stop()]);
    await database.drop();
    rmSync(folder, { recursive: true });
  });
  const watch = async (): Promise<void> => {
    const { purchaseId } = simulator.control.add({ script: [{ state: 'New' }] });
    await register(database.sql, [{ purchaseId, site: null, reference: null, metadata: null }]);
  };
  await daemon.says('"started"');
  await watch();
  await expect.poll(() => shop.received.length).toBe(1);
  expect(shop.received[0]!.headers).not.toHaveProperty('proxy-authorization');
  secure.answer(403);
  secure.cut();
  await watch();
  await expect.poll(() => daemon.output()).toContain('proxy_refused');
  expect(secure.asked[0]!.target).toBe(`shop.example:${shop.port}`);
  expect(plain.asked[0]!.target).toBe(new URL(baseUrl).host);

  plain.answer('silence');
  plain.cut();
  await watch();
  await expect.poll(() => daemon.output()).toContain(`The proxy 127.0.0.1:${plain.port} (http_proxy) made no connection`);
  expect(await daemon.end('SIGTERM')).toBe(0);
  expect(daemon.output()).not.toContain('hush');
});
