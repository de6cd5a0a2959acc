import { expect, test } from 'vitest';
import { startTestApp } from '../support/test-app.ts';

test('a daemon that finds its port taken takes no shards from the one that runs', async () => {
  const t = await startTestApp({ realClock: true });
  await t.app.start();
  const shards = () => t.app.sql`select id, owner, epoch from purchase_watch_internal.shards order by id`;
  const before = [...(await shards())];
  t.settings.port = Number(new URL(t.app.url()!).port);
  const second = await t.another();

  await expect(second.start()).rejects.toThrow(`port ${t.settings.port} of 127.0.0.1 is in use`);
  await second.stop();

  expect([...(await shards())]).toEqual(before);
  expect(before.every(({ owner }) => owner !== null)).toBe(true);
  await t.stop();
});
