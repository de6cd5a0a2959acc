import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replay } from '../../src/actions/subscribers/replay.ts';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber, changeSubscriber, requireSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { boundsOf, replayStep } from '../../src/postgres/deliveries/deliveries-again.ts';
import { findDelivery } from '../../src/postgres/deliveries/delivery-list.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let late: Receiver;
beforeEach(async () => {
  t = await startTestApp({ inventsEvents: true, env: { SECRETS_KEY: 'an encryption key of many characters' } });
  late = await startReceiver();
});
afterEach(async () => {
  await t.stop();
  await late.stop();
});

const means = () => ({ sql: t.app.sql, secrets: secretsOf(t.settings) });
const everything = { types: null, sites: null, states: null, description: null };

/** A purchase that was seen in these states, a minute between them, and told of. */
async function lived(...states: string[]): Promise<string> {
  const purchase = await t.watch({ script: [{ state: states[0]! }] });
  for (const [index, state] of states.entries()) {
    if (index > 0) t.simulator.control.setState(purchase, state);
    t.clock.advance('1m');
    await t.app.pollOnce();
  }
  await t.app.deliverOnce();
  return purchase;
}
const all = { since: 0, until: Number.POSITIVE_INFINITY, types: null };
async function replayTo(name: string, differs: { since?: number; until?: number; types?: string[]; dryRun?: boolean } = {}) {
  const { id } = await requireSubscriber(t.app.sql, name);
  const { dryRun = false, ...range } = differs;
  return replay(t.app.sql, { subscriber: id, ...all, ...range }, { dryRun });
}
const bodies = (receiver: Receiver): string[] => receiver.received.map(({ id, body }) => id + body);
const sequences = (receiver: Receiver, purchase: string): number[] =>
  receiver.received
    .map(({ body }) => JSON.parse(body).data)
    .filter(({ purchaseId }) => purchaseId === purchase)
    .map(({ sequence }) => sequence);

