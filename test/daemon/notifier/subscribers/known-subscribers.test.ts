import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ConfiguredSubscriber } from '../../../../src/channels/outgoing/channel-kind.ts';
import { newSigningSecret, sealKeys, sealUrl } from '../../../../src/channels/outgoing/sealed.ts';
import { configuredSubscribers } from '../../../../src/channels/recipients.ts';
import { allowedDigest } from '../../../../src/channels/webhook/open.ts';
import { loadSettings } from '../../../../src/config/load-settings.ts';
import { noteOwnSaved, noteSaved } from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { createKnownSubscribers } from '../../../../src/daemon/notifier/subscribers/known-subscribers.ts';
import { SCHEDULE_WITH_PEOPLE } from '../../../../src/domain/deliveries/delivery-plan.ts';
import { WITH_PEOPLE, WITH_SYSTEMS } from '../../../../src/domain/deliveries/subscriber-health.ts';
import type { Sql } from '../../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { syncSubscribers } from '../../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { createSecrets } from '../../../../src/runtime/secrets/secrets.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { refuseWrites } from '../../../support/refused-writes.ts';
import { testClock } from '../../../support/test-clock.ts';
import { aDelivery, aLog, NOW } from '../parts.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
});
afterEach(() => database.drop());

test('a database that went back gives the id of one subscriber to another: memory takes neither for the other', async () => {
  const { sql } = database;
  const settings = loadSettings({
    ...{ DATABASE_URL: database.url, WEBHOOK_URL: 'https://shop.example/hooks', WEBHOOK_SECRET: `whsec_${'A'.repeat(43)}=` },
  });
  const [shop] = settings.subscribers;
  const books = { ...shop!, name: 'books', url: 'https://books.example/hooks' };
  const configured = configuredSubscribers({ ...settings, subscribers: [shop!, books] });
  const definitions = configured.map(({ definition }) => definition);
  await syncSubscribers(sql, definitions);
  const log = createLogger({ level: 'silent' });
  const known = createKnownSubscribers({ sql, clock: testClock(), log, settings, secrets: null, replica: 'a', configured });
  await known.refresh();
  const inMemory = () =>
    new Map([...known.all()].map((subscriber) => [subscriber.recipient.id, { subscriber, name: subscriber.recipient.name }]));
  const before = inMemory();
  expect([...before.values()].map(({ name }) => name).sort()).toEqual(['books', 'default']);

  // As after a failover that lost both rows: a daemon that noticed it has written them again, in another order.
  const ids = [...before.keys()] as [number, number];
  await sql`update purchase_watch_internal.subscribers set name = name || '-lost'`;
  await sql`update purchase_watch_internal.subscribers set name = case name when 'books-lost' then 'default' else 'books' end`;
  const found = await known.refresh();
  const after = inMemory();
  for (const id of ids) {
    expect(after.get(id)!.name).toBe(before.get(id)!.name === 'books' ? 'default' : 'books');
    expect(after.get(id)!.subscriber, 'queue and health are of the other one').not.toBe(before.get(id)!.subscriber);
    expect(after.get(id)!.subscriber.recipient.channel).not.toBe(before.get(id)!.subscriber.recipient.channel);
  }
  expect(found.map(({ was }) => was)).toEqual(found.map(() => ({ health: null, unreached: null })));
  await known.close();
});

const SECRETS = createSecrets('an encryption key of many characters');
const PAUSED = { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + 60_000, lastError: 'No.', cause: null };

