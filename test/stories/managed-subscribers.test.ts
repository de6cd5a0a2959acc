import { afterEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { request } from '../api/api.ts';
import { startReceiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

test('every replica follows a change at once, whichever was asked', async () => {
  t = await startTestApp({ realClock: true, env: { SECRETS_KEY: 'an encryption key of many characters' } });
  await t.app.start();
  const other = await t.another();
  await other.start();
  const owners = async () =>
    (
      await t.app.sql<
        { n: number }[]
      >`select count(*)::int as n from purchase_watch_internal.shards where owner is not null group by owner`
    ).map(({ n }) => n);
  await expect.poll(owners).toEqual([32, 32]);
  const receiver = await startReceiver();
  const call = (method: string, path: string, json?: unknown) => request(other.url() + path, method, { json });
  await call('POST', '/v1/subscribers', { name: 'books', url: receiver.url });
  const watchMany = async (): Promise<string[]> => {
    const ids = t.simulator.control.addMany(30, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
    await register(
      t.app.sql,
      ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
    );
    return ids;
  };
  await watchMany();
  await receiver.waitFor((received) => received.length === 30);
  await call('DELETE', '/v1/subscribers/books');
  const later = await watchMany();
  await t.receiver.waitFor(() => later.every((id) => t.changesOf(id).length === 1));
  expect(receiver.received).toHaveLength(30);
  await receiver.stop();
});

test('what somebody adds by the API reaches nothing that the operator allowed for the settings alone', async () => {
  t = await startTestApp({
    env: { SECRETS_KEY: 'an encryption key of many characters', WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.1:1' },
  });
  const receiver = await startReceiver();
  const wishes = { types: null, sites: null, states: null, description: null };
  const means = { sql: t.app.sql, secrets: secretsOf(t.settings) };
  // Past the checks of the API, as by a name that comes to stand for another address later.
  await addSubscriber(means, { name: 'books', url: receiver.url, ...wishes });
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['New']);
  expect([receiver.received, receiver.connections()]).toEqual([[], 0]);
  const refused =
    /^127\.0\.0\.1 may be called at port 1, and not at \d+\. .* WEBHOOK_API_ALLOW_ADDRESSES or webhooks\.apiAllowAddresses/;
  const [waiting] = await t.app.sql<{ lastError: string }[]>`
    select d.last_error from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = 'books'`;
  expect(waiting!.lastError).toMatch(refused);
  await t.app.start();
  const { status, body } = await request(`${t.app.url()}/v1/subscribers`, 'POST', { json: { name: 'more', url: receiver.url } });
  expect([status, body.errors]).toEqual([
    400,
    [expect.objectContaining({ field: 'url', detail: expect.stringMatching(refused) })],
  ]);
  await receiver.stop();
});
