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
  // The queue is read in this time; on a machine at its limit it may be read afterwards, which shows less and fails nothing.
  await delay(300);
  release.resolve();
  await Promise.all([holding, polling, readingOn]);
  // With one of the next passes, as the loop makes them: what was just written may be read once more first.
  const calls = async (): Promise<number> => {
    await t.app.pollOnce();
    return t.simulator.control.callsOf(purchase);
  };
  await expect.poll(calls, { interval: 20 }).toBe(2);
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
  expect(await t.app.sql`select from purchase_watch.nudges`).toHaveLength(1);
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(2);
  expect(await t.app.sql`select from purchase_watch.nudges`).toHaveLength(0);
});