/** A replica that knows `shop` (id 1) and `people` (id 2) of the settings and `books` (id 3) of the API. `meanwhile` happens while the rows are read. */
async function world(meanwhile: () => void = () => undefined) {
  const { sql } = database;
  const closed: string[] = [];
  const opened: string[] = [];
  const named = (name: string, audience: 'systems' | 'people'): ConfiguredSubscriber => ({
    definition: {
      ...{ name, audience, kind: audience === 'people' ? 'slack' : 'webhook', format: 'standard', types: null },
      ...{ sites: null, states: null, addressHash: 'x' },
    },
    open: () => {
      opened.push(name);
      const close = async (): Promise<void> => void closed.push(name);
      return {
        channel: { send: () => Promise.reject(new Error('not sent here')), close },
        concurrency: 4,
        spacing: 0,
        timeout: 1,
      };
    },
  });
  const configured = [named('shop', 'systems'), named('people', 'people')];
  await syncSites(sql, ['default']);
  await syncSubscribers(
    sql,
    configured.map(({ definition }) => definition),
  );
  const sealed = (url: string) => ({ url: sealUrl(SECRETS, 'books', url), hash: `hash of ${url} ${opened.length}` });
  const first = sealed('https://books.example/hooks');
  const keys = sealKeys(SECRETS, 'books', [{ key: newSigningSecret(), until: null }]);
  await sql`insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash)
    values ('books', 'webhook', 'api', ${first.url}, ${keys}, ${first.hash})`;
  const reading = ((strings: TemplateStringsArray, ...values: never[]) => {
    if (!strings.join('').includes('where s.configured order by s.id')) return sql(strings, ...values);
    return sql(strings, ...values).then((rows: unknown) => {
      meanwhile();
      return rows;
    });
  }) as unknown as Sql;
  const { log, logged } = aLog();
  const settings = loadSettings({ DATABASE_URL: database.url });
  const pool = Object.assign(reading, { unsafe: sql.unsafe.bind(sql) });
  const clock = { ...testClock(), now: () => NOW };
  const known = createKnownSubscribers({ sql: pool, clock, log, settings, secrets: SECRETS, replica: 'me', configured });
  const [shop, people, books] = (await known.refresh()).map(({ subscriber }) => subscriber);
  return {
    ...{ known, closed, opened, logged, settings, shop: shop!, people: people!, books: books! },
    /** The subscriber of the API gets another address, or another key where the address stays. */
    move: async (url: string): Promise<void> => {
      const { url: stored } = sealed(url);
      await sql`update purchase_watch_internal.subscribers set url = ${stored}, address_hash = address_hash || '+' where id = 3`;
    },
    change: (set: string, id: number) => sql.unsafe(`update purchase_watch_internal.subscribers set ${set} where id = ${id}`),
  };
}
/** Notes in the database that a subscriber is paused. */
const pause = (
  id: number,
  { cause = null, allowed = null }: { cause?: string | null; allowed?: string | null } = {},
) => database.sql`
  insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error, cause, allowed)
  values (${id}, 4, 1, to_timestamp(${NOW}::float8 / 1000), to_timestamp(${NOW + 60_000}::float8 / 1000), 'No.', ${cause}, ${allowed})`;
const paused = async () =>
  (await database.sql<{ id: number }[]>`select subscriber as id from purchase_watch_internal.subscriber_health order by 1`).map(
    ({ id }) => id,
  );

test('systems are tried by the schedule of the settings and with patience, people soon and for ever', async () => {
  const { known, shop, people, books, settings } = await world();
  const { schedule } = settings.webhooks;
  expect([shop, people, books].map(({ recipient }) => ({ ...recipient, channel: null }))).toMatchObject([
    { id: 1, name: 'shop', addressHash: 'x', schedule, patience: WITH_SYSTEMS, concurrency: 4 },
    { id: 2, name: 'people', schedule: SCHEDULE_WITH_PEOPLE, patience: WITH_PEOPLE },
    { id: 3, name: 'books', schedule, patience: WITH_SYSTEMS },
  ]);
  await known.close();
});

