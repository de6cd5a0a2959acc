/** A file of 100 000 purchases is registered while customers pay: real daemons share the default ceiling. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let processes: Daemon[] = [];
afterEach(async () => {
  await Promise.all(processes.map((each) => each.end('SIGKILL')));
  processes = [];
  await t.stop();
});

const BULK = 100_000;
const LIVE = 60;
/** The default ceiling is 50 calls a second. */
const settings = (): Record<string, string> => ({
  DATABASE_URL: t.database.url,
  CHECKOUT_BASE_URL: t.simulator.url,
  CHECKOUT_CLIENT_ID: 'demo-client',
  CHECKOUT_CLIENT_SECRET: 'demo-secret',
  CHECKOUT_TIMEOUT: '10s',
  WEBHOOK_URL: t.receiver.url,
  WEBHOOK_SECRET: SECRET,
  WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  PORT: '0',
});
function run(...args: string[]): Daemon {
  const process = startDaemon(args, settings());
  processes.push(process);
  return process;
}
const callsSoFar = (): number => Object.values(t.simulator.control.counters().calls).reduce((sum, each) => sum + each, 0);
const pollsOfBulk = async (): Promise<number> => {
  const [row] = await t.app.sql<[{ count: number }]>`
    select ${BULK} - count(*)::integer as count from purchase_watch.purchases where due_slot >= 1000000000`;
  return row.count;
};

test('customers who pay get their first poll within two seconds beside a file of 100 000, which goes on', async () => {
  t = await startTestApp({ realClock: true });
  const replicas = [run('start'), run('start')];
  await Promise.all(replicas.map((each) => each.says('started')));
  // Each replica writes its part of the ceiling every ten seconds.
  const ceilings = () => t.app.sql`select ceiling::integer from purchase_watch_internal.site_calls`;
  await expect.poll(ceilings).toEqual([{ ceiling: 25 }, { ceiling: 25 }]);
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'ids.txt');
  // The service knows half of what the loop below reaches; ids that it does not know are asked for again and again.
  const known = t.simulator.control.addMany(2_000, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  const ids = Array.from({ length: BULK }, (_, index) => (index % 2 === 0 ? known[index / 2] : undefined) ?? `unknown-${index}`);
  writeFileSync(file, ids.join('\n'));
  const watching = run('watch', '--file', file);
  await watching.says('at 50 calls a second', 240_000);
  expect(watching.output()).toMatch(/100 ?000 new/);
  const before = { at: performance.now(), polls: await pollsOfBulk(), calls: callsSoFar() };

  const live = t.simulator.control.addMany(LIVE, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  for (const [index, purchaseId] of live.entries()) {
    if (index % 2 === 0) await t.app.sql`insert into purchase_watch.purchases (purchase_id) values (${purchaseId})`;
    else await register(t.app.sql, [{ purchaseId, site: null, reference: null, metadata: null }]);
    await delay(500);
  }
  const firsts = () => t.app.sql<{ wait: number }[]>`
    select extract(epoch from x.not_after - p.registered_at)::float8 as wait
    from purchase_watch.purchases p join purchase_watch_internal.purchase_transitions x on x.purchase = p.id and x.from_sequence is null
    where p.purchase_id = any(${live}::text[]) order by 1`;
  await expect.poll(async () => (await firsts()).length).toBe(LIVE);
  const after = { at: performance.now(), polls: await pollsOfBulk(), calls: callsSoFar() };
  const waits = (await firsts()).map(({ wait }) => wait);
  expect(waits[Math.floor(0.99 * LIVE) - 1]).toBeLessThan(2);
  // The bulk gets what the others leave: most of the calls.
  expect(after.polls - before.polls).toBeGreaterThan((after.calls - before.calls) / 8);
  // Its deliveries do not hold up those of customers.
  for (const id of live) await t.receiver.waitFor(() => t.changesOf(id).length > 0, 60_000);

  // A person who asks for one of its last purchases has the answer while the others wait.
  const polled = run('poll', ids.at(-2)!, '--wait', '30s');
  const asked = performance.now();
  expect(await polled.end('SIGCONT')).toBe(0);
  // Far less than the half hour that the others take; the command itself starts in seconds on a busy machine.
  expect(performance.now() - asked).toBeLessThan(30_000);

  // Another replica that begins anew reads the queues in the same order.
  await replicas[0]!.end('SIGKILL');
  const [late] = t.simulator.control.addMany(1, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
  run('start');
  await register(t.app.sql, [{ purchaseId: late!, site: null, reference: null, metadata: null }]);
  await t.receiver.waitFor(() => t.changesOf(late!).length > 0, 120_000);
  expect(await pollsOfBulk()).toBeLessThan(BULK / 2);
  for (const each of processes) expect(each.output()).not.toContain('queue.found_overdue');
});
