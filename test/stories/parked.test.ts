/** What people see of a receiver that fails: parked and why, what asking again will do, and how it goes on. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resumeSubscriber } from '../../src/actions/subscribers/outlook.ts';
import { sendAgain } from '../../src/actions/subscribers/replay.ts';
import { explainPurchase } from '../../src/domain/explain/explain.ts';
import { findDelivery, listDeliveries } from '../../src/postgres/deliveries/delivery-list.ts';
import { explainFacts } from '../../src/postgres/reports/explain.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ inventsEvents: true });
});
afterEach(() => t.stop());

const list = async () =>
  (await listDeliveries(t.app.sql, { filter: { subscriber: 'default' }, before: null, limit: 10 })).reverse();
const sequences = (): number[] => t.receiver.received.map(({ body }) => JSON.parse(body).data.sequence);
async function why(): Promise<ReturnType<typeof explainPurchase>> {
  const [{ id }] = await t.app.sql<[{ id: number }]>`select id::float8 as id from purchase_watch.purchases`;
  const { policy: polling, webhooks } = t.settings;
  return explainPurchase((await explainFacts(t.app.sql, { id, subscriber: 'default' }))!, {
    polling,
    schedule: webhooks.schedule,
  });
}

/** A purchase whose first event failed until its receiver was paused, and which changed since. */
async function paused(): Promise<void> {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  t.receiver.respondAlways({ status: 503 });
  await t.app.pollOnce();
  for (let attempt = 1; attempt <= 4; attempt++) {
    t.clock.advance('4h');
    await t.app.deliverOnce();
  }
  t.simulator.control.setState(purchase, 'Completed');
  t.clock.advance('1s');
  await t.app.pollOnce();
  await t.app.deliverOnce();
}

test('what is for a paused subscriber is parked, says why, and goes out in order once it is resumed', async () => {
  await paused();
  expect(sequences()).toEqual([1, 1, 1, 1]);
  const parked = await list();
  expect(parked).toMatchObject([
    {
      status: 'parked',
      attempts: 4,
      reason: expect.stringMatching(/^paused until .* after 4 failures in a row: The receiver answered 503\.$/),
    },
    { status: 'parked', attempts: 0 },
  ]);

  const { waits } = await sendAgain(t.app.sql, parked[0]!.id);
  expect(waits).toMatch(/^It waits: default is paused until .* after 4 failures in a row .*subscribers resume default/);
  await t.app.deliverOnce();
  expect(sequences()).toHaveLength(4);
  const told = await why();
  expect(told.matters.map(({ code }) => code)).toContain('subscriber_paused');
  expect(told.steps.filter(({ kind }) => kind === 'delivery').map(({ status }) => status)).toEqual(['parked', 'parked']);

  expect((await resumeSubscriber(t.app.sql, 'default')).subscriber.health).toBeNull();
  expect((await list()).map(({ status }) => status)).toEqual(['pending', 'pending']);
  t.receiver.respondAlways({ status: 200 });
  for (const _ of [1, 2]) await t.app.deliverOnce();
  expect(sequences()).toEqual([1, 1, 1, 1, 1, 2]);
  const logged = t.log
    .map((line) => JSON.parse(line))
    .filter(({ event }) => /^subscriber\.(paused|resumed|recovered)$/.test(event));
  expect(logged).toMatchObject([
    { event: 'subscriber.paused', subscriber: 'default', advice: expect.stringMatching(/subscribers resume default$/) },
    { event: 'subscriber.resumed', subscriber: 'default', detail: expect.stringMatching(/ended by hand/) },
  ]);
  expect((await list()).map(({ status }) => status)).toEqual(['delivered', 'delivered']);
  const { tries } = (await findDelivery(t.app.sql, parked[0]!.id))!;
  expect(tries.map(({ number, outcome, fault }) => [number, outcome, fault])).toEqual([
    ...[1, 2, 3, 4].map((number) => [number, 'http_503', 'receiver']),
    [5, 'delivered', null],
  ]);
});

test('one asked for again waits for an earlier event of its purchase, and says so', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  t.receiver.respondAlways({ status: 503 });
  await t.app.pollOnce();
  await t.app.deliverOnce();
  t.simulator.control.setState(purchase, 'Completed');
  t.clock.advance('1m');
  await t.app.pollOnce();
  const [first, second] = await list();
  const { waits } = await sendAgain(t.app.sql, second!.id);
  expect(waits).toMatch(new RegExp(`^It waits for dlv_${first!.id}, an earlier event of the same purchase`));
  t.receiver.respondAlways({ status: 200 });
  expect((await sendAgain(t.app.sql, first!.id)).waits).toBeNull();
});

test('one of no single purchase that is asked for again waits for an earlier one of the kind, and says so', async () => {
  await t.app.deliverOnce();
  const rows = await t.app.sql<{ id: number }[]>`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_site_' || n, 'site.reachable', 'default', 0, now(), '{}' from generate_series(1, 2) n returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, 0, s.id, 0, now() from event, purchase_watch_internal.subscribers s where s.name = 'default' order by position
    returning id::float8 as id`;
  const { waits } = await sendAgain(t.app.sql, rows[1]!.id);
  expect(waits).toMatch(new RegExp(`^It waits for dlv_${rows[0]!.id}, an earlier event that is of no single purchase`));
});

test('one that is not answered yet is in flight, and nothing else', async () => {
  const looked = Promise.withResolvers<void>();
  t.receiver.respondAlways({ status: 200, after: looked.promise });
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const sending = t.app.deliverOnce();
  await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['in_flight']);
  expect((await why()).steps.filter(({ kind }) => kind === 'delivery').map(({ text }) => text)).toEqual([
    expect.stringMatching(/^being delivered to default: attempt 1 has been under way for /),
  ]);
  looked.resolve();
  await sending;
  expect((await list()).map(({ status }) => status)).toEqual(['delivered']);
});
