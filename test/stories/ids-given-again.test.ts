/**
 * A database that goes back under a running daemon, as in a failover to a standby that lacked the last seconds, hands ids out again.
 * What the daemon still knows of the lost purchases must not reach the purchases and deliveries that were given their ids.
 */
import { afterEach, expect, test } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const COUNT = 5;
const SECONDS = { timeout: 20_000 };

async function start(): Promise<void> {
  t = await startTestApp({ realClock: true });
  await t.app.start();
  const known = await t.watch({ script: [{ state: 'New' }] });
  await t.receiver.waitFor(() => t.eventsOf(known).length === 1);
  await expect.poll(undelivered, SECONDS).toEqual([]);
}

const undelivered = () => t.database.sql`select status from purchase_watch_internal.deliveries where status <> 'delivered'`;
const add = (state: string): string[] =>
  t.simulator.control.addMany(COUNT, { script: [{ state }] }).map(({ purchaseId }) => purchaseId);
const watchEach = async (state: string): Promise<string[]> => {
  const ids: string[] = [];
  for (let count = 0; count < COUNT; count++) ids.push(await t.watch({ script: [{ state }] }));
  return ids;
};

/** The row ids of purchases, and the ids of their deliveries. */
async function idsOf(purchases: readonly string[]): Promise<{ rows: number[]; deliveries: number[] }> {
  const [found] = await t.database.sql<[{ rows: number[]; deliveries: number[] }]>`
    with p as (select id from purchase_watch.purchases where purchase_id = any(${purchases as string[]}::text[]))
    select array(select id::integer from p order by 1) as rows, array(
      select d.id::integer from purchase_watch_internal.deliveries d join p on p.id = d.lane order by 1) as deliveries`;
  return found;
}

/**
 * The database loses purchases with all that belongs to them, hands their ids out again, and has others registered. `isNoticed`:
 * whether the daemon hears of the others at once; otherwise the daemon knows of the lost ones alone until it writes.
 */
async function goBack(lost: readonly string[], others: readonly string[], { isNoticed }: { isNoticed: boolean }): Promise<void> {
  const given = await t.database.sql.begin(async (sql) => {
    await sql`delete from purchase_watch.purchases where purchase_id = any(${lost as string[]}::text[])`;
    for (const [table, key] of [
      ['purchase_watch.purchases', 'id'],
      ['purchase_watch_internal.events', 'position'],
      ['purchase_watch_internal.deliveries', 'id'],
    ] as const) {
      await sql`select setval(pg_get_serial_sequence(${table}, ${key}), (select max(${sql(key)}) from ${sql(table)}))`;
    }
    const rows = await sql<{ id: number }[]>`
      insert into purchase_watch.purchases (purchase_id) select unnest(${others as string[]}::text[]) returning id::integer as id`;
    if (!isNoticed) await sql`delete from purchase_watch_internal.nudges`;
    return rows.map(({ id }) => id);
  });
  expect(given).toHaveLength(COUNT);
}

/** Everything that the database, the service and the receiver say of the purchases that the database knows agrees. */
async function expectWhole(lost: readonly string[], others: readonly string[]): Promise<void> {
  for (const purchase of others) {
    expect(await t.rowOf(purchase)).toMatchObject({ state: 0, status: 'watching' });
    expect(t.changesOf(purchase)).toEqual(['New']);
  }
  const named = await t.database.sql`
    select p.purchase_id from purchase_watch_internal.events e join purchase_watch.purchases p on p.id = e.purchase
    where e.body::json -> 'data' ->> 'purchaseId' <> p.purchase_id or e.body ~ ${lost.join('|')}`;
  expect(named).toEqual([]);
  expect(await undelivered()).toEqual([]);
  expect(await onDatabase(t.database, ['audit'])).toMatchObject({ exitCode: 0 });
}

test.each([true, false])(
  'answers about lost purchases are not recorded for those that were given their row ids (noticed: %s)',
  async (isNoticed) => {
    await start();
    t.simulator.control.setLatency(3_000);
    const lost = await watchEach('Completed');
    await expect.poll(() => lost.map(t.simulator.control.callsOf), SECONDS).toEqual(lost.map(() => 1));
    t.simulator.control.setLatency(0);
    const before = await idsOf(lost);
    const others = add('New');
    await goBack(lost, others, { isNoticed });
    expect((await idsOf(others)).rows).toEqual(before.rows);
    await t.receiver.waitFor(() => others.every((id) => t.eventsOf(id).length > 0), 20_000);
    await expect.poll(undelivered, SECONDS).toEqual([]);
    // Waits for the answers that are on their way, and for what is recorded of them.
    await t.app.stop();
    await expectWhole(lost, others);
    expect(lost.flatMap(t.eventsOf)).toEqual([]);
  },
);

test('a delivery that was given the id of a lost one under way is not called delivered with that one', async () => {
  await start();
  const released = Promise.withResolvers<void>();
  t.receiver.respondAlways({ after: released.promise });
  const lost = await watchEach('Completed');
  await t.receiver.waitFor(() => lost.every((id) => t.eventsOf(id).length === 1), 20_000);
  const before = await idsOf(lost);
  const others = add('New');
  await goBack(lost, others, { isNoticed: true });
  // The ids are the same once the others' events are made.
  await expect.poll(() => idsOf(others), SECONDS).toEqual(before);
  released.resolve();
  await t.receiver.waitFor(() => others.every((id) => t.eventsOf(id).length > 0), 20_000);
  await expect.poll(undelivered, SECONDS).toEqual([]);
  await t.app.stop();
  await expectWhole(lost, others);
});
