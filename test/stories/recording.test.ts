import { afterEach, beforeEach, expect, test } from 'vitest';
import { register, requestPoll, stopPurchase } from '../../src/postgres/purchases/purchases.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp({ inventsEvents: true });
});
afterEach(() => t.stop());

const count = async (table: string): Promise<number> => {
  const [row] = await t.app.sql<
    { n: number }[]
  >`select count(*)::integer as n from ${t.app.sql(`purchase_watch_internal.${table}`)}`;
  return row!.n;
};

test.each(['events', 'deliveries', 'purchase_transitions', 'purchase_details'])(
  'when %s cannot be written, nothing of the change is, and it is written later',
  async (table) => {
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    const { sql } = t.app;
    await sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
      create trigger refuse before insert on purchase_watch_internal.${table} for each row execute function refuse()`);
    await t.app.pollOnce().catch(() => undefined);
    expect(await t.rowOf(purchase)).toMatchObject({ state: null, polls: 1, lastError: expect.stringContaining('P0001') });
    expect([
      await count('purchase_transitions'),
      await count('events'),
      await count('deliveries'),
      await count('purchase_details'),
    ]).toEqual([0, 0, 0, 0]);
    await sql.unsafe(`drop trigger refuse on purchase_watch_internal.${table}`);
    // It rests, rather than asking the service again and again.
    expect(t.simulator.control.callsOf(purchase)).toBe(1);
    await expect
      .poll(async () => {
        t.clock.advance('1s');
        await t.app.pollOnce();
        await t.app.deliverOnce();
        return t.changesOf(purchase);
      })
      .toEqual(['New']);
  },
  45_000,
);

test('why the next poll is planned is recorded with its time, whatever plans it', async () => {
  const { sql } = t.app;
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  const row = await t.rowOf(purchase);
  const planned = async () =>
    (await sql`select next_poll_reason as reason from purchase_watch.current_purchases where purchase_id = ${purchase}`)[0]!
      .reason;
  const pollLater = async () => {
    t.clock.advance('1m');
    await t.app.pollOnce();
    return planned();
  };
  // Another purchase that answers well: a failure of the first is its own.
  await t.watch({ script: [{ state: 'New' }] });
  expect(await planned()).toBe('first');
  await t.app.pollOnce();
  expect(await planned()).toBe('growth');
  await requestPoll(sql, row);
  expect(await planned()).toBe('requested');
  expect(await pollLater()).toBe('growth');
  t.simulator.control.fail({ kind: 'null-state', times: 1, only: 'status', purchaseId: purchase });
  expect(await pollLater()).toBe('failure');
  expect(await pollLater()).toBe('growth');
  await stopPurchase(sql, row);
  expect(await planned()).toBeNull();
  await register(sql, [{ purchaseId: purchase, site: null, reference: null, metadata: null }]);
  expect(await planned()).toBe('renewed');
});

test('a result that comes after the shard was taken over is refused, and the purchase is due again', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'BeingProcessed', after: '10s' }] });
  await t.app.pollOnce();
  t.clock.advance('1m');
  t.simulator.control.setLatency(4_000);
  const polling = t.app.pollOnce();
  await expect.poll(() => t.simulator.control.callsOf(purchase)).toBe(2);
  // Another replica takes every shard while the answer is on its way, and records something newer.
  await t.app.sql`update purchase_watch_internal.shards set owner = 'somebody', epoch = epoch + 1`;
  await polling;
  expect(await t.rowOf(purchase)).toMatchObject({ state: 0, polls: 1 });
  t.simulator.control.setLatency(0);
  await t.app.pollOnce();
  await t.app.deliverOnce();
  expect(t.changesOf(purchase)).toEqual(['New', 'BeingProcessed']);
});

test('the database itself refuses a gap in the sequence and a transition that does not begin where the last one ended', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const { id } = await t.rowOf(purchase);
  const { sql } = t.app;
  const event = (sequence: number, previous: number | null) => sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, created_at, body)
    values (${`evt_${sequence}`}, 'purchase.stuck', 'default', ${id}, ${sequence}, ${previous}, 0, now(), '{}')`;
  await expect(event(3, 2)).rejects.toThrow(/foreign key/);
  await expect(event(3, 1)).rejects.toThrow(/check constraint/);
  await expect(event(1, null)).rejects.toThrow(/unique/);
  const transition = (fromSequence: number | null, from: number | null, to: number) => sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_after)
    values (${id}, 2, ${fromSequence}, ${from}, ${to}, now())`;
  await expect(transition(1, 6, 2)).rejects.toThrow(/foreign key/);
  await expect(transition(null, null, 2)).rejects.toThrow(/unique/);
  await expect(transition(1, 0, 0)).rejects.toThrow(/check constraint/);
  await transition(1, 0, 2);
});

test('a purchase that the database refuses to record does not take the others of its batch with it', async () => {
  const poison = await t.watch({ script: [{ state: 'New' }] });
  const others = await Promise.all(Array.from({ length: 20 }, () => t.watch({ script: [{ state: 'New' }] })));
  const { id } = await t.rowOf(poison);
  await t.app.sql.unsafe(`alter table purchase_watch_internal.events add constraint poison check (purchase <> ${id})`);
  await t.app.pollOnce();
  expect((await Promise.all(others.map(t.rowOf))).every((row) => row.state === 0)).toBe(true);
  expect(await t.rowOf(poison)).toMatchObject({
    state: null,
    polls: 1,
    failures: 1,
    lastError: expect.stringContaining('(error 23514, constraint poison, table purchase_watch_internal.events)'),
  });
  expect(t.log.filter((line) => line.includes('poll.unrecordable'))).toHaveLength(1);
});

test('what is late is due for ever, oldest first, however little fits into memory', async () => {
  await t.stop();
  t = await startTestApp({
    inventsEvents: true,
    replacements: { windowCapacity: 200 },
    change: (settings) => Object.assign(settings.sites[0]!, { concurrency: 1 }),
  });
  const { sql } = t.app;
  for (let index = 0; index < 600; index++) t.simulator.control.add({ purchaseId: `p-${index}`, script: [{ state: 'New' }] });
  // A daemon that was away for weeks: due at another minute each, far back.
  await sql`insert into purchase_watch.purchases (purchase_id, next_poll_at)
    select 'p-' || i, now() - interval '20 days' + i * interval '1 minute' from generate_series(0, 599) i`;
  await t.app.pollOnce();
  const rows = await sql<{ purchaseId: string; polls: number }[]>`
    select purchase_id as "purchaseId", polls::integer from purchase_watch.purchases order by last_polled_at, id`;
  expect(rows).toHaveLength(600);
  expect(
    Map.groupBy(rows, (row) => row.polls)
      .keys()
      .toArray(),
  ).toEqual([1]);
  expect(t.simulator.control.counters().mostInFlightPerPurchase).toBe(1);
});

test('a pass whose lease ends while little fits into memory goes on with the next lease', async () => {
  await t.stop();
  t = await startTestApp({
    inventsEvents: true,
    wholeClock: true,
    replacements: { windowCapacity: 100 },
    change: (settings) => Object.assign(settings.sites[0]!, { concurrency: 1 }),
  });
  const { sql } = t.app;
  const ids = Array.from({ length: 200 }, (_, index) => `p-${index}`);
  for (const purchaseId of ids) t.simulator.control.add({ purchaseId, script: [{ state: 'New' }] });
  await sql`insert into purchase_watch.purchases (purchase_id, next_poll_at)
    select 'p-' || i, now() - interval '20 days' + i * interval '1 minute' from generate_series(0, 199) i`;
  const asked = () => ids.filter((id) => t.simulator.control.callsOf(id) > 0).length;
  t.simulator.control.setLatency(10);
  const pass = t.app.pollOnce();
  // Room for some has been made then, and not for as many as are worth a query.
  await expect.poll(asked, { interval: 5 }).toBeGreaterThan(30);
  t.simulator.control.setLatency(0);
  t.clock.advance('1m');
  await pass;
  expect(asked()).toBe(200);
});

test('polling, recording and telling read no table from end to end', async () => {
  const { sql } = t.app;
  await sql`insert into purchase_watch.purchases (purchase_id, next_poll_at)
    select 'waiting-' || i, now() + interval '10 days' from generate_series(1, 30000) i`;
  await sql`delete from purchase_watch_internal.nudges`;
  const purchases = await Promise.all(Array.from({ length: 30 }, () => t.watch({ script: [{ state: 'New' }] })));
  await sql`analyze`;
  const scans = async () => {
    await sql`select pg_stat_force_next_flush()`;
    return sql<{ relname: string; rows: number }[]>`
      select relname, seq_tup_read::integer as rows from pg_stat_user_tables
      where schemaname in ('purchase_watch', 'purchase_watch_internal') and relname in ('purchases', 'events', 'purchase_transitions', 'deliveries', 'attempts') order by relname`;
  };
  // Statistics arrive when a session is idle for a moment.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const before = await scans();
  for (let pass = 0; pass < 5; pass++) {
    for (const purchase of purchases)
      t.simulator.control.setState(purchase, pass % 2 === 0 ? 'WaitingForIdentityProvider' : 'BeingProcessed');
    await t.app.pollOnce();
    await t.app.judgeOnce();
    await t.app.deliverOnce();
    t.clock.advance('5m');
  }
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const after = await scans();
  const read = after.map(({ relname, rows }, index) => [relname, rows - before[index]!.rows] as const);
  expect(Object.fromEntries(read).purchases).toBeLessThan(1_000);
});
