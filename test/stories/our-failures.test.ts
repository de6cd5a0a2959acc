/** What lies between us and a receiver fails: it is seen, people hear of it, nobody is blamed, and then everything goes out at once. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { resumeSubscriber } from '../../src/actions/subscribers/outlook.ts';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { explainPurchase } from '../../src/domain/explain/explain.ts';
import { explainFacts } from '../../src/postgres/reports/explain.ts';
import { waitingDeliveries } from '../../src/postgres/reports/overview.ts';
import { startTestApi, type TestApi } from '../api/api.ts';
import { type Authority, makeAuthority } from '../support/certificates.ts';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { type HttpsReceiver, startHttpsReceiver } from '../support/https-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let authority: Authority;
let proxy: ConnectProxy;
let receiver: HttpsReceiver;
let t: TestApp;
let api: TestApi;
beforeAll(() => {
  authority = makeAuthority();
  setDefaultCACertificates([...getCACertificates('default'), authority.certificate]);
});
beforeEach(async () => {
  [proxy, receiver] = await Promise.all([startConnectProxy(), startHttpsReceiver(authority.issue('shop.example'))]);
  const env = { WEBHOOK_PROXY: `http://127.0.0.1:${proxy.port}`, SECRETS_KEY: 'an encryption key of many characters' };
  t = await startTestApp({ env });
  const url = `https://shop.example:${receiver.port}/hook`;
  await addSubscriber(
    { sql: t.app.sql, secrets: secretsOf(t.settings) },
    { name: 'far', url, types: null, sites: null, states: null, description: null },
  );
  api = await startTestApi({ sql: t.app.sql });
});
afterEach(async () => {
  await api.stop();
  await t.stop();
  await Promise.all([proxy.stop(), receiver.stop()]);
});

const live = (milliseconds: number, step = 10 * SECOND): Promise<void> =>
  t.liveInSteps(milliseconds, { step, passes: ['deliverOnce', 'judgeOnce'] });
const health = async () => (await api.call('GET', '/v1/subscribers/far')).body.health;
const incidents = async () =>
  t.app.sql<{ subscriber: string; isOpen: boolean }[]>`
    select subscriber, ended_at is null as "isOpen" from purchase_watch_internal.incidents where kind = 'subscriber'`;
const slackTexts = (): string => JSON.stringify(t.slack.received);
const sequencesOf = (purchase: string): number[] =>
  receiver.received
    .map(({ body }) => JSON.parse(body))
    .filter(({ data }) => data.purchaseId === purchase)
    .map(({ data }) => data.sequence);

test('a proxy that fails is seen everywhere, told on Slack after a while, and over with the first success', async () => {
  proxy.answer(502);
  const ids = await watchMany(t, 3);
  await t.app.deliverOnce();
  await live(2 * MINUTE);
  expect(await health()).toMatchObject({
    ...{ status: 'unreached', failures: 0, failingSince: null, pausedUntil: null },
    ...{ ourFailingSince: expect.any(String), ourError: 'The proxy made no connection: it answered 502.' },
  });
  expect(await waitingDeliveries(t.app.sql)).toContainEqual(expect.objectContaining({ pending: 3, parked: 0 }));
  const [{ id }] = await t.app.sql<[{ id: number }]>`select id::float8 as id from purchase_watch.purchases order by id limit 1`;
  const { policy: polling, webhooks } = t.settings;
  const facts = (await explainFacts(t.app.sql, { id, subscriber: 'far' }))!;
  const { matters, verdict } = explainPurchase(facts, { polling, schedule: webhooks.schedule });
  expect(matters.map(({ code }) => code)).toContain('subscriber_unreached');
  expect(verdict).not.toContain('All is well');
  expect(await incidents()).toEqual([]);

  await live(20 * MINUTE, 30 * SECOND);
  expect(await incidents()).toEqual([{ subscriber: 'far', isOpen: true }]);
  expect(slackTexts()).toContain('We cannot reach far');
  for (const purchases of [ids, ids]) await change(t, purchases);
  await live(SECOND);

  proxy.answer('tunnel');
  // One rest at most, whatever the age of what waits.
  await live(6 * MINUTE, MINUTE);
  expect(await statusesOf(t, 'far')).toEqual({ delivered: 9 });
  for (const purchase of ids) expect(sequencesOf(purchase)).toEqual([1, 2, 3]);
  expect(await health()).toMatchObject({ status: 'ok', ourFailures: 0, ourFailingSince: null, ourError: null });
  await live(10 * MINUTE, MINUTE);
  expect(await incidents()).toEqual([{ subscriber: 'far', isOpen: false }]);
  expect(slackTexts()).toContain('takes events again');
});

test('a blip costs an old event seconds, and the first success lets the others go at once', async () => {
  await watchMany(t, 4);
  t.clock.advance('72h');
  proxy.answer(502);
  await t.app.deliverOnce();
  expect((await statusesOf(t, 'far')).pending).toBe(4);
  proxy.answer('tunnel');
  await live(8 * SECOND, SECOND);
  expect(await statusesOf(t, 'far')).toEqual({ delivered: 4 });
});

test('whoever mended it need not wait: resume has everything tried at once', async () => {
  proxy.answer(502);
  await watchMany(t, 4);
  await live(61 * MINUTE, MINUTE);
  proxy.answer('tunnel');
  await t.app.deliverOnce();
  expect((await statusesOf(t, 'far')).delivered).toBeUndefined();
  await resumeSubscriber(t.app.sql, 'far');
  await t.app.deliverOnce();
  expect(await statusesOf(t, 'far')).toEqual({ delivered: 4 });
});
