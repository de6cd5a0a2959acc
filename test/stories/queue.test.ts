import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/store/purchases.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

test('while a daemon polls thousands, none falls out of the queue', async () => {
  // Due again right where the cursor of each shard moves on, over and over.
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const plan = settings.policy.states.get(0)!;
      const poll = { first: 2_500, growth: 0, most: 2_500 };
      settings.policy = { ...settings.policy, states: new Map([...settings.policy.states, [0, { ...plan, poll }]]) };
    },
  });
  const ids = t.simulator.control.addMany(3_000, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  await t.app.start();
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  const fewest = async (): Promise<number> => {
    const [row] = await t.app.sql<{ polls: number }[]>`select min(polls)::integer as polls from purchase_watch.purchases`;
    return row!.polls;
  };
  // Three of the cursors' slots long.
  await expect.poll(fewest, { timeout: 80_000, interval: 500 }).toBeGreaterThanOrEqual(12);
  expect(t.log.filter((line) => line.includes('queue.found_overdue'))).toEqual([]);
}, 100_000);

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
  expect(answer).toEqual({ watch: 'existing' });
  expect(await t.app.sql`select from purchase_watch.nudges`).toHaveLength(1);
  await t.app.pollOnce();
  expect(t.simulator.control.callsOf(purchase)).toBe(2);
  expect(await t.app.sql`select from purchase_watch.nudges`).toHaveLength(0);
});
