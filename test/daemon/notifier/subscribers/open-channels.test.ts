/** Which channels can be opened, and what people are told of the others; what other replicas make of that is tested in stories/stored-secrets. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Channel } from '../../../../src/channels/outgoing/channel.ts';
import type { ConfiguredSubscriber } from '../../../../src/channels/outgoing/channel-kind.ts';
import { newSigningSecret, sealKeys, sealUrl } from '../../../../src/channels/outgoing/sealed.ts';
import { loadSettings } from '../../../../src/config/load-settings.ts';
import { createOpenChannels } from '../../../../src/daemon/notifier/subscribers/open-channels.ts';
import { AppError } from '../../../../src/domain/values/errors.ts';
import { renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import type { StoredSubscriber } from '../../../../src/postgres/subscribers/subscribers.ts';
import { createSecrets } from '../../../../src/runtime/secrets/secrets.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { aLog, NOW } from '../parts.ts';

const SECRETS = createSecrets('an encryption key of many characters');
const UNREAD = 'Its address cannot be read: SECRETS_KEY is not set.';
const ADDRESS = 'https://shop.example/hooks';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  // Id 1.
  await database.sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x')`;
  for (const id of ['me', 'other']) await renewReplica(database.sql, { id, process: 'test', ttl: 3_600_000 });
});
afterAll(() => database.drop());
beforeEach(() => database.sql`truncate purchase_watch_internal.subscriber_health`);

const channelThat = (close: () => Promise<void>): Channel => ({ send: () => Promise.reject(new Error('not sent here')), close });
const OPENED = { channel: channelThat(async () => {}), concurrency: 4, spacing: 0, timeout: 1_000 };

/** A subscriber that the settings name. */
const named = (name: string, open: ConfiguredSubscriber['open'] = () => OPENED, addressHash = 'x'): ConfiguredSubscriber =>
  ({ definition: { name, addressHash }, open }) as unknown as ConfiguredSubscriber;

function channels({ configured = [] as ConfiguredSubscriber[], secrets = null as typeof SECRETS | null, env = {} } = {}) {
  const { log, logged } = aLog();
  const settings = loadSettings({ DATABASE_URL: database.url, ...env });
  const clock = { now: () => NOW, monotonic: () => 0, sleep: async () => {} };
  return { logged, ...createOpenChannels({ sql: database.sql, clock, log, replica: 'me', settings, secrets, configured }) };
}

/** The row of a subscriber of the settings, unless it says otherwise. */
const row = (differs: Partial<StoredSubscriber> = {}): StoredSubscriber =>
  ({
    ...{
      id: 1,
      name: 'shop',
      origin: 'configuration',
      audience: 'systems',
      status: 'active',
      addressHash: 'x',
      format: 'standard',
    },
    ...{ url: null, keys: null, options: null, unreached: null },
    ...differs,
  }) as unknown as StoredSubscriber;
/** The row of one that was made by the API. */
const made = (differs: Partial<StoredSubscriber> = {}): StoredSubscriber =>
  row({
    origin: 'api',
    url: sealUrl(SECRETS, 'shop', ADDRESS),
    keys: sealKeys(SECRETS, 'shop', [{ key: newSigningSecret(), until: null }]),
    ...differs,
  });

/** What is noted of the subscriber. */
async function noted(): Promise<unknown[]> {
  const rows = await database.sql`
    select our_failures::integer as failures, (extract(epoch from our_failing_since) * 1000)::float8 as since, our_error as error, our_replica as by
    from purchase_watch_internal.subscriber_health`;
  return [...rows];
}
const asNoted = { failures: 0, since: NOW, error: UNREAD, by: 'me' };

test('a subscriber of the settings is opened as they say', () => {
  const { open, logged } = channels({ configured: [named('books', () => expect.unreachable()), named('shop')] });
  expect(open(row(), '1')).toEqual({ ...OPENED, addressHash: 'x', place: null });
  expect(logged).toEqual([]);
});

test('a subscriber of the API is opened where its address can be read, and with its address known', () => {
  const opened = channels({ secrets: SECRETS }).open(made({ addressHash: 'y' }), '1');
  expect(opened).toMatchObject({ addressHash: 'y', place: ADDRESS, channel: { send: expect.any(Function) } });
});

test('a subscriber of the API reaches no address that is allowed to those of the settings alone', async () => {
  const { open } = channels({ secrets: SECRETS, env: { WEBHOOK_ALLOW_ADDRESSES: '127.0.0.1' } });
  const { channel } = open(made({ url: sealUrl(SECRETS, 'shop', 'http://127.0.0.1:9/hooks') }), '1')!;
  const sent = await channel.send({ id: 'evt_1', type: 'none', body: '{}' }, { attempt: 1, now: NOW, mayLeave: () => false });
  expect(sent).toMatchObject({ kind: 'failed', reason: 'address_refused' });
});

