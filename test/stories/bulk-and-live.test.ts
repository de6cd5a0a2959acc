/** A bulk registration beside purchases that are registered one by one: which polls go first, at a ceiling that is too low for all. */
import { afterEach, expect, test } from 'vitest';
import { register, requestPoll } from '../../src/postgres/purchases/purchases.ts';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const CEILING = 50;
const start = async (options: TestAppOptions = {}): Promise<void> => {
  t = await startTestApp({ realClock: true, ...options, env: { CHECKOUT_MAX_RPS: `${CEILING}`, ...options.env } });
};
/** Purchases that the service has, and that nothing registered. */
const made = (count: number): string[] =>
  Array.from({ length: count }, () => t.simulator.control.add({ script: [{ state: 'New' }] }).purchaseId);
const callsOf = (ids: readonly string[]): number => ids.filter((id) => t.simulator.control.callsOf(id) > 0).length;
const registered = (ids: readonly string[]) =>
  register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
const bySql = (ids: readonly string[]) =>
  t.app.sql`insert into purchase_watch.purchases (purchase_id) select unnest(${ids}::text[])`;
/** How many purchases of the bulk were called before this one was. */
async function bulkCallsBefore(single: string, bulk: readonly string[]): Promise<number> {
  const before = callsOf(bulk);
  await expect.poll(() => callsOf([single]), { interval: 5, timeout: 30_000 }).toBe(1);
  return callsOf(bulk) - before;
}

test.each([
  ['by the API or a command', registered],
  ['by SQL', bySql],
])(
  'what is registered by itself is polled before thousands that were registered together %s, which go on',
  async (_, registerBulk) => {
    // Far less room than the bulk has rows.
    await start({ replacements: { windowCapacity: 400 } });
    const known = made(1);
    await registered(known);
    void t.app.start();
    await expect.poll(() => callsOf(known)).toBe(1);
    const bulk = made(2_000);
    await registerBulk(bulk);
    await expect.poll(() => callsOf(bulk), { timeout: 30_000 }).toBeGreaterThan(20);
    for (const register of [registered, bySql, registered]) {
      const [single] = made(1);
      await register([single!]);
      // Each is a call of the site's; counted, because the machine's speed is not known.
      expect(await bulkCallsBefore(single!, bulk)).toBeLessThan(CEILING);
    }
    // One of the bulk that a person asks for.
    const last = bulk.findLast((id) => callsOf([id]) === 0)!;
    await requestPoll(t.app.sql, { site: 'default', purchaseId: last });
    expect(await bulkCallsBefore(last, bulk)).toBeLessThan(CEILING);
    // The bulk goes on all the while, and nothing of it is left out.
    const reached = callsOf(bulk);
    expect(reached).toBeLessThan(bulk.length / 2);
    await expect.poll(() => callsOf(bulk), { timeout: 30_000 }).toBeGreaterThan(reached + 2 * CEILING);
    expect(t.log.join()).not.toContain('queue.found_overdue');
  },
);
