import { afterEach, beforeEach, expect, test } from 'vitest';
import { configuredSubscribers } from '../../../../src/channels/recipients.ts';
import { loadSettings } from '../../../../src/config/load-settings.ts';
import { createKnownSubscribers } from '../../../../src/daemon/notifier/subscribers/known-subscribers.ts';
import { syncSubscribers } from '../../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { testClock } from '../../../support/test-clock.ts';

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
