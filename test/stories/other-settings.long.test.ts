/** Daemons on one database whose settings are not the same, each as a process of its own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { signedIn } from '../support/machine.ts';
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
  readonly states?: object;
}

/** The file of the daemon that was started last. */
let lastFile = '';

/** A daemon with a file of its own. */
async function start({ sites, subscribers, states = {} }: File): Promise<Daemon> {
  const login = { baseUrl: t.simulator.url, clientId: 'demo-client', clientSecret: 'demo-secret', maxRps: 1_000 };
  const file = {
    states,
    slack: { groupWait: '1s' },
    sites: Object.fromEntries(Object.entries(sites).map(([name, site]) => [name, { ...login, ...site }])),
    subscribers: Object.fromEntries(
      Object.entries(subscribers).map(([name, each]) => [name, { url: t.receiver.url, secret: SECRET, ...each }]),
    ),
  };
  const path = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(path, JSON.stringify(file));
  lastFile = path;
  const env = { DATABASE_URL: t.database.url, PURCHASE_WATCH_CONFIG: path, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8', PORT: '0' };
  const daemon = startDaemon(['start'], env);
  daemons.push(daemon);
  await daemon.says('started');
  return daemon;
}

/** Registers new purchases by plain SQL, as a shop does in its own transaction; answers their ids. */
async function buy(site: string | null, count: number, state: 'Completed' | 'BeingProcessed' = 'Completed'): Promise<string[]> {
  const ids = t.simulator.control.addMany(count, { script: [{ state }] }).map(({ purchaseId }) => purchaseId);
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

/** A command, as an operator types it; answers what it printed. */
async function run(...words: string[]): Promise<string> {
  const command = startDaemon(words, {
    DATABASE_URL: t.database.url,
    PURCHASE_WATCH_CONFIG: lastFile,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  });
  // A signal that does nothing: the command ends by itself.
  await command.end('SIGWINCH');
  return command.output();
}

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

const sitesOf = async (ids: readonly string[]): Promise<string[]> => {
  const rows = await t.app.sql<{ site: string }[]>`
    select distinct site from purchase_watch.purchases where purchase_id = any(${ids as string[]}::text[])`;
  return rows.map(({ site }) => site);
};
const incidents = async (): Promise<{ site: string; isOpen: boolean }[]> =>
  t.app.sql<{ site: string; isOpen: boolean }[]>`
    select site, ended_at is null as "isOpen" from purchase_watch_internal.incidents where kind = 'unreachable'`;

test('a renamed site is missed aloud, and its purchases move to the site that has it as a former name', async () => {
  const subscribers = { shop: {} };
  const first = await start({ sites: { default: {} }, subscribers });
  const ids = await buy(null, 40, 'BeingProcessed');
  await expect.poll(() => delivered('shop', ids), MINUTE).toBe(40);
  await first.end('SIGTERM');

  const second = await start({ sites: { se: {} }, subscribers });
  await second.says('site.not_named');
  expect(second.output()).toContain('"purchases":40');
  await expect.poll(incidents, MINUTE).toEqual([{ site: 'default', isOpen: true }]);
  const status = await run('status');
  expect(status).toContain('40 purchases of site default are not polled');
  expect(status).not.toContain('up to date');
  const doctor = await run('doctor', '--quiet');
  expect(doctor).toMatch(/40 purchases of site default are not polled: no running daemon has the site in its settings/);
  expect(doctor).not.toContain('Everything is well');
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(second.output())!;
  const headers = await signedIn(address);
  for (const page of ['/', '/system', '/sites']) {
    const text = await (await fetch(`${address}${page}`, { headers })).text();
    expect(text, page).toContain('<main');
    expect(text, page).not.toContain('Nothing needs to be done');
  }
  // A registration without a site is for the site that is polled.
  const without = await buy(null, 1);
  expect(await sitesOf(without)).toEqual(['se']);
  await second.end('SIGTERM');

  const third = await start({ sites: { se: { formerly: ['default'] } }, subscribers });
  await third.says('site.moved');
  expect(await sitesOf(ids)).toEqual(['se']);
  expect(await sitesOf(await buy('default', 1))).toEqual(['se']);
  for (const id of ids) t.simulator.control.setState(id, 'Completed');
  await expect.poll(() => delivered('shop', ids), MINUTE).toBe(80);
  await expect.poll(async () => (await incidents()).every(({ isOpen }) => !isOpen), MINUTE).toBe(true);
  expect(await run('status')).toContain('up to date');
  const [row] = await t.app.sql<[{ chain: boolean }]>`
    select bool_and(last = p.sequence) as chain from purchase_watch.purchases p cross join lateral (
      select max(sequence) as last from purchase_watch_internal.purchase_transitions where purchase = p.id) x where p.site = 'se'`;
  expect(row.chain).toBe(true);
}, 180_000);

test('of a renamed site one locked row stays: everything names the session in the way, and nothing says that the setting lacks', async () => {
  const subscribers = { shop: {} };
  const first = await start({ sites: { default: {} }, subscribers });
  const ids = await buy(null, 40, 'BeingProcessed');
  await expect.poll(() => delivered('shop', ids), MINUTE).toBe(40);
  await first.end('SIGTERM');

  const session = connect(t.database.url, { max: 1 });
  await session.begin(async (other) => {
    const [{ pid }] = await other<[{ pid: number }]>`select pg_backend_pid() as pid`;
    await other`select from purchase_watch.purchases where purchase_id = ${ids[0]!} for update`;
    const daemon = await start({ sites: { se: { formerly: ['default'] } }, subscribers });
    await daemon.says('site.move_locked');
    expect(daemon.output()).toMatch(/"purchases":39,"left":1,.*site\.moved/);
    const said = [await run('status'), await run('doctor', '--quiet'), await run('why', ids[0]!), await run('poll', ids[0]!)];
    // The judge looks every few seconds; a lock that lasts is brought about by a rename that began earlier.
    await t.app.sql`
    update purchase_watch_internal.sites set unnamed_since = now() - interval '11 minutes' where name = 'default'`;
    await expect.poll(incidents, MINUTE).toEqual([{ site: 'default', isOpen: true }]);
    const unreachable = async (): Promise<string[]> => {
      const rows = await t.app.sql<{ body: string }[]>`
      select body::text as body from purchase_watch_internal.events where type = 'site.unreachable'`;
      return rows.map(({ body }) => body);
    };
    await expect.poll(unreachable, MINUTE).toHaveLength(1);
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(daemon.output())!;
    const headers = await signedIn(address);
    const pages = await Promise.all(
      ['/sites', '/sites/default', '/system'].map(async (page) => (await fetch(`${address}${page}`, { headers })).text()),
    );
    const [body] = await unreachable();
    expect(JSON.parse(body!).data).toMatchObject({ site: 'default', reason: 'not_moved' });
    const sayings = [...said, ...pages.slice(1), body!].map((text) => text.replace(/\s+/g, ' '));
    for (const text of sayings) expect(text).toContain(`session ${pid} `);
    for (const text of [...sayings, daemon.output()])
      expect(text).not.toMatch(/add (the old name|"formerly|&quot;formerly)|not_configured|site.not_named/);
  });
  await session.end({ timeout: 1 });
  await expect.poll(() => sitesOf(ids), MINUTE).toEqual(['se']);
  await expect.poll(async () => (await incidents()).every(({ isOpen }) => !isOpen), MINUTE).toBe(true);
}, 180_000);

test('daemons that differ say so at once, and what a registration waits for', async () => {
  await start({ sites: { se: {} }, subscribers: {} });
  const other = await start({ sites: { no: {} }, subscribers: {} });
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(other.output())!;
  const now = await (await fetch(`${address}/`, { headers: await signedIn(address) })).text();
  expect(now).toContain('the running daemons have different values of sites.no and sites.se');
  expect(now).not.toContain('Nothing needs to be done');
  expect(await run('doctor', '--quiet')).toMatch(/different values of .*sites\.no.* site no is in the settings of/s);
  expect(await run('watch', 'p-1', '--site', 'se')).toMatch(/wait up to 20 s/);
  expect(await run('status')).toMatch(/^Daemons: the running daemons have different values of sites/);
}, 120_000);

test('all purchases of a site that is over are stopped at once, after a look at how many there are', async () => {
  const first = await start({ sites: { old: {}, se: {} }, subscribers: {} });
  const ids = await buy('old', 1_200, 'BeingProcessed');
  const kept = await buy('se', 1, 'BeingProcessed');
  await first.end('SIGTERM');
  await start({ sites: { se: {} }, subscribers: {} });
  const looked = await run('unwatch', '--site', 'old', '--dry-run');
  expect(looked).toMatch(/^1.?200 purchases of site old are watched\.$/m);
  expect(looked).toContain('Nothing was stopped (--dry-run).');
  expect(await run('unwatch', '--site', 'old')).toContain('say --yes to do it');
  expect(await run('unwatch', '--site', 'old', '--yes')).toMatch(/Stopped 1.?200 purchases of site old/);
  const rows = await t.app.sql`
    select status, count(*)::integer as count from purchase_watch.purchases
    where purchase_id = any(${[...ids, ...kept]}::text[]) group by status order by status`;
  expect(rows).toMatchObject([
    { status: 'stopped', count: 1_200 },
    { status: 'watching', count: 1 },
  ]);
}, 120_000);

test('of a state made not final the start says how many purchases stay settled, and a command watches them again', async () => {
  const subscribers = { shop: {} };
  const first = await start({ sites: { se: {} }, subscribers });
  const ids = await buy('se', 30);
  await expect.poll(() => delivered('shop', ids), MINUTE).toBe(30);
  await first.end('SIGTERM');
  const second = await start({ sites: { se: {} }, subscribers, states: { Completed: { final: false } } });
  await second.says('states.not_final');
  expect(second.output()).toMatch(/"purchases":30,.*purchase-watch watch --settled Completed/);
  expect(await run('watch', '--settled', 'Complete')).toContain('did you mean Completed');
  expect(await run('watch', '--settled', 'Completed', '--dry-run')).toMatch(
    /^30 settled purchases: completed\.\nNothing was changed/,
  );
  expect(await run('watch', '--settled', 'Completed', '--site', 'se', '--yes')).toContain('Watching 30 purchases again');
  for (const id of ids) t.simulator.control.setState(id, 'Cancelled');
  await expect.poll(() => delivered('shop', ids), MINUTE).toBe(60);
}, 120_000);
