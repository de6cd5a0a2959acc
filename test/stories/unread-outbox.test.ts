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

/** Stops the Postgres processes that read the outbox, once none of them has had a query for a while. */
async function holdOutbox(): Promise<void> {
  const sessions = () => t.database.sql<{ pid: number; rests: boolean }[]>`
    select pid, state = 'idle' and state_change < clock_timestamp() - interval '0.5 seconds' as rests from pg_stat_activity
    where datname = current_database() and application_name = 'purchase-watch outbox'`;
  const isAtRest = async (): Promise<boolean> => (await sessions()).every(({ rests }) => rests);
  await expect.poll(isAtRest, { timeout: 20_000 }).toBe(true);
  for (const { pid } of await sessions()) {
    holdStill(pid);
    held.push(pid);
  }
  expect(held).not.toEqual([]);
}

test('webhooks about changes come while the outbox cannot be read, the last of a purchase too, and each once', async () => {
  t = await startTestApp({ realClock: true, replacements: { databaseAnswersWithin: 120_000 } });
  await t.app.start();
  const going = await t.watch({ script: [{ state: 'New' }] });
  const ending = await t.watch({ script: [{ state: 'New' }] });
  await t.receiver.waitFor(() => [going, ending].every((id) => t.eventsOf(id).length === 1));
  // Everything is settled and read, so nothing waits outside of memory.
  await expect
    .poll(() => t.database.sql`select from purchase_watch_internal.deliveries where status = 'pending'`)
    .toHaveLength(0);
  await holdOutbox();
  t.simulator.control.setState(going, 'BeingProcessed');
  // After its last state a purchase leaves the daemon's memory.
  t.simulator.control.setState(ending, 'Completed');
  for (const id of [going, ending]) await onDatabase(t.database, ['poll', id]);
  await t.receiver.waitFor(() => [going, ending].every((id) => t.eventsOf(id).length === 2), 20_000);
  goOn();
  await expect
    .poll(() => t.database.sql`select status from purchase_watch_internal.deliveries where status <> 'delivered'`, {
      timeout: 20_000,
    })
    .toHaveLength(0);
  t.simulator.control.setState(going, 'Completed');
  await onDatabase(t.database, ['poll', going]);
  await t.receiver.waitFor(() => t.eventsOf(going).length >= 3, 20_000);
  expect(t.eventsOf(going).map(({ data }) => data.sequence)).toEqual([1, 2, 3]);
  expect(t.eventsOf(ending).map(({ data }) => data.sequence)).toEqual([1, 2]);
});
