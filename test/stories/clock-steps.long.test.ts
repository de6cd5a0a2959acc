/** The database's clock steps by hours: nothing rests until it catches up, nothing is called stuck or expires by it. */
import { afterEach, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { testClock } from '../support/test-clock.ts';

const HOUR = 3_600_000;
const CARD = 6;
let t: TestApp;
afterEach(() => t.stop());

/** A clock whose database's clock can be set; what Postgres itself stamps stays by the machine's. */
function steppingClock(aheadAtFirst = 0) {
  const base = testClock();
  let ahead = aheadAtFirst;
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
    step: async (by: number): Promise<void> => {
      // Postgres would have stamped the renewals by the clock of before, too.
      if (by < 0) await t.app.sql`update purchase_watch_internal.renewals set renewed_at = ${clock.now()}::timestamptz`;
      unread = by;
    },
  };
}

test('after a step back each stuck checkout is alerted once, and its end when it comes', async () => {
  const { clock, step } = steppingClock(5 * HOUR);
  t = await startTestApp({
    stuck: 'each',
    change: (settings) => {
      const states = new Map(settings.policy.states);
      states.set(CARD, { ...states.get(CARD)!, stuckAfter: 60_000 });
      settings.policy = { ...settings.policy, states };
    },
    replacements: { clock },
  });
  const pass = async (minutes: number): Promise<string[]> => {
    for (let passed = 0; passed < minutes * 6; passed++) {
      clock.advance('10s');
      await t.app.pollOnce();
      await t.app.keepOnce();
      await t.app.judgeOnce();
      await t.app.deliverOnce();
    }
    return t.slack.received.map(({ text }) => text);
  };
  const ids = await Promise.all([0, 1].map(() => t.watch({ script: [{ state: 'WaitingForCardPayments' }] })));
  expect(await pass(3)).toHaveLength(1);
  await step(-5 * HOUR);
  // They are stuck as before: nobody got on, and nobody left.
  expect(await pass(8)).toHaveLength(1);
  t.simulator.control.setState(ids[0]!, 'Completed');
  ids.push(await t.watch({ script: [{ state: 'WaitingForCardPayments' }] }));
  const texts = await pass(12);
  expect(texts.slice(1).join()).toMatch(/got on .* after 1\d min/);
  expect(texts.slice(1).join()).toContain(ids[2]);
  expect(texts.slice(1).join()).not.toContain(ids[1]);
  const [site] = await t.app.sql<[{ at: number }]>`
    select (extract(epoch from greatest(last_read_at, first_success_at)) * 1000)::float8 as at from purchase_watch_internal.sites`;
  expect(site.at).toBeLessThanOrEqual(clock.now());
});

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
      await t.app.keepOnce();
      await t.app.deliverOnce();
    }
  };
  const id = await t.watch({ script: [{ state: 'BeingProcessed' }] });
  await pass(60_000);
  expect(t.changesOf(id)).toEqual(['BeingProcessed']);
  t.receiver.respond({ status: 500 });
  const failing = await t.watch({ script: [{ state: 'New' }] });
  await pass(20_000);
  await step(by);
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