const REFUSED = new AppError('configuration', 'its port is refused');
test.each<[string, StoredSubscriber, ConfiguredSubscriber[], string]>([
  ['the settings do not name it', row(), [], 'It is not in the configuration of this daemon.'],
  ['the settings name another one', row(), [named('books')], 'It is not in the configuration of this daemon.'],
  [
    'it is for people, and another daemon has another address for it',
    row({ audience: 'people' }),
    [named('shop', () => OPENED, 'y')],
    'Another daemon was started later with another address for it.',
  ],
  ['its address cannot be read', made(), [], UNREAD],
  [
    'it cannot be called',
    row(),
    [
      named('shop', () => {
        throw REFUSED;
      }),
    ],
    'It cannot be called: its port is refused.',
  ],
])('there is no channel where %s, and what is for it waits', (_, stored, configured, detail) => {
  const { open, logged } = channels({ configured });
  expect(open(stored, '1')).toBeNull();
  const waits = {
    level: 'error',
    event: 'subscriber.unreachable',
    subscriber: 'shop',
    detail: `${detail} What is for it waits.`,
  };
  expect(logged).toMatchObject([waits]);
});

test.each([
  ['of the same address, for people', row({ audience: 'people' }), 'x'],
  ['of a former address, for systems', row(), 'y'],
])('a channel is opened %s', (_, stored, hash) => {
  const { open } = channels({ configured: [named('shop', () => OPENED, hash)] });
  expect(open(stored, '1')).toMatchObject({ addressHash: hash });
});

test('a fault of the program is none of the subscriber’s', () => {
  const configured = [
    named('shop', () => {
      throw new TypeError('a fault');
    }),
  ];
  expect(() => channels({ configured }).open(row(), '1')).toThrow('a fault');
});

test('that a channel cannot be opened is logged once for each version of it', () => {
  const configured = [] as ConfiguredSubscriber[];
  const { open, logged } = channels({ configured });
  for (const version of ['1', '1', '2', '2']) open(row(), version);
  expect(logged).toHaveLength(2);
  configured.push(named('shop'));
  open(row(), '2');
  configured.pop();
  open(row(), '2');
  expect(logged, 'it could be opened in between').toHaveLength(3);
});

test('of a subscriber that is gone nothing is known any more', async () => {
  const { open, noteUntried, logged } = channels();
  open(row(), '1');
  await noteUntried([row()]);
  open(row(), '1');
  expect(logged).toHaveLength(1);
  await noteUntried([]);
  open(row(), '1');
  expect(logged).toHaveLength(2);
});

test('people can see which subscriber of the API this replica cannot even try, until it can', async () => {
  const { open, noteUntried } = channels();
  open(made(), '1');
  await noteUntried([made()]);
  expect(await noted()).toEqual([asNoted]);
  const able = channels({ secrets: SECRETS });
  const unreached = { failures: 0, since: NOW, error: UNREAD };
  able.open(made(), '1');
  await able.noteUntried([made({ unreached })]);
  expect(await noted()).toEqual([]);
});

test.each([
  ['that is named by the settings', row()],
  ['that is off', made({ status: 'off' })],
  ['of which the same is noted', made({ unreached: { failures: 0, since: NOW, error: UNREAD } })],
])('nothing is written of a subscriber %s', async (_, stored) => {
  const { open, noteUntried } = channels();
  expect(open(stored, '1')).toBeNull();
  await noteUntried([stored]);
  expect(await noted()).toEqual([]);
});

test.each([
  [
    'another reason',
    { failures: 0, since: NOW, error: 'Its address cannot be read: SECRETS_KEY is not the key that encrypted it.' },
  ],
  ['failures to reach it', { failures: 4, since: NOW, error: UNREAD }],
])('the reason is written where the row holds %s', async (_, unreached) => {
  const { open, noteUntried } = channels();
  open(made(), '1');
  await noteUntried([made({ unreached })]);
  expect(await noted()).toEqual([asNoted]);
});

test.each([
  ['nothing is noted of it', null],
  ['this replica failed to reach it', { failures: 4, since: NOW, error: 'No route.' }],
])('of a subscriber that can be tried the database is asked nothing where %s', async (_, unreached) => {
  const { open, noteUntried } = channels({ secrets: SECRETS });
  open(made(), '1');
  const asked: string[] = [];
  database.sql.options.debug = (_connection: number, statement: string) => asked.push(statement);
  await noteUntried([made({ unreached })]);
  database.sql.options.debug = () => undefined;
  expect(asked).toEqual([]);
});

test('failures to reach a subscriber that were written meanwhile stay', async () => {
  await database.sql`
    insert into purchase_watch_internal.subscriber_health (subscriber, our_failures, our_failing_since, our_replica) values (1, 4, now(), 'me')`;
  await channels().noteUntried([made({ unreached: { failures: 0, since: NOW, error: UNREAD } })]);
  expect(await noted()).toMatchObject([{ failures: 4 }]);
});

test('a daemon that stops waits for channels that are being closed, and one that fails keeps no other', async () => {
  const { close, closed, logged } = channels();
  let end = (): void => undefined;
  let isOver = false;
  close(channelThat(() => Promise.reject(new Error('broken'))));
  close(
    channelThat(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    ),
  );
  const all = closed().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  end();
  await all;
  expect(logged).toMatchObject([{ level: 'warn', event: 'channel.not_closed', error: expect.anything() }]);
});
