import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp();
});
afterEach(() => t.stop());

test('a purchase paid between two polls is announced once', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '30s' }] });
  await t.app.pollOnce();
  t.clock.advance('1m');
  await t.app.pollOnce();
  await t.app.pollOnce();
  await t.app.deliverOnce();

  expect(t.changesOf(purchase)).toEqual(['New', 'Completed']);
  expect(t.receiver.received.every((event) => event.verified)).toBe(true);
});