describe('a replay', () => {
  test('sends the same ids and bytes again, in order, also of attempts that are numbered on', async () => {
    await lived('New', 'BeingProcessed', 'Completed');
    const first = bodies(t.receiver);
    expect(await replayTo('default')).toMatchObject({ count: 3, complete: true });
    await t.app.deliverOnce();
    expect(bodies(t.receiver)).toEqual([...first, ...first]);
    expect(
      await t.app
        .sql`select d.attempts, d.attempts_before, d.status, d.rank, d.took_ms is not null as measured, array_agg(a.number order by a.number) as numbers
        from purchase_watch_internal.deliveries d join purchase_watch_internal.attempts a on a.delivery = d.id group by d.id order by d.event`,
    ).toEqual(
      [1, 2, 3].map(() => ({ attempts: 2, attemptsBefore: 1, status: 'delivered', rank: 2, measured: true, numbers: [1] })),
    );
    const [{ id }] = await t.app.sql<[{ id: number }]>`select max(id)::float8 as id from purchase_watch_internal.deliveries`;
    expect((await findDelivery(t.app.sql, id))!.tries).toMatchObject([
      { number: 1, outcome: 'delivered', httpStatus: 200 },
      { number: 2, outcome: 'delivered', httpStatus: 200 },
    ]);
  });

  test('brings one that came later what happened before it was there', async () => {
    const purchase = await lived('New', 'Completed');
    await addSubscriber(means(), { name: 'late', url: late.url, ...everything });
    await t.app.deliverOnce();
    expect(late.received).toEqual([]);
    expect(await replayTo('late', { dryRun: true })).toMatchObject({ count: 2 });
    await t.app.deliverOnce();
    expect(late.received).toEqual([]);
    expect(await replayTo('late')).toMatchObject({ count: 2 });
    await t.app.deliverOnce();
    expect(bodies(late)).toEqual(bodies(t.receiver));
    expect(sequences(late, purchase)).toEqual([1, 2]);
  });

  test("keeps to the range, the types asked for and the subscriber's own filters", async () => {
    await addSubscriber(means(), { name: 'late', url: late.url, ...everything, states: [2] });
    const begin = t.clock.now();
    await lived('New', 'Completed');
    const between = t.clock.now();
    await lived('New', 'Completed');
    await t.app.deliverOnce();
    const before = late.received.length;
    expect(before).toBe(2);
    expect(await replayTo('late', { until: between, dryRun: true })).toMatchObject({ count: 1 });
    expect(await replayTo('late', { since: begin - 1, until: begin })).toMatchObject({ count: 0, oldest: null, newest: null });
    expect(await replayTo('late', { types: ['purchase.stuck'] })).toMatchObject({ count: 0 });
    const { count, oldest, newest } = await replayTo('late');
    expect(count).toBe(2);
    expect([oldest! <= between, newest! > between]).toEqual([true, true]);
  });

  test('sends nobody the tests of somebody else', async () => {
    await t.app.sql`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body) values ('evt_x', 'subscriber.test', '', 0, now(), '{}')`;
    expect(await replayTo('default')).toMatchObject({ count: 0 });
  });

  test('goes after what is new, which it neither overtakes nor brings forward', async () => {
    const purchase = await lived('New', 'BeingProcessed');
    t.receiver.respondAlways({ status: 503 });
    t.simulator.control.setState(purchase, 'Completed');
    t.clock.advance('1m');
    await t.app.pollOnce();
    await t.app.deliverOnce();
    expect(sequences(t.receiver, purchase)).toEqual([1, 2, 3]);
    const due = () =>
      t.app
        .sql`select due_at from purchase_watch_internal.deliveries where attempts = 1 and attempts_before = 0 and status = 'pending'`;
    const planned = await due();
    expect(planned).toHaveLength(1);
    expect(await replayTo('default')).toMatchObject({ count: 2, waiting: 1 });
    expect(await due()).toEqual(planned);
    t.receiver.respondAlways({ status: 200 });
    await t.app.deliverOnce();
    // The new one waits for its next try, and the old ones behind it.
    expect(sequences(t.receiver, purchase)).toEqual([1, 2, 3]);
    t.clock.advance('1m');
    for (const _ of [1, 2]) await t.app.deliverOnce();
    expect(sequences(t.receiver, purchase)).toEqual([1, 2, 3, 3, 1, 2]);
  });

  test('asked for twice is done once', async () => {
    await lived('New', 'Completed');
    expect(await replayTo('default', { dryRun: true })).toMatchObject({ count: 2, waiting: 0, purchases: 1 });
    expect(await replayTo('default')).toMatchObject({ count: 2, waiting: 0 });
    expect(await replayTo('default')).toMatchObject({ count: 0, waiting: 2, oldest: null });
    await t.app.deliverOnce();
    expect(t.receiver.received).toHaveLength(4);
  });

  test('begins the schedule again', async () => {
    await lived('New');
    t.receiver.respondAlways({ status: 500 });
    await replayTo('default');
    await t.app.deliverOnce();
    const [row] = await t.app.sql<{ wait: number; attempts: number }[]>`
      select (extract(epoch from due_at) * 1000)::float8 - ${t.clock.now()} as wait, attempts from purchase_watch_internal.deliveries`;
    expect(row!.attempts).toBe(2);
    // The first wait of the schedule, not the second.
    expect(row!.wait).toBeLessThan(10_000);
    for (let attempt = 0; attempt < 9; attempt++) {
      t.clock.advance('1d');
      t.clock.advance('3h');
      await t.app.deliverOnce();
    }
    expect(await t.app.sql`select status, attempts from purchase_watch_internal.deliveries`).toEqual([
      { status: 'exhausted', attempts: 11 },
    ]);
  });

  test('waits for one that is off, and comes when it is on again', async () => {
    await addSubscriber(means(), { name: 'late', url: late.url, ...everything });
    await changeSubscriber(means(), 'late', { status: 'off' });
    await lived('New', 'Completed');
    expect(
      await t.app
        .sql`select distinct d.status from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = 'late'`,
    ).toEqual([{ status: 'suppressed' }]);
    await replayTo('late');
    await t.app.deliverOnce();
    expect(late.received).toEqual([]);
    await changeSubscriber(means(), 'late', { status: 'active' });
    await t.app.deliverOnce();
    expect(late.received).toHaveLength(2);
  });

  test('goes on step by step without leaving any out, and can be broken off', async () => {
    await lived('New', 'BeingProcessed', 'Completed');
    await lived('New', 'BeingProcessed', 'Completed');
    const { id } = await requireSubscriber(t.app.sql, 'default');
    const range = { subscriber: id, ...all };
    const { after, last } = await boundsOf(t.app.sql, range);
    const counts: number[] = [];
    for (let [position, more] = [after, true]; more; ) {
      const step = await replayStep(t.app.sql, range, { after: position, last, limit: 4, dryRun: false });
      counts.push(step.count);
      ({ position, more } = step);
    }
    expect(counts).toEqual([4, 2]);
    const stopped = await replay(t.app.sql, range, { dryRun: false, signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ count: 0, oldest: null, newest: null, complete: false });
  });
});

test('where a moment lies is found wherever it is', async () => {
  const { sql } = t.app;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
    select 'evt_' || n, 'site.reachable', 'default', 0, timestamptz '2026-11-01T00:00:00Z' + n * interval '1 hour', '{}' from generate_series(1, 200) n`;
  await sql`delete from purchase_watch_internal.events where position % 7 = 0`;
  const events = await sql<{ position: number; at: number }[]>`
    select position::float8 as position, (extract(epoch from created_at) * 1000)::float8 as at from purchase_watch_internal.events order by position`;
  for (const { position, at } of events) {
    const [row] = await sql<{ exact: number; before: number }[]>`
      select purchase_watch_internal.position_at(to_timestamp(${at}::float8 / 1000))::float8 as exact,
        purchase_watch_internal.position_at(to_timestamp(${at - 1_000}::float8 / 1000))::float8 as before`;
    const previous = events.findLast((each) => each.position < position)?.position ?? 0;
    for (const found of [row!.exact, row!.before]) {
      expect(found).toBeGreaterThan(previous);
      expect(found).toBeLessThanOrEqual(position);
    }
  }
  const [ends] = await sql<{ none: number; all: number }[]>`
    select purchase_watch_internal.position_at('infinity')::float8 as none, purchase_watch_internal.position_at('-infinity')::float8 as all`;
  expect(ends!.none).toBe(events.at(-1)!.position + 1);
  expect(ends!.all).toBeLessThanOrEqual(events[0]!.position);
});
