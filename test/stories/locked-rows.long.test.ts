/** A row that a person or a merchant's transaction has locked: what belongs to it waits, and nothing else does. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { whyLate } from '../../src/domain/explain/poll.ts';
import { connect, type Queries } from '../../src/postgres/connection/database.ts';
import { explainFacts } from '../../src/postgres/reports/explain.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const PURCHASES = 40;

let t: TestApp;
let ids: string[];
beforeEach(async () => {
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const often = { ...settings.policy.fallback, poll: { first: 300, most: 300, growth: 0 } };
      settings.policy = { ...settings.policy, states: new Map([0, 1].map((state) => [state, often])) };
    },
  });
  ids = [];
  for (let n = 0; n < PURCHASES; n++) ids.push(await t.watch({ script: [{ state: 'New' }] }));
  await t.app.start();
  await t.receiver.waitFor(() => ids.every((id) => t.changesOf(id).length === 1));
});
afterEach(() => t.stop());

/** Runs the work while another session has locked rows, by a statement of it. */
async function whileLocked(lock: (tx: Queries) => Promise<unknown>, work: (pid: number) => Promise<void>): Promise<void> {
  const other = connect(t.database.url, { max: 1 });
  try {
    await other.begin(async (tx) => {
      await lock(tx);
      const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
      await work(row.pid);
    });
  } finally {
    await other.end({ timeout: 1 });
  }
}
const pollsOf = async (some: readonly string[]): Promise<number[]> => {
  const rows = await t.database.sql<{ polls: number }[]>`
    select polls::float8 as polls from purchase_watch.purchases where purchase_id = any(${some as string[]}::text[]) order by id`;
  return rows.map(({ polls }) => polls);
};
const said = (event: string): string[] => t.log.filter((line) => line.includes(`"${event}"`));

/** Each of these purchases is polled and recorded so many times more. */
async function recorded(some: readonly string[], times: number): Promise<void> {
  const before = await pollsOf(some);
  await expect
    .poll(async () => {
      const now = await pollsOf(some);
      return now.every((polls, index) => polls >= before[index]! + times);
    })
    .toBe(true);
}

test('the row of one purchase: the others are polled, recorded and delivered at full pace, and afterwards that one too', async () => {
  const [held, changed, ...others] = ids as [string, string, ...string[]];
  const lock = (tx: Queries) => tx`select from purchase_watch.purchases where purchase_id = ${held} for update`;
  await whileLocked(lock, async (pid) => {
    const before = await pollsOf([held]);
    t.simulator.control.setState(held, 'BeingProcessed');
    await recorded([changed, ...others], 5);
    t.simulator.control.setState(changed, 'BeingProcessed');
    await t.receiver.waitFor(() => t.changesOf(changed).length === 2);
    await expect.poll(() => said('poll.row_locked')).toHaveLength(1);
    expect(JSON.parse(said('poll.row_locked')[0]!)).toMatchObject({ purchaseId: held, pid });
    await recorded(others, 5);
    // The wait is none of the purchase's failures, and people are given its reason.
    const row = await t.rowOf(held);
    expect([await pollsOf([held]), row.failures, row.state]).toEqual([before, 0, 0]);
    const facts = await explainFacts(t.database.sql, { id: row.id, subscriber: null });
    expect(whyLate(facts!)).toContain(`session ${pid} of the database has locked its row`);
    expect(t.changesOf(held)).toHaveLength(1);
  });
  await t.receiver.waitFor(() => t.changesOf(held).length === 2);
  await recorded(ids, 2);
  expect(said('poll.not_recorded')).toEqual([]);
  expect(said('replica.troubled')).toEqual([]);
});

test('rows of deliveries: the results of others are written, and afterwards those too, each sent once', async () => {
  const [held, ...others] = ids as [string, ...string[]];
  const pending = async (): Promise<number> => {
    const [row] = await t.database.sql<[{ count: number }]>`
      select count(*)::integer as count from purchase_watch_internal.deliveries where status = 'pending'`;
    return row.count;
  };
  // The receiver has everything; the results are written later on a busy machine, and none of these rows is the one to be locked.
  await expect.poll(pending).toBe(0);
  // The receiver answers once the row of the delivery is locked.
  const answered = Promise.withResolvers<void>();
  t.receiver.respond({ after: answered.promise });
  t.simulator.control.setState(held, 'BeingProcessed');
  await expect.poll(pending).toBe(1);
  const lock = (tx: Queries) => tx`select from purchase_watch_internal.deliveries where status = 'pending' for update`;
  await whileLocked(lock, async () => {
    answered.resolve();
    await t.receiver.waitFor(() => t.changesOf(held).length === 2);
    await expect.poll(() => said('delivery.row_locked').length).toBeGreaterThan(0);
    for (const id of others) t.simulator.control.setState(id, 'BeingProcessed');
    await t.receiver.waitFor(() => others.every((id) => t.changesOf(id).length === 2));
    await expect.poll(pending).toBe(1);
  });
  await expect.poll(pending).toBe(0);
  expect(t.changesOf(held)).toHaveLength(2);
  expect(said('delivery.not_settled')).toEqual([]);
});