test('what is read again is not opened again, and each health is told beside what memory had of it', async () => {
  let isReading = false;
  const all = await world(() => {
    if (isReading) noteSaved(all.shop.health, null);
  });
  const { known, shop, opened } = all;
  noteSaved(shop.health, PAUSED);
  isReading = true;
  await pause(1);
  const found = await known.refresh();
  expect(opened).toEqual(['shop', 'people']);
  expect(found.map(({ subscriber }) => subscriber)).toEqual([all.shop, all.people, all.books]);
  // This replica wrote something while the rows were read.
  expect(found[0]).toMatchObject({ is: { health: PAUSED, unreached: null }, was: { health: PAUSED, unreached: null } });
  expect(shop.health.saved).toBeNull();
  await known.close();
});

test('a subscriber that is off is known, and gets nothing until the database says that it is on', async () => {
  const { known, shop, people, books, change } = await world();
  const active = () => known.active().map(({ recipient }) => recipient.name);
  expect([active(), known.count(), known.isActive(shop)]).toEqual([['shop', 'people', 'books'], 3, true]);
  await change(`status = 'off'`, 1);
  await known.refresh();
  expect([known.all(), active(), known.count(), known.isActive(shop)]).toEqual([
    [shop, people, books],
    ['people', 'books'],
    2,
    false,
  ]);
  await change(`status = 'active'`, 1);
  await known.refresh();
  expect([active().length, known.count(), known.isActive(shop)]).toEqual([3, 3, true]);
  expect(known.isActive({ ...shop }), 'another one with its id').toBe(false);
  await known.close();
  expect([known.count(), known.isActive(shop)]).toEqual([0, false]);
});

test('a subscriber that this replica switches off gets nothing more, though the rows had been read before', async () => {
  let isReading = false;
  const all = await world(() => {
    if (isReading) all.known.switchedOff(all.shop);
  });
  const { known, shop } = all;
  shop.reading.begin()(NOW, false);
  shop.queue.add(aDelivery(1));
  isReading = true;
  await known.refresh();
  isReading = false;
  expect([known.isActive(shop), known.count(), shop.queue.size, shop.reading.mayHoldMore]).toEqual([false, 2, 0, true]);
  // The next read has what the database says.
  await known.refresh();
  expect([known.isActive(shop), known.count()]).toEqual([true, 3]);
  known.switchedOff(shop);
  expect([known.isActive(shop), known.count()]).toEqual([false, 2]);
  await known.close();
});

test('a subscriber that is deleted while it is off counts no more', async () => {
  const { known, closed, change } = await world();
  await change(`status = 'off'`, 1);
  await known.refresh();
  await change('configured = false', 1);
  expect((await known.refresh()).map(({ subscriber }) => subscriber.recipient.name)).toEqual(['people', 'books']);
  expect([known.count(), closed]).toEqual([2, ['shop']]);
  await known.close();
  expect(closed).toEqual(['shop', 'people']);
});

test('a subscriber whose channel cannot be opened any more leaves memory', async () => {
  const { known, change, logged } = await world();
  await change(`url = 'x', address_hash = 'y'`, 3);
  expect((await known.refresh()).map(({ subscriber }) => subscriber.recipient.name)).toEqual(['shop', 'people']);
  expect([known.count(), logged.map(({ event }) => event)]).toEqual([2, ['subscriber.unreachable']]);
  // It does not share the memory, whether it is on or off.
  await change(`status = 'off'`, 3);
  await known.refresh();
  expect(known.count()).toBe(2);
  await known.close();
});

test('a new address begins without failures, and what waits in memory goes there', async () => {
  const { known, books, move } = await world();
  const { channel } = books.recipient;
  let isClosed = false;
  Object.assign(channel, {
    close: async () => {
      isClosed = true;
    },
  });
  books.queue.add(aDelivery(1));
  noteSaved(books.health, PAUSED);
  await pause(3);
  await move('https://books.example/others');
  const [, , found] = await known.refresh();
  expect([found!.subscriber, books.queue.size, books.health.saved, await paused()]).toEqual([books, 1, null, []]);
  expect([books.recipient.channel === channel, isClosed]).toEqual([false, true]);
  const moved = books.recipient.channel;
  await known.refresh();
  expect(books.recipient.channel, 'it is not opened again').toBe(moved);
  await known.close();
});

