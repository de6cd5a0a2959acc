/** The dead man's switch of a daemon at work: called while it runs, and not any more when nobody can be told. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lastSwitchCall } from '../../src/postgres/shards/dead-mans-switch.ts';
import { type StandIn, startStandIn } from '../support/stand-in.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let monitor: StandIn<string>;
let t: TestApp;
beforeEach(async () => {
  monitor = await startStandIn<string>(({ path }) => ({ kept: path }));
});
afterEach(async () => {
  await t.stop();
  await monitor.stop();
});

test('a daemon calls it soon after its start, and its address is in no log', async () => {
  t = await startTestApp({ realClock: true, env: { DEAD_MANS_SWITCH_URL: `${monitor.origin}/a-secret-id` } });
  await t.app.start();
  await monitor.waitFor((received) => received.length > 0);
  await expect.poll(() => lastSwitchCall(t.database.sql)).toBeGreaterThan(Date.now() - 60_000);
  const metrics = async () => (await fetch(`${t.app.url()}/metrics`)).text();
  // The loop is well a moment after its first call.
  await expect.poll(metrics).toMatch(/purchase_watch_loop_healthy\{loop="dead_mans_switch"\} 1/);
  expect(await metrics()).toMatch(/purchase_watch_channel_up\{channel="@slack"\} 1/);
  await t.app.stop();
  // A slow machine may take longer than the minute between two calls.
  expect(new Set(monitor.received)).toEqual(new Set(['/a-secret-id']));
  expect(t.log.join('')).not.toContain('a-secret-id');
});

test('a daemon whose only channel is off says why it does not call', async () => {
  t = await startTestApp({ realClock: true, env: { DEAD_MANS_SWITCH_URL: `${monitor.origin}/a-secret-id` } });
  await t.database
    .sql`update purchase_watch_internal.subscribers set status = 'off', status_reason = 'no_service' where name = '@slack'`;
  await t.app.start();
  await expect.poll(() => t.log.join('')).toContain('No channel for people takes messages.');
  expect(monitor.received).toEqual([]);
});
