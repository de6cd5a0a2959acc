import { afterEach, beforeEach, expect, test } from 'vitest';
import { createNames } from '../../../src/daemon/shards/names.ts';
import { listSites } from '../../../src/postgres/polling/sites.ts';
import { followNames, namedBy, retireUnnamed, unnamedSubscribers } from '../../../src/postgres/shards/named.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { findSubscriber, type SubscriberDefinition } from '../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let elapsed: number;
let log: string[];
beforeEach(async () => {
  database = await testDatabase();
  elapsed = 0;
  log = [];
});
afterEach(() => database.drop());

const subscriber = (name: string, more: Partial<SubscriberDefinition> = {}): SubscriberDefinition => ({
  ...{ name, kind: 'webhook', audience: 'systems', format: 'standard', types: null, sites: null, states: null, addressHash: 'a' },
  ...more,
});

/** What a replica's settings name, and the digests of its settings. */
interface Told {
  readonly sites: readonly (string | { readonly name: string; readonly formerly: readonly string[] })[];
  readonly subscribers?: readonly SubscriberDefinition[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** A replica that has started: it named its settings, and its row is there. */
async function start(id: string, { sites, subscribers = [], settings = {} }: Told) {
  const named = namedBy(
    sites.map((site) => (typeof site === 'string' ? { name: site } : site)),
    subscribers,
  );
  const naming = { named, definitions: subscribers };
  const digests = { version: '1.0.0', ...settings };
  await followNames(database.sql, { ...naming, replica: null });
  await renewReplica(database.sql, { id, process: `${id} 1 1`, ttl: 60_000, named, settings: digests });
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const clock = { monotonic: () => elapsed };
  return createNames({
    ...{ sql: database.sql, clock, replica: id, naming, settings: digests },
    log: createLogger({ level: 'info', destination }),
  });
}
const gone = (id: string) => database.sql`delete from purchase_watch_internal.replicas where id = ${id}`;
const sites = async () => (await listSites(database.sql)).map(({ name, configured }) => [name, configured]);
/** Sites and subscribers that no replica names. */
const unnamed = async () => {
  const all = [
    ...(await listSites(database.sql)).filter(({ unpolled }) => unpolled > 0),
    ...(await unnamedSubscribers(database.sql)),
  ];
  return all.map(({ name }) => name);
};
const filtersOf = async (name: string) => (await findSubscriber(database.sql, name))?.sites;

test('a start takes no site and no subscriber away; ten minutes after the last replica named one, it is not configured any more', async () => {
  const right = await start('right', { sites: ['se', 'no'], subscribers: [subscriber('shop'), subscriber('books')] });
  const older = await start('older', { sites: ['se'], subscribers: [subscriber('shop')] });
  await older.tick();
  expect(await sites()).toEqual([
    ['no', true],
    ['se', true],
  ]);
  expect(await unnamed()).toEqual([]);
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'no')`;
  await gone('right');
  await older.tick();
  expect(await unnamed()).toEqual(['no', 'books']);
  expect(log.join('')).toContain('site.not_named');
  const before = Date.now() - 60_000;
  expect(await retireUnnamed(database.sql, before)).toEqual([]);
  expect(await retireUnnamed(database.sql, Date.now() + 60_000)).toEqual([
    { kind: 'site', name: 'no' },
    { kind: 'subscriber', name: 'books' },
  ]);
  // The right one is back, without another start.
  await renewReplica(database.sql, { id: 'right', process: 'right 1 1', ttl: 60_000 });
  await right.tick();
  await older.tick();
  expect(await unnamed()).toEqual([]);
  expect((await sites())[0]).toEqual(['no', true]);
  expect(await findSubscriber(database.sql, 'books')).not.toBeNull();
});

test('of very many purchases the log says that there are at least so many, and says it again when they begin to move', async () => {
  await start('old', { sites: ['old'] });
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) select 'p-' || n, 'old' from generate_series(1, 1001) n`;
  await gone('old');
  const daemon = await start('new', { sites: ['se'] });
  await daemon.tick();
  expect(log.join('')).toMatch(
    /"purchases":1000,"atLeast":true,"detail":"at least 1 000 purchases of site old are not polled: .*site\.not_named/,
  );
  await gone('new');
  await (await start('newer', { sites: [{ name: 'se', formerly: ['old'] }] })).tick();
  expect(log.join('')).toMatch(
    /"atLeast":true,"detail":"at least 1 000 purchases of site old are not polled yet: they move to site se.*site\.moves/,
  );
});

test('of a subscriber the newest living definition counts, with the events that any living one wants', async () => {
  const right = await start('right', { sites: ['se', 'no'], subscribers: [subscriber('shop', { addressHash: 'right' })] });
  const shop = subscriber('shop', { sites: ['se'], addressHash: 'older' });
  const older = await start('older', { sites: ['se', 'no'], subscribers: [shop] });
  for (const each of [right, older, right]) await each.tick();
  expect(await findSubscriber(database.sql, 'shop')).toMatchObject({ sites: null, addressHash: 'older' });
  await gone('older');
  await right.tick();
  expect(await findSubscriber(database.sql, 'shop')).toMatchObject({ sites: null, addressHash: 'right' });
  // The other way round the filter narrows only with the last replica that wanted more.
  const narrow = await start('narrow', { sites: ['se', 'no'], subscribers: [shop] });
  expect(await filtersOf('shop')).toBeNull();
  await gone('right');
  await narrow.tick();
  expect(await filtersOf('shop')).toEqual(['se']);
});

test('settings that differ for five minutes are trouble of each replica, which names them; those of another version are not', async () => {
  const same = { 'sites.se': 'aaaa', 'slack.groupWait': 'bbbb' };
  const one = await start('one', { sites: ['se'], settings: same });
  const other = await start('other', {
    sites: ['se'],
    settings: { ...same, 'slack.groupWait': 'cccc', 'webhooks.timeout': 'dddd' },
  });
  for (const each of [one, other]) await each.tick();
  elapsed += 299_000;
  expect(one.troubles()).toEqual([]);
  elapsed += 2_000;
  for (const each of [one, other]) {
    expect(each.troubles()).toEqual([
      {
        reason: 'settings_differ',
        for: 301_000,
        error: 'Another daemon has a different value of slack.groupWait and webhooks.timeout.',
      },
    ]);
  }
  await gone('other');
  await start('newer', { sites: ['se'], settings: { version: '2.0.0', 'slack.groupWait': 'cccc' } });
  await one.tick();
  expect(one.troubles()).toEqual([]);
  elapsed += 301_000;
  await one.tick();
  expect(log.join('')).toContain('replica.other_version');
});
