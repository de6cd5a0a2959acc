/** Two replicas, of which one reaches no checkout service or no receiver: the other does its work meanwhile. */
import { afterEach, expect, test } from 'vitest';
import { type App, createApp } from '../../src/app.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { startWire, type Wire } from '../support/wire.ts';

let t: TestApp;
let far: App;
let wire: Wire;
const farLog: string[] = [];
afterEach(async () => {
  await far.stop();
  await wire.stop();
  await t.stop();
  farLog.length = 0;
});

/** A second daemon, which has a line of its own to what it calls. */
async function startFar(target: 'sites' | 'receiver'): Promise<void> {
  t = await startTestApp({ wholeClock: true });
  wire = await startWire(target === 'sites' ? t.simulator.url : t.receiver.url);
  const { settings } = t;
  const changed =
    target === 'sites'
      ? { ...settings, sites: settings.sites.map((site) => ({ ...site, baseUrl: wire.url })) }
      : { ...settings, subscribers: settings.subscribers.map((each) => ({ ...each, url: wire.url })) };
  const destination = { write: (line: string) => farLog.push(line) } as unknown as NodeJS.WritableStream;
  far = await createApp(changed, { clock: t.clock, random: () => 0.5, log: createLogger({ level: 'debug', destination }) });
  await t.app.start();
  await far.start();
  await liveUntil(async () => (await owners()).join() === '32,32');
  // The line of its own makes its settings other ones, which is another incident and not what these stories are about.
  await t.app.sql`update purchase_watch_internal.replicas set settings_digests = null`;
}

const owners = async (): Promise<number[]> => {
  const rows = await t.app.sql<{ n: number }[]>`
    select count(*)::integer as n from purchase_watch_internal.shards where owner is not null group by owner order by 1`;
  return rows.map((row) => row.n);
};
/** When the leases of the replicas end, which each renewal puts off. */
const leases = (): Promise<{ id: string; ends: string }[]> =>
  t.app.sql<
    { id: string; ends: string }[]
  >`select id, expires_at::text as ends from purchase_watch_internal.replicas order by id`;
/** Queries that a pass makes one after the other; a loop's round takes fewer. */
const QUERIES = 40;
/**
 * Two seconds, in which both daemons renew their leases and the other loops do their rounds, however slow the machine is: the
 * daemons share this process and its database, so that their queries are answered while those of the pass are.
 */
async function pass(): Promise<void> {
  const before = new Map((await leases()).map(({ id, ends }) => [id, ends]));
  t.clock.advance('2s');
  const rounds = queriesInTurn();
  await expect.poll(async () => (await leases()).every(({ id, ends }) => ends !== before.get(id)), { interval: 20 }).toBe(true);
  await rounds;
}
async function queriesInTurn(): Promise<void> {
  for (let n = 0; n < QUERIES; n++) await t.app.sql`select 1`;
}
/** Time goes by in steps shorter than a lease, until something is so; answers how much. */
async function liveUntil(isSo: () => Promise<boolean>, seconds = 600): Promise<number> {
  for (let passed = 0; ; passed += 2) {
    if (await isSo()) return passed;
    if (passed >= seconds)
      throw new Error(
        `it is not so after ${seconds} s; the log:\n${farLog
          .filter((line) => !line.includes('poll.'))
          .slice(-20)
          .join('')}`,
      );
    await pass();
  }
}
async function watchMany(count: number): Promise<string[]> {
  const ids = t.simulator.control.addMany(count, { script: [{ state: 'BeingProcessed' }] }).map(({ purchaseId }) => purchaseId);
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  return ids;
}
const headlines = (): (string | undefined)[] => t.slack.received.map(({ text }) => text.split('\n')[0]);

test('a replica that reaches no service leaves its purchases to one that does, is reported once, and takes its share back', async () => {
  await startFar('sites');
  const ids = await watchMany(60);
  await liveUntil(async () => ids.every((id) => t.changesOf(id).length === 1));
  await wire.spoil({ kind: 'refused' });
  const away = await liveUntil(async () => (await owners()).join() === '64');
  expect(away).toBeLessThanOrEqual(180);
  for (const id of ids) t.simulator.control.setState(id, 'Completed');
  // Every purchase is asked, although one replica reaches nothing.
  await liveUntil(async () => ids.every((id) => t.changesOf(id).length === 2));
  await liveUntil(async () => headlines().length > 0);
  expect(headlines()).toEqual([expect.stringMatching(/a daemon reaches no checkout service/i)]);
  expect(t.slack.received[0]!.text).toMatch(/network|proxy/);
  const others = await watchMany(20);
  await liveUntil(async () => others.every((id) => t.changesOf(id).length === 1));

  await wire.spoil(null);
  await liveUntil(async () => (await owners()).join() === '32,32');
  await liveUntil(async () => headlines().length > 1);
  expect(headlines()[1]).toMatch(/^✅/);
  // One alert and its end, and nothing of the site, which always answered.
  expect(headlines()).toHaveLength(2);
  expect(await t.app.sql`select kind from purchase_watch_internal.incidents where kind = 'replica'`).toHaveLength(1);
});

test('a service that no replica reaches is given up by none', async () => {
  await startFar('sites');
  const ids = await watchMany(20);
  await liveUntil(async () => ids.every((id) => t.changesOf(id).length === 1));
  await wire.spoil({ kind: 'refused' });
  await t.simulator.stop();
  for (let second = 0; second < 120; second += 2) {
    await pass();
    expect(await owners()).toEqual([32, 32]);
  }
  expect(farLog.join('')).not.toContain('replica.away');
});

test('a replica that reaches no receiver leaves its deliveries to one that does, and takes its share back', async () => {
  await startFar('receiver');
  const ids = await watchMany(200);
  await liveUntil(async () => ids.every((id) => t.changesOf(id).length === 1));
  await wire.spoil({ kind: 'refused' });
  const waiting = [...ids];
  // Customers go on one after the other, so that the receiver takes events of the other replica all the time; more come until
  // the replica that is cut off has noticed, however slow the machine is.
  const oneMore = async (): Promise<void> => {
    if (waiting.length <= 50) waiting.push(...(await watchMany(50)));
    t.simulator.control.setState(waiting.shift()!, 'Completed');
  };
  await liveUntil(async () => {
    await oneMore();
    return (await owners()).join() === '64';
  }, 1_200);
  for (const id of waiting) t.simulator.control.setState(id, 'Completed');
  await liveUntil(async () => ids.every((id) => t.changesOf(id).length === 2), 1_200);
  await liveUntil(async () => headlines().some((line) => /a daemon reaches no receiver/i.test(line ?? '')));
  await wire.spoil(null);
  await liveUntil(async () => (await owners()).join() === '32,32', 1_200);
  for (const id of ids) expect(t.changesOf(id)).toEqual(['BeingProcessed', 'Completed']);
});
