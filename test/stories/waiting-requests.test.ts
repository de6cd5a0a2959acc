import { afterEach, expect, test } from 'vitest';
import { fetchAsMachine } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

test('while a transaction of another program holds a purchase, reads and readiness are answered, and who waits for it is told', async () => {
  // Four connections for changes.
  t = await startTestApp({ realClock: true, env: { DATABASE_CONNECTIONS: '27' } });
  await t.app.start();
  const origin = t.app.url()!;
  const watched = await t.watch();
  const register = async (): Promise<{ status: number; code?: string; retryAfter: string | null }> => {
    const body = JSON.stringify({ purchaseId: 'held' });
    const answer = await fetchAsMachine(`${origin}/v1/purchases`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    const { code } = (await answer.json()) as { code?: string };
    return { status: answer.status, ...(code === undefined ? {} : { code }), retryAfter: answer.headers.get('retry-after') };
  };
  const isOver = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const holding = t.database.sql.begin(async (tx) => {
    await tx`select purchase_watch.watch('held')`;
    isHeld.resolve();
    await isOver.promise;
  });
  await isHeld.promise;

  const answered: Awaited<ReturnType<typeof register>>[] = [];
  const posts = Array.from({ length: 9 }, () => register().then((answer) => void answered.push(answer)));
  const waiting = async (): Promise<number> => {
    const [row] = await t.database.sql<[{ count: number }]>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return row.count;
  };
  await expect.poll(waiting, { interval: 20 }).toBeGreaterThanOrEqual(4);
  for (const path of ['/readyz', '/metrics', '/v1/purchases', `/v1/purchases/${watched}`, '/v1/overview', '/v1/events']) {
    expect([path, (await fetchAsMachine(origin + path)).status]).toEqual([path, 200]);
  }
  // Nobody had to wait for those that wait for the lock.
  expect(answered).toEqual([]);

  await expect.poll(() => answered.length, { interval: 20 }).toBeGreaterThanOrEqual(4);
  expect(answered[0]).toEqual({ status: 503, code: 'locked', retryAfter: '5' });
  isOver.resolve();
  await holding;
  await Promise.all(posts);
  expect(
    answered.every(({ status, code }) => status === 200 || (status === 503 && ['locked', 'busy'].includes(code ?? ''))),
  ).toBe(true);
  expect((await register()).status).toBe(200);
  expect(t.log.filter((line) => line.includes('"api.refused"')).length).toBe(1);
  expect(t.log.filter((line) => line.includes('"api.failed"'))).toEqual([]);
});
