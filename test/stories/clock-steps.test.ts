/** The database's clock steps by hours: nothing rests until it catches up, nothing is called stuck or expires by it. */
import { afterEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { testClock } from '../support/test-clock.ts';

const HOUR = 3_600_000;
let t: TestApp;
afterEach(() => t.stop());

/** A clock whose database's clock can be set. */
function steppingClock() {
  const base = testClock();
  let ahead = 0;
  let unread = 0;
  const clock = {
    ...base,
    now: () => base.now() + ahead,
    wall: () => performance.now(),
    follow: () => {
      const step = unread;
      unread = 0;
      ahead += step;
      return step;
    },
  };
  return {
    clock,
    step: (by: number) => {
      unread = by;
    },
  };
}

test.each([
  ['back', -5 * HOUR],
  ['forward', 5 * HOUR],
])('after a step %s purchases are polled, and events delivered, as before', async (_, by) => {
  const { clock, step } = steppingClock();
  t = await startTestApp({ replacements: { clock } });
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += 10_000) {
      clock.advance('10s');
      await t.app.pollOnce();
      await t.app.deliverOnce();
    }
  };
  const id = await t.watch({ script: [{ state: 'BeingProcessed' }] });
  await pass(60_000);
  expect(t.changesOf(id)).toEqual(['BeingProcessed']);
  t.receiver.respond({ status: 500 });
  const failing = await t.watch({ script: [{ state: 'New' }] });
  await pass(20_000);
  step(by);
  t.simulator.control.setState(id, 'Completed');
  await pass(10 * 60_000);
  expect(t.changesOf(id)).toEqual(['BeingProcessed', 'Completed']);
  expect(t.changesOf(failing)).toContain('New');
  const types = t.receiver.received.map(({ type }) => type);
  expect(types.filter((type) => type !== 'purchase.state_changed')).toEqual([]);
  expect(t.log.join('')).toContain('clock.stepped');
  const rows = await t.app.sql<{ ahead: number }[]>`
    select (extract(epoch from max(next_poll_at)) * 1000)::float8 - ${clock.now()}::float8 as ahead from purchase_watch.purchases where next_poll_at is not null`;
  expect(rows[0]!.ahead).toBeLessThan(2 * HOUR);
});
