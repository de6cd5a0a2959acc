import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

test('a purchase whose place in the queue was read past while it was being recorded is polled again all the same', async () => {
  t = await startTestApp();
  const purchase = await t.watch({ script: [{ state: 'WaitingCreditApproval' }] });
  // Its row is held, so that the record waits, and the queue is read on meanwhile.
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = t.database.sql.begin(async (tx) => {
    await tx`select from purchase_watch.purchases for update`;
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const polling = t.app.pollOnce();
  // Decided, too: an answer that is looked at after the clock went on is followed by a poll later than this test's time.
  await expect
    .poll(async () => {
      const [row] = await t.database.sql<{ waiting: number }[]>`
        select count(*)::integer as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return row!.waiting;
    })
    .toBe(1);
  expect(t.simulator.control.callsOf(purchase)).toBe(1);
  t.clock.advance('2m');
  const readingOn = t.app.pollOnce();
  // The queue is read in this time, and the recording waits no longer for the lock; on a machine at its limit either may miss the
  // moment, which shows less and fails nothing.
  await delay(100);
  release.resolve();
  await Promise.all([holding, polling, readingOn]);
  // With one of the next passes, as the loop makes them: what was just written may be read once more first.
  const recorded = async (): Promise<unknown> => {
    t.clock.advance('1s');
    await t.app.pollOnce();
    return (await t.rowOf(purchase)).polls;
  };
  // A poll that began with the row as it was before is refused, and made again.
  await expect.poll(recorded, { interval: 20 }).toBe(2);
});

test('a site that cannot be asked fills nobody else’s memory', async () => {
  t = await startTestApp({
    replacements: { windowCapacity: 400 },
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = [site!, { ...site!, name: 'dead', baseUrl: 'http://127.0.0.1:9' }];
    },
  });
  await t.app
    .sql`insert into purchase_watch.purchases (purchase_id, site) select 'dead-' || i, 'dead' from generate_series(1, 2000) i`;
  await t.app.pollOnce();
  const alive = await Promise.all(Array.from({ length: 20 }, () => t.watch({ script: [{ state: 'New' }] })));
  await t.app.pollOnce();
  for (const id of alive) expect(t.simulator.control.callsOf(id)).toBe(1);
});

test('a nudge is kept until its purchase is in memory, and a purchase that was stopped is watched again by SQL too', async () => {
  t = await startTestApp();
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await t.app
    .sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null, revision = revision + 1`;
  const [answer] = await t.app.sql<{ watch: string }[]>`select purchase_watch.watch(${purchase})`;
  expect(answer).toEqual({ watch: 'watched again' });
  expect(await t.app.sql`select from purchase_watch_internal.nudges`).toHaveLength(1);
  t.clock.catchUp();
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(2);
  expect(await t.app.sql`select from purchase_watch_internal.nudges`).toHaveLength(0);
});

/** Registers purchases by SQL that the service has, due so many seconds from now by the test's clock. */
async function registerDue(count: number, inSeconds: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => t.simulator.control.add({ script: [{ state: 'BeingProcessed' }] }).purchaseId);
  await t.app.sql`
    insert into purchase_watch.purchases (purchase_id, next_poll_at)
    select id, to_timestamp(${t.clock.now() / 1_000 + inSeconds}::float8) from unnest(${ids}::text[]) id`;
  return ids;
}
const callsOf = (ids: readonly string[]): number[] => ids.map((id) => t.simulator.control.callsOf(id));
const once = (ids: readonly string[]): number[] => ids.map(() => 1);

test('purchases that are due later fill no memory: what is due is polled, however many they are', async () => {
  t = await startTestApp({ replacements: { windowCapacity: 200 } });
  await t.app.pollOnce();
  const later = await registerDue(600, 3_600);
  await t.app.pollOnce();
  const due = await registerDue(300, -1);
  await t.app.pollOnce();
  expect(callsOf(due)).toEqual(once(due));
  expect(callsOf(later).every((calls) => calls === 0)).toBe(true);
  expect(await t.app.sql`select from purchase_watch_internal.nudges`).toHaveLength(0);
  t.clock.advance('1h');
  await t.app.pollOnce();
  // By what was recorded: the first calls after an hour find their access token ended, and are made again.
  const polled = await t.app.sql`select from purchase_watch.purchases where purchase_id = any(${later}::text[]) and polls = 1`;
  expect(polled).toHaveLength(later.length);
  expect(t.log.join()).not.toContain('queue.found_overdue');
});

test('what is due takes the place of what is due in a moment, which is polled in its time', async () => {
  t = await startTestApp({ replacements: { windowCapacity: 200 } });
  // To the beginning of a slot, so that what follows lies in the next one.
  t.clock.advance(`${10_000 - (t.clock.now() % 10_000)}ms`);
  const soon = await registerDue(400, 15);
  await t.app.pollOnce();
  const due = await registerDue(500, -1);
  await t.app.pollOnce();
  expect(callsOf(due)).toEqual(once(due));
  expect(callsOf(soon).every((calls) => calls === 0)).toBe(true);
  t.clock.advance('15s');
  await t.app.pollOnce();
  expect(callsOf(soon)).toEqual(once(soon));
  expect(t.log.join()).not.toContain('queue.found_overdue');
});

test('more purchases than memory holds, each due again within seconds, are all polled in turn while changes come from outside', async () => {
  t = await startTestApp({ replacements: { windowCapacity: 100 } });
  const ids = await registerDue(400, 0);
  t.clock.advance('1ms');
  for (let second = 0; second < 40; second++) {
    t.clock.advance('1s');
    await t.app.sql`
      update purchase_watch.purchases set next_poll_at = to_timestamp(${t.clock.now() / 1_000}::float8), revision = revision + 1,
        due_slot = purchase_watch_internal.due_slot(to_timestamp(${t.clock.now() / 1_000}::float8))
      where id % 40 = ${second}`;
    await t.app
      .sql`insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from purchase_watch.purchases where id % 40 = ${second}`;
    await t.app.pollOnce();
    const [row] = await t.app.sql<{ late: number }[]>`
      select (${t.clock.now() / 1_000}::float8 - extract(epoch from min(next_poll_at)))::float8 as late from purchase_watch.purchases`;
    // The present slot ends, and what had no room in it is polled.
    expect(row!.late).toBeLessThan(15);
  }
  // Each five seconds, and up to a slot late: four times at the least.
  expect(Math.min(...callsOf(ids))).toBeGreaterThanOrEqual(4);
  expect(t.log.join()).not.toContain('queue.found_overdue');
});

test('each of many sites has room, and all are read with a few statements', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `site-${index}`);
  t = await startTestApp({
    replacements: { windowCapacity: 300 },
    change: (settings) => {
      const [site] = settings.sites;
      settings.sites = names.map((name) => ({ ...site!, name }));
    },
  });
  const ids = names.flatMap(() =>
    Array.from({ length: 5 }, () => t.simulator.control.add({ script: [{ state: 'New' }] }).purchaseId),
  );
  await t.app.sql`
    insert into purchase_watch.purchases (purchase_id, site)
    select id, (${names}::text[])[1 + (place - 1) / 5] from unnest(${ids}::text[]) with ordinality u (id, place)`;
  // As for a daemon that takes the shards over: it reads the queue.
  await t.app.sql`delete from purchase_watch_internal.nudges`;
  t.clock.advance('1s');
  await t.app.pollOnce();
  expect(callsOf(ids)).toEqual(once(ids));
});

test('a change is recorded and delivered while first sights of a bulk load wait to be recorded', async () => {
  t = await startTestApp();
  const known = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const bulk = await registerDue(50, 0);
  t.clock.advance('10s');
  t.simulator.control.setState(known, 'Completed');
  // What is recorded of them waits for their rows.
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = t.database.sql.begin(async (tx) => {
    await tx`select from purchase_watch.purchases where purchase_id = any(${bulk}::text[]) for update`;
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const polling = t.app.pollOnce();
  const delivered = async (): Promise<string[]> => {
    await t.app.deliverOnce();
    return t.changesOf(known);
  };
  try {
    await expect.poll(delivered, { interval: 100 }).toEqual(['New', 'Completed']);
  } finally {
    release.resolve();
    await Promise.all([holding, polling]);
  }
  // What was held for longer than a statement waits is written in a later round.
  const recorded = async (): Promise<number> => {
    t.clock.advance('1s');
    await t.app.pollOnce();
    return (await t.app.sql`select from purchase_watch.purchases where state is not null`).length;
  };
  await expect.poll(recorded).toBe(51);
});

test('a change is delivered before the first sights of a bulk load that were recorded before it', async () => {
  t = await startTestApp();
  const known = await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  await t.app.deliverOnce();
  const bulk = await registerDue(200, 0);
  t.clock.advance('1ms');
  // While nothing can be recorded, nearly all of the bulk load comes together in one statement, however slow the machine is.
  const isLocked = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  const lock = t.app.sql.begin(async (tx) => {
    await tx`lock table purchase_watch.purchases in share mode`;
    isLocked.resolve();
    await isAsked.promise;
  });
  await isLocked.promise;
  const polled = t.app.pollOnce();
  await expect.poll(() => bulk.every((id) => t.simulator.control.callsOf(id) > 0)).toBe(true);
  isAsked.resolve();
  await Promise.all([lock, polled]);
  t.simulator.control.setState(known, 'Completed');
  t.clock.advance('10s');
  await t.app.pollOnce();
  await t.app.deliverOnce();
  const delivered = t.receiver.received.map(({ body }) => (JSON.parse(body) as { data: { purchaseId: string } }).data.purchaseId);
  expect(new Set(delivered)).toEqual(new Set([known, ...bulk]));
  expect(t.changesOf(known)).toEqual(['New', 'Completed']);
  // ExtraCalls it, some of the bulk may be on their way.
  expect(delivered.lastIndexOf(known)).toBeLessThan(100);
});
