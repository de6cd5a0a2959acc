/** Daemons on one database whose settings are not the same, each as a process of its own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let daemons: Daemon[] = [];
beforeEach(async () => {
  t = await startTestApp({ realClock: true, simulator: { load: 0 } });
});
afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')));
  daemons = [];
  await t.stop();
});

interface File {
  readonly sites: Readonly<Record<string, object>>;
  /** Further fields by name. */
  readonly subscribers: Readonly<Record<string, object>>;
}

/** A daemon with a file of its own. */
async function start({ sites, subscribers }: File): Promise<Daemon> {
  const login = { baseUrl: t.simulator.url, clientId: 'demo-client', clientSecret: 'demo-secret', maxRps: 1_000 };
  const file = {
    sites: Object.fromEntries(Object.entries(sites).map(([name, site]) => [name, { ...login, ...site }])),
    subscribers: Object.fromEntries(
      Object.entries(subscribers).map(([name, each]) => [name, { url: t.receiver.url, secret: SECRET, ...each }]),
    ),
  };
  const path = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(path, JSON.stringify(file));
  const env = { DATABASE_URL: t.database.url, PURCHASE_WATCH_CONFIG: path, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8', PORT: '0' };
  const daemon = startDaemon(['start'], env);
  daemons.push(daemon);
  await daemon.says('started');
  return daemon;
}

/** Registers new purchases by plain SQL, as a shop does in its own transaction; answers their ids. */
async function buy(site: string, count: number): Promise<string[]> {
  const ids = t.simulator.control.addMany(count, { script: [{ state: 'Completed' }] }).map(({ purchaseId }) => purchaseId);
  await t.app.sql`
    insert into purchase_watch.purchases (purchase_id, site) select unnest(${ids}::text[]), ${site}`;
  return ids;
}

/** How many events of these purchases were delivered to a subscriber. */
async function delivered(subscriber: string, ids: readonly string[]): Promise<number> {
  const [row] = await t.app.sql<[{ count: number }]>`
    select count(*)::integer as count from purchase_watch_internal.deliveries d
    join purchase_watch_internal.events e on e.position = d.event
    join purchase_watch.purchases p on p.id = e.purchase
    join purchase_watch_internal.subscribers s on s.id = d.subscriber
    where s.name = ${subscriber} and d.status = 'delivered' and p.purchase_id = any(${ids as string[]}::text[])`;
  return row.count;
}
const owners = async (): Promise<number[]> => {
  const rows = await t.app.sql<{ n: number }[]>`
    select count(*)::integer as n from purchase_watch_internal.shards where owner is not null group by owner order by 1`;
  return rows.map((row) => row.n);
};

const MINUTE = { timeout: 60_000 };

test('a daemon with an older file takes nothing away, while it runs and after it was killed', async () => {
  await start({ sites: { se: {}, no: {} }, subscribers: { shop: {}, books: {} } });
  await expect.poll(owners, MINUTE).toEqual([64]);
  const older = await start({ sites: { se: {} }, subscribers: { shop: { sites: ['se'] } } });
  // The shop's own transaction does not fail, every shard is polled by the daemon that knows the site, and no event is left out.
  const beside = [...(await buy('no', 100)), ...(await buy('se', 100))];
  for (const subscriber of ['shop', 'books']) await expect.poll(() => delivered(subscriber, beside), MINUTE).toBe(200);
  expect(await owners()).toEqual([64]);
  await older.end('SIGKILL');
  const after = await buy('no', 50);
  for (const subscriber of ['shop', 'books']) await expect.poll(() => delivered(subscriber, after), MINUTE).toBe(50);
}, 120_000);

test('daemons of which each knows a site that the other one does not poll both sites, and deliver to the subscribers of both', async () => {
  const one = await start({ sites: { se: {} }, subscribers: { shop: {} } });
  const other = await start({ sites: { no: {} }, subscribers: { books: {} } });
  const ids = [...(await buy('no', 100)), ...(await buy('se', 100))];
  for (const subscriber of ['shop', 'books'])
    await expect.poll(() => delivered(subscriber, ids), { timeout: 180_000, interval: 500 }).toBe(200);
  for (const each of [one, other]) expect(each.output()).not.toContain('replica.outdone');
}, 240_000);
