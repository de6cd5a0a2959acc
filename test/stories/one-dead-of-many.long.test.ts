/** Subscribers that are dead keep nothing from the others. By counting, not by the clock: the dead hold what they got all the time. */
import { afterEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { statusesOf } from '../support/changes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let dead: SteeredReceiver;
const release = Promise.withResolvers<void>();
afterEach(async () => {
  release.resolve();
  await t.stop();
  await dead.stop();
});

/** Purchases that are polled at once, one event each. */
async function manyMore(count: number): Promise<string[]> {
  const ids = t.simulator.control.addMany(count, { script: [{ state: 'Completed' }] }).map(({ purchaseId }) => purchaseId);
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  return ids;
}

test('with a dozen subscribers that never answer and hold all that a replica sends at once, another one gets everything', async () => {
  dead = await startSteeredReceiver();
  t = await startTestApp({
    realClock: true,
    env: { SECRETS_KEY: 'an encryption key of many characters' },
    change: ({ webhooks }) => Object.assign(webhooks, { timeout: 120_000 }),
  });
  const means = { sql: t.app.sql, secrets: secretsOf(t.settings) };
  const names = Array.from({ length: 12 }, (_, index) => `dead-${index + 1}`);
  for (const name of names)
    await addSubscriber(means, { name, url: dead.url, types: null, sites: null, states: null, description: null });
  dead.steer(async () => {
    await release.promise;
    return { status: 200 };
  });
  await t.app.start();
  const first = await manyMore(200);
  await t.receiver.waitFor((received) => received.length >= 200, 40_000);
  // They hold what they may: nothing more comes to them until it is answered.
  let held = -1;
  await expect
    .poll(
      () => {
        const isSteady = held === dead.inFlight() && held > 0;
        held = dead.inFlight();
        return isSteady;
      },
      { interval: 500 },
    )
    .toBe(true);
  expect(dead.arrivals).toHaveLength(held);
  const bodies = dead.arrivals.map(({ id }) => id);
  expect(new Set(bodies).size, 'each of the dead got some').toBeGreaterThan(0);
  const second = await manyMore(200);
  await t.receiver.waitFor((received) => received.length >= 400, 40_000);
  for (const id of [...first, ...second]) expect(t.changesOf(id)).toEqual(['Completed']);
  // Not one answer came from the dead meanwhile.
  expect(dead.inFlight()).toBe(dead.arrivals.length);
  const most = t.settings.webhooks.concurrency;
  expect(dead.inFlight()).toBeLessThanOrEqual(12 * most);
  for (const name of names) expect((await statusesOf(t, name)).pending).toBe(400);

  release.resolve();
  const isDone = async (): Promise<boolean> =>
    (await Promise.all(names.map((name) => statusesOf(t, name)))).every(({ delivered }) => delivered === 400);
  await expect.poll(isDone, { interval: 200 }).toBe(true);
  expect(dead.arrivals).toHaveLength(12 * 400);
});
