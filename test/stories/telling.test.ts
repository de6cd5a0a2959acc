import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp();
});
afterEach(() => t.stop());

/** A purchase that was seen in three states, with nothing told of it yet. */
async function threeChanges(): Promise<string> {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  for (const state of [null, 'BeingProcessed', 'Completed']) {
    if (state) t.simulator.control.setState(purchase, state);
    await t.app.pollOnce();
    t.clock.advance('1m');
  }
  return purchase;
}
const deliveries = () =>
  t.app.sql<{ status: string; attempts: number; lastError: string | null }[]>`
    select status, attempts, last_error as "lastError" from purchase_watch_internal.deliveries order by event`;

test('a failing receiver gets each event again, later, with the same id and bytes, and in order', async () => {
  const purchase = await threeChanges();
  t.receiver.respond({ status: 500 }, { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, { status: 404 });
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(1);
  t.clock.advance('4s');
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(1);
  for (const wait of ['2s', '6m', '36m']) {
    t.clock.advance(wait);
    await t.app.deliverOnce();
  }
  const received = t.receiver.received.map(({ body }) => JSON.parse(body).data.sequence);
  expect(received).toEqual([1, 1, 1, 1, 2, 3]);
  expect(new Set(t.receiver.received.slice(0, 4).map(({ id, body }) => id + body)).size).toBe(1);
  expect(t.changesOf(purchase).slice(-2)).toEqual(['BeingProcessed', 'Completed']);
  expect(await deliveries()).toMatchObject([
    { status: 'delivered', attempts: 4 },
    { status: 'delivered', attempts: 1 },
    { status: 'delivered' },
  ]);
});

test('one purchase whose events are refused does not hold up the others', async () => {
  const held = await threeChanges();
  t.receiver.respond({ status: 503 });
  await t.app.deliverOnce();
  const free = await threeChanges();
  // The held lane is due again by now; only this one is refused.
  t.receiver.respond({ status: 503 });
  await t.app.deliverOnce();
  expect(t.changesOf(free)).toEqual(['New', 'BeingProcessed', 'Completed']);
  expect(new Set(t.changesOf(held))).toEqual(new Set(['New']));
});

test('Retry-After delays, and never hastens', async () => {
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  t.receiver.respond({ status: 429, headers: { 'retry-after': '60' } }, { status: 429, headers: { 'retry-after': '1' } });
  await t.app.deliverOnce();
  t.clock.advance('30s');
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(1);
  t.clock.advance('40s');
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(2);
  t.clock.advance('4m');
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(2);
  t.clock.advance('2m');
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(3);
});

test('a schedule that is used up ends in exhausted, and the lane goes on', async () => {
  const purchase = await threeChanges();
  t.receiver.respond(...Array.from({ length: 10 }, () => ({ status: 500 })));
  for (let attempt = 0; attempt < 10; attempt++) {
    await t.app.deliverOnce();
    t.clock.advance('1d');
    t.clock.advance('3h');
  }
  await t.app.deliverOnce();
  expect(await deliveries()).toMatchObject([
    { status: 'exhausted', attempts: 10 },
    { status: 'delivered' },
    { status: 'delivered' },
  ]);
  expect(t.changesOf(purchase).slice(-2)).toEqual(['BeingProcessed', 'Completed']);
});

test('410 switches the subscriber off, says so, and what comes later is suppressed', async () => {
  await threeChanges();
  t.receiver.respond({ status: 410 });
  await t.app.deliverOnce();
  t.clock.advance('1h');
  await threeChanges();
  await t.app.deliverOnce();
  expect(t.receiver.received).toHaveLength(1);
  expect(t.log.join('')).toContain('subscriber.switched_off');
  const [row] = await t.app.sql`select status, status_reason from purchase_watch_internal.subscribers where name = 'default'`;
  expect(row).toMatchObject({ status: 'off' });
  expect((await deliveries()).map(({ status }) => status)).toEqual([
    'pending',
    'pending',
    'pending',
    'suppressed',
    'suppressed',
    'suppressed',
  ]);
});

test('announced bytes are the stored bytes', async () => {
  await t.watch(
    { script: [{ state: 'New' }], price: '1.10' },
    { metadata: '{"b": 1.0, "a": [1e3, "\\u00e5"], "n": 12345678901234567890.10}' },
  );
  await t.app.pollOnce();
  t.receiver.respond({ status: 500 });
  await t.app.deliverOnce();
  t.clock.advance('1m');
  await t.app.deliverOnce();
  const stored = await t.app.sql<{ id: string; body: string }[]>`select id, body from purchase_watch_internal.events`;
  expect(t.receiver.received.map(({ id, body }) => ({ id, body }))).toEqual([stored[0], stored[0]]);
  expect(stored[0]!.body).toContain('12345678901234567890.10');
  expect(stored[0]!.body).toContain('"price":1.10');
});

test('subscribers get the types, sites and states they asked for', async () => {
  await t.stop();
  t = await startTestApp({
    change: (settings) => {
      settings.subscribers[0] = {
        ...settings.subscribers[0]!,
        types: ['purchase.state_changed'],
        states: [2],
        sites: ['default'],
      };
    },
  });
  const purchase = await threeChanges();
  await t.app.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['Completed']);
});

test('an address that is not public is refused unless it is allowed', async () => {
  await t.stop();
  t = await startTestApp({ env: { WEBHOOK_ALLOW_ADDRESSES: '10.0.0.0/8' } });
  await threeChanges();
  await t.app.deliverOnce();
  expect(t.receiver.received).toEqual([]);
  expect((await deliveries())[0]!.lastError).toMatch(/127\.0\.0\.1.*WEBHOOK_ALLOW_ADDRESSES/);
});
