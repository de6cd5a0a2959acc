import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/store/purchases.ts';
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
      >`select count(*)::int as n from purchase_watch.shards where owner is not null group by owner`
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
}, 120_000);
