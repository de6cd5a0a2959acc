/** What doctor says of proxies: which way each address is called, and what to do about a proxy that fails. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../../../packages/simulator/src/simulator.ts';
import type { Finding } from '../../../src/actions/overview/finding.ts';
import { sealKeys, sealUrl } from '../../../src/channels/outgoing/sealed.ts';
import { insertSubscriber } from '../../../src/postgres/subscribers/changes.ts';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { runCommand } from '../../cli/run.ts';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { SECRET } from '../../support/test-app.ts';

const SECRETS_KEY = 'an encryption key of many characters';
let database: TestDatabase;
let proxy: ConnectProxy;
let simulator: Simulator;
beforeEach(async () => {
  simulator = createSimulator({ allowHosts: ['pay.example'] });
  [database, proxy] = await Promise.all([testDatabase(), startConnectProxy(undefined, 'me:hush'), simulator.start()]);
});
afterEach(async () => {
  await Promise.all([proxy.stop(), simulator.stop()]);
  await database.drop();
});

/** Runs doctor; answers its findings about one thing, and about everything. */
async function doctor(env: Record<string, string>) {
  const { stdout } = await runCommand(['doctor', '--json'], {
    ...{ DATABASE_URL: database.url, SECRETS_KEY, PORT: '0', CHECKOUT_TIMEOUT: '2s' },
    ...{ CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
    CHECKOUT_BASE_URL: simulator.url.replace('127.0.0.1', 'pay.example'),
    ...env,
  });
  expect(stdout).not.toMatch(/hush|a-secret-path/);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return (about: string): string[] =>
    findings.flatMap(({ about: each, verdict, found, todo }) => (each === about ? [`${verdict}: ${found} → ${todo}`] : []));
}

test('the way of each address is said once a proxy is set, and the site is tried through it', async () => {
  const secrets = createSecrets(SECRETS_KEY);
  await insertSubscriber(database.sql, {
    ...{ name: 'books', types: null, sites: null, states: null, description: null },
    ...{ options: null, format: 'standard', addressHash: 'x' },
    url: sealUrl(secrets, 'books', 'https://books.example/a-secret-path'),
    keys: sealKeys(secrets, 'books', [{ key: SECRET, until: null }]),
  });
  const by = `127.0.0.1:${proxy.port}`;
  const about = await doctor({
    ...{ HTTP_PROXY: `http://me:hush@${by}`, HTTPS_PROXY: `http://me:wrong-hush@${by}`, NO_PROXY: 'hooks.example' },
    ...{ WEBHOOK_URL: 'http://shop.example/a-secret-path', WEBHOOK_SECRET: SECRET },
    SLACK_WEBHOOK_URL: 'https://slack.example/a-secret-path',
    DEAD_MANS_SWITCH_URL: 'https://hooks.example/a-secret-path',
  });
  expect(about('site default')).toContainEqual(expect.stringMatching(/^ok: http:\/\/pay\.example:\d+ answers/));
  const site = `ok: ${simulator.url.replace('127.0.0.1', 'pay.example')} is called through the proxy ${by} (HTTP_PROXY) → null`;
  expect(about('site default')).toContain(site);
  expect(about('receiver default')).toContain('ok: http://shop.example/… is called directly (http webhooks use no proxy) → null');
  expect(about('receiver books')).toEqual([
    expect.stringMatching(/^failed: .*The proxy made no connection: it answered 407, so .* → mend the proxy, or its address/),
    `ok: https://books.example/… is called through the proxy ${by} (HTTPS_PROXY) → null`,
  ]);
  expect(about('slack')).toEqual([
    expect.stringMatching(/^failed: The proxy made no connection: it answered 407, so .* → mend the proxy, or its address/),
    `ok: https://slack.example/… is called through the proxy ${by} (HTTPS_PROXY) → null`,
  ]);
  expect(about("dead man's switch")).toContain('ok: https://hooks.example/… is called directly (NO_PROXY) → null');
});

test('a proxy that fails is named at the site, with what to do', async () => {
  proxy.answer(403);
  const address = `http://me:hush@127.0.0.1:${proxy.port}`;
  const refused = (await doctor({ CHECKOUT_PROXY: address }))('site default').join('\n');
  expect(refused).toMatch(/^failed: .* \(CHECKOUT_PROXY\) refuses this address: .* → have the proxy allow this address/m);
  const away = (await doctor({ CHECKOUT_PROXY: 'http://127.0.0.1:1' }))('site default').join('\n');
  expect(away).toMatch(/^failed: .*127\.0\.0\.1:1 \(CHECKOUT_PROXY\) made no connection: .*ECONNREFUSED.* → mend the proxy/m);
});

test('without a proxy nothing is said of ways', async () => {
  const about = await doctor({ CHECKOUT_BASE_URL: simulator.url });
  expect(about('site default').join()).not.toContain('is called');
});
