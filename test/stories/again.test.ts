import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendAgain } from '../../src/actions/subscribers/replay.ts';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { retryDelivery } from '../../src/postgres/deliveries/deliveries-again.ts';
import { findDelivery } from '../../src/postgres/deliveries/delivery-list.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let books: Receiver;
beforeEach(async () => {
  t = await startTestApp({ inventsEvents: true, env: { SECRETS_KEY: 'an encryption key of many characters' } });
  books = await startReceiver();
});
afterEach(async () => {
  await t.stop();
  await books.stop();
});

const means = () => ({ sql: t.app.sql, secrets: secretsOf(t.settings) });
const everything = { types: null, sites: null, states: null, description: null };

/** A purchase that was seen in these states, a minute between them. */
async function seen(...states: string[]): Promise<string> {
  const purchase = await t.watch({ script: [{ state: states[0]! }] });
  for (const state of states) await changed(purchase, state);
  return purchase;
}
async function changed(purchase: string, state: string): Promise<void> {
  t.simulator.control.setState(purchase, state);
  t.clock.advance('1m');
  await t.app.pollOnce();
}
const sequences = (): number[] => t.receiver.received.map(({ body }) => JSON.parse(body).data.sequence);
const deliveryOf = async (sequence: number): Promise<number> => {
  const [row] = await t.app.sql<{ id: number }[]>`
    select d.id::float8 as id from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event where e.sequence = ${sequence}`;
  return row!.id;
};

describe('a delivery that is sent again by hand', () => {
  test('frees what waited behind it when it gets through', async () => {
    await seen('New', 'BeingProcessed', 'Completed');
    t.receiver.respondAlways({ status: 500 });
    for (const wait of ['10s', '10m', '1s']) {
      await t.app.deliverOnce();
      t.clock.advance(wait);
    }
    t.receiver.respondAlways({ status: 200 });
    const before = t.receiver.received.length;
    expect(await retryDelivery(t.app.sql, await deliveryOf(1))).toBe(true);
    for (const _ of [1, 2]) await t.app.deliverOnce();
    expect(sequences().slice(before)).toEqual([1, 2, 3]);
  });

  test('lets nothing newer pass one that waits for its next attempt', async () => {
    const purchase = await seen('New');
    await t.app.deliverOnce();
    t.receiver.respond({ status: 500 }, { status: 500 });
    await changed(purchase, 'BeingProcessed');
    await t.app.deliverOnce();
    t.clock.advance('10s');
    await t.app.deliverOnce();
    await changed(purchase, 'Completed');
    await retryDelivery(t.app.sql, await deliveryOf(1));
    await t.app.deliverOnce();
    t.clock.advance('10m');
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 2, 2, 2, 3, 1]);
  });

  test('and was delivered once holds up nothing that is new, though it fails, and however often it is asked for', async () => {
    const purchase = await seen('New');
    await t.app.deliverOnce();
    // The new one's answer is the second: what was sent again fails before it and after it.
    t.receiver.respond({ status: 500 }, { status: 200 }, { status: 500 });
    for (const _ of [1, 2]) await retryDelivery(t.app.sql, await deliveryOf(1));
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 1]);
    await changed(purchase, 'BeingProcessed');
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 1, 2, 1]);
    expect((await findDelivery(t.app.sql, await deliveryOf(2)))?.status).toBe('delivered');
    t.clock.advance('10m');
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 1, 2, 1, 1]);
  });

  test('and was delivered once waits for what is new, and says so', async () => {
    const purchase = await seen('New');
    await t.app.deliverOnce();
    await changed(purchase, 'BeingProcessed');
    const { waits } = await sendAgain(t.app.sql, await deliveryOf(1));
    expect(waits).toMatch(/^It waits for dlv_\d+, an event of the same purchase that is new and goes first/);
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 2, 1]);
  });

  test.each(['exhausted', 'suppressed'])('and was %s takes its place in the order', async (status) => {
    await seen('New', 'BeingProcessed');
    const id = await deliveryOf(1);
    await t.app.sql`
      update purchase_watch_internal.deliveries set status = ${status}, settled_at = now(), last_error = 'What it was.' where id = ${id}`;
    await retryDelivery(t.app.sql, id);
    // Why it was never sent is past; what an attempt brought still tells something.
    expect(await t.app.sql`select rank, last_error from purchase_watch_internal.deliveries where id = ${id}`).toEqual([
      { rank: 0, lastError: status === 'suppressed' ? null : 'What it was.' },
    ]);
    await t.app.deliverOnce();
    expect(sequences()).toEqual([1, 2]);
  });
});

test('one that is switched on again gets all that was in memory when it went off', async () => {
  await addSubscriber(means(), { name: 'books', url: books.url, ...everything });
  await t.app.sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || n, 'site.reachable', 'default', n % 64, now(), '{}' from generate_series(1, 1500) n returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, -position, s.id, shard, now() from event, purchase_watch_internal.subscribers s where s.name = 'books'`;
  books.respond({ status: 410 });
  await t.app.deliverOnce();
  expect(books.received.length).toBeLessThan(400);
  await changeSubscriber(means(), 'books', { status: 'active' });
  await t.app.deliverOnce();
  expect(new Set(books.received.map(({ id }) => id)).size).toBe(1500);
});

test('an address that was replaced meanwhile cannot switch its subscriber off', async () => {
  const other = await startReceiver();
  await addSubscriber(means(), { name: 'books', url: books.url, ...everything });
  await t.app.sql`update purchase_watch_internal.subscribers set types = '{site.reachable}' where name = 'default'`;
  const replaced = Promise.withResolvers<void>();
  books.respondAlways({ status: 410, after: replaced.promise });
  await seen('New');
  const sending = t.app.deliverOnce();
  await books.waitFor((received) => received.length === 1);
  await changeSubscriber(means(), 'books', { url: other.url });
  await t.app.start();
  // The daemon has some time to hear of it, and need not have.
  await delay(500);
  replaced.resolve();
  await sending;
  t.clock.advance('10s');
  await other.waitFor((received) => received.length === 1);
  expect(await t.app.sql`select status from purchase_watch_internal.subscribers where name = 'books'`).toEqual([
    { status: 'active' },
  ]);
  await other.stop();
});
