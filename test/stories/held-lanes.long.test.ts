/** Many lanes that are held by their first delivery must not keep a subscriber's other deliveries from being read. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { change, statusesOf, watchMany } from '../support/changes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let receiver: SteeredReceiver;
afterEach(async () => {
  await t.stop();
  await receiver.stop();
});

test('after a pause with eighty purchases that are refused, everything goes out again', async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({ env: { WEBHOOK_URL: receiver.url } });
  const refused = await watchMany(t, 80);
  const healthy = await watchMany(t, 20);
  await t.app.deliverOnce();

  // Each is refused twice, a few at a time, so that the subscriber is never paused for it.
  receiver.steer(async ({ purchaseId, sequence }) => {
    await delay(5);
    t.clock.advance('1ms');
    return { status: refused.includes(purchaseId!) && sequence === 2 ? 500 : 200 };
  });
  for (let at = 0; at < 80; at += 16) {
    await change(t, refused.slice(at, at + 16));
    await t.app.deliverOnce();
    await change(t, healthy);
    await t.app.deliverOnce();
    t.clock.advance('6s');
    await t.app.deliverOnce();
    await change(t, healthy);
    await t.app.deliverOnce();
  }
  await change(t, refused);
  await t.app.deliverOnce();
  expect((await statusesOf(t, 'default')).pending ?? 0).toBeGreaterThanOrEqual(80);

  // Then it is down for half an hour, and paused.
  receiver.steer(() => {
    t.clock.advance('1ms');
    return { status: 503 };
  });
  for (let step = 0; step < 120; step++) {
    if (step < 4) await change(t, healthy.slice(step, step + 1));
    t.clock.advance('15s');
    await t.app.deliverOnce();
  }
  receiver.steer(() => {
    t.clock.advance('1ms');
    return { status: 200 };
  });
  await change(t, healthy);
  t.clock.advance('80h');
  await t.app.deliverOnce();
  expect(await statusesOf(t, 'default')).toEqual({ delivered: expect.any(Number) });
  for (const id of refused) {
    const firsts = [...new Set(receiver.arrivals.filter(({ purchaseId }) => purchaseId === id).map(({ sequence }) => sequence))];
    expect(firsts).toEqual([1, 2, 3]);
  }
});
