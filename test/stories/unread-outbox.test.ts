/** A change leaves with the answer of its commit: nothing reads the outbox for it. */
import { afterEach, expect, test } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { holdStill } from '../support/hold-still.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
const held: number[] = [];
const goOn = (): void => {
  for (const pid of held.splice(0)) process.kill(pid, 'SIGCONT');
};
afterEach(async () => {
  goOn();
  await t.stop();
});

/** Stops the Postgres processes that read the outbox, each while it rests. */
async function holdOutbox(): Promise<void> {
  const resting = () => t.database.sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'purchase-watch outbox' and state = 'idle'`;
  await expect.poll(async () => (await resting()).length).toBeGreaterThan(0);
  for (const { pid } of await resting()) {
    holdStill(pid);
    held.push(pid);
  }
}

test('the webhook about a change comes while the outbox cannot be read, and once', async () => {
  t = await startTestApp({ realClock: true, replacements: { databaseAnswersWithin: 120_000 } });
  await t.app.start();
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await t.receiver.waitFor(() => t.eventsOf(purchase).length === 1);
  // Everything is settled and read, so nothing waits outside of memory.
  await expect
    .poll(() => t.database.sql`select from purchase_watch_internal.deliveries where status = 'pending'`)
    .toHaveLength(0);
  await holdOutbox();
  t.simulator.control.setState(purchase, 'BeingProcessed');
  await onDatabase(t.database, ['poll', purchase]);
  await t.receiver.waitFor(() => t.eventsOf(purchase).length === 2, 20_000);
  goOn();
  await expect
    .poll(() => t.database.sql`select status from purchase_watch_internal.deliveries order by id`, { timeout: 20_000 })
    .toEqual([{ status: 'delivered' }, { status: 'delivered' }]);
  t.simulator.control.setState(purchase, 'Completed');
  await onDatabase(t.database, ['poll', purchase]);
  await t.receiver.waitFor(() => t.eventsOf(purchase).length >= 3, 20_000);
  expect(t.eventsOf(purchase).map(({ data }) => data.sequence)).toEqual([1, 2, 3]);
});