test('failures at a new address that another replica wrote stay', async () => {
  const { known, move } = await world();
  await pause(3);
  await move('https://books.example/others');
  await known.refresh();
  expect(await paused()).toEqual([3]);
  await known.close();
});

test('that this replica did not reach the former address says nothing of the new one', async () => {
  const { known, books, move } = await world();
  noteOwnSaved(books.health, { failures: 4, since: NOW, error: 'No route.' });
  await database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, our_failures, our_failing_since, our_replica) values (3, 4, now(), 'me')`;
  await move('https://books.example/others');
  await known.refresh();
  expect([await paused(), books.health.own.saved]).toEqual([[], null]);
  await known.close();
});

test('with new keys a subscriber keeps its failures', async () => {
  const { known, books, move } = await world();
  const { channel } = books.recipient;
  noteSaved(books.health, PAUSED);
  await pause(3);
  await move('https://books.example/hooks');
  await known.refresh();
  expect([books.health.saved, await paused(), books.recipient.channel === channel]).toEqual([PAUSED, [3], false]);
  await known.close();
});

test('the address of a channel for people may be that of a daemon that was started later, the one of a system is the settings’', async () => {
  const { known, opened, closed, change } = await world();
  await change(`address_hash = 'y'`, 1);
  await change(`address_hash = 'y'`, 2);
  expect((await known.refresh()).map(({ subscriber }) => subscriber.recipient.name)).toEqual(['shop', 'books']);
  expect([opened, closed]).toEqual([['shop', 'people'], ['people']]);
  await known.close();
});

test('a change that fails halfway is made by the next read', async () => {
  const { known, books, move } = await world();
  noteSaved(books.health, PAUSED);
  await pause(3);
  await move('https://books.example/others');
  const repair = await refuseWrites(database.sql, [['purchase_watch_internal.subscriber_health', 'insert or update or delete']]);
  await expect(known.refresh()).rejects.toThrow('No space left');
  await repair();
  await known.refresh();
  expect([books.health.saved, await paused()]).toEqual([null, []]);
  await known.close();
});

test('at its start alone a daemon ends pauses that began because it allowed other addresses, with the waits', async () => {
  const { known, settings, logged } = await world();
  const { sql } = database;
  const otherDaemon = { cause: 'address_refused', allowed: 'other addresses' };
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      values ('evt_1', 'site.reachable', 'default', 0, now(), '{}') returning position)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select position, position, 1, 0, to_timestamp(${NOW + 60_000}::float8 / 1000) from event`;
  await pause(1, otherDaemon);
  await known.refresh();
  expect(await paused(), 'two daemons would end the pauses of each other').toEqual([1]);
  await pause(2, { ...otherDaemon, allowed: allowedDigest(settings.webhooks) });
  await pause(3);
  const { log, logged: lines } = aLog();
  const options = {
    sql,
    clock: { ...testClock(), now: () => NOW },
    log,
    settings,
    secrets: SECRETS,
    replica: 'me',
    configured: [],
  };
  const started = createKnownSubscribers(options);
  const repair = await refuseWrites(sql, [['purchase_watch_internal.subscriber_health', 'insert or update or delete']]);
  await expect(started.refresh()).rejects.toThrow('No space left');
  await repair();
  await started.refresh();
  expect(await paused()).toEqual([2, 3]);
  const [row] =
    await sql`select (extract(epoch from due_at) * 1000)::float8 - ${NOW}::float8 as wait from purchase_watch_internal.deliveries`;
  expect(row).toEqual({ wait: 0 });
  expect(lines[0]).toMatchObject({ event: 'subscriber.resumed', subscriber: 'shop', detail: expect.stringContaining('address') });
  expect(logged).toEqual([]);
  await Promise.all([known.close(), started.close()]);
});
