/** What leaves and what stays while shards, results and leases change: the real notifier with a real database and receiver. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configuredSubscribers } from '../../../../src/channels/recipients.ts';
import { loadSettings } from '../../../../src/config/load-settings.ts';
import { createNotifier, type Notifier } from '../../../../src/daemon/notifier/notifier.ts';
import { createKnownSubscribers, type KnownSubscribers } from '../../../../src/daemon/notifier/subscribers/known-subscribers.ts';
import { createOwnership, type OwnershipKeeper } from '../../../../src/daemon/shards/ownership.ts';
import type { Sql } from '../../../../src/postgres/connection/database.ts';
import { syncSites } from '../../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import { syncSubscribers } from '../../../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { createHealth } from '../../../../src/runtime/loops/health.ts';
import { createMeters } from '../../../../src/runtime/meters.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';
import { refuseWrites } from '../../../support/refused-writes.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../../../support/steered-receiver.ts';
import { SECRET } from '../../../support/test-app.ts';
import { type TestClock, testClock } from '../../../support/test-clock.ts';

const CONCURRENCY = 4;

let database: TestDatabase;
let sql: Sql;
let receiver: SteeredReceiver;
let clock: TestClock;
let ownership: OwnershipKeeper;
let knownSubscribers: KnownSubscribers;
let notifier: Notifier;
const logged: string[] = [];
/** Lets the receiver answer what it holds. */
let answer: () => void;

beforeEach(async () => {
  database = await testDatabase();
  sql = database.sql;
  receiver = await startSteeredReceiver();
  clock = testClock({ isWhole: true });
  const settings = loadSettings({
    ...{ DATABASE_URL: database.url, WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET },
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  });
  settings.webhooks.concurrency = CONCURRENCY;
  const configured = configuredSubscribers(settings);
  await syncSites(sql, ['default']);
  await syncSubscribers(
    sql,
    configured.map(({ definition }) => definition),
  );
  logged.length = 0;
  const destination = { write: (line: string) => logged.push(line) } as unknown as NodeJS.WritableStream;
  const log = createLogger({ level: 'error', destination });
  const replica = 'a';
  ownership = createOwnership({ sql, clock, log, replica, process: 'test 1 1', ttl: 60_000, renewEvery: 2_000 });
  knownSubscribers = createKnownSubscribers({ sql, clock, log, settings, secrets: null, replica, configured });
  onRead = null;
  notifier = createNotifier({
    ...{
      sql: withHeldReads(sql),
      clock,
      log,
      ownership,
      knownSubscribers,
      meters: createMeters(),
      traces: null,
      spread: () => 0,
      wake: () => {},
    },
    writes: createHealth(Date.now).writesOf('notifier'),
  });
  await ownership.tick();
});
afterEach(async () => {
  answer?.();
  await notifier.stop();
  await knownSubscribers.close();
  await receiver.stop();
  await database.drop();
});

/** From now on the receiver answers only when it is let. */
function hold(): void {
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  receiver.steer(async () => {
    await answered;
    return { status: 200 };
  });
}

/** Reads of the outbox that have begun since they are held. */
let reads: number;
/** From now on the answers to reads of the outbox wait until the test resolves this. */
function holdReads(): PromiseWithResolvers<void> {
  const held = Promise.withResolvers<void>();
  reads = 0;
  onRead = async () => {
    reads += 1;
    await held.promise;
  };
  return held;
}
let onRead: (() => Promise<void>) | null;
/** Connections on which the answers to reads of the outbox may be held. */
const withHeldReads = (target: Sql): Sql =>
  new Proxy(target, {
    apply: (called, self, given: [TemplateStringsArray, ...unknown[]]) => {
      const query = Reflect.apply(called, self, given);
      if (onRead === null || !given[0].join('').includes('b.rank as behind_rank\n    from')) return query;
      const ended = onRead();
      return query.then(async (rows: unknown) => {
        await ended;
        return rows;
      });
    },
  });

/** So many due deliveries in each of some shards, each of a lane of its own. */
async function addDeliveries(shards: readonly number[], each: number): Promise<void> {
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_' || shard || '_' || n, 'site.reachable', 'default', shard, now() - interval '1 minute', '{"data":{}}'
      from unnest(${`{${shards.join()}}`}::integer[]) shard, generate_series(1, ${each}::integer) n order by n, shard
      returning position, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, rank)
    select position, position, s.id, event.shard, now() - interval '1 minute', 0 from event, purchase_watch_internal.subscribers s`;
}
const only = () => [...knownSubscribers.all()][0]!;
const left = (): Set<string> => new Set(receiver.arrivals.map(({ id }) => id));
const statuses = async (): Promise<Record<string, number>> => {
  const rows = await sql<{ status: string; count: number }[]>`
    select status, count(*)::integer as count from purchase_watch_internal.deliveries group by status`;
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
};
const all = (shard: number, each: number): string[] => Array.from({ length: each }, (_, n) => `evt_${shard}_${n + 1}`);

test('deliveries of a shard that is given away stay for its next owner, and those of other shards do not wait for that', async () => {
  const shards = ownership.owned();
  const [staying, leaving] = [shards[0]!, shards.at(-1)!];
  hold();
  const each = 5;
  await addDeliveries([staying, leaving], each);
  const delivered = notifier.deliverDue();
  await expect.poll(() => receiver.inFlight()).toBe(CONCURRENCY);
  const begun = left();
  const isBegun = (shard: number): boolean => [...begun].some((id) => id.startsWith(`evt_${shard}_`));
  expect([isBegun(staying), isBegun(leaving)]).toEqual([true, true]);
  expect(only().queue.size).toBe(2 * each);
  // Another replica comes, and gets its share once nothing is under way on it.
  await renewReplica(sql, { id: 'b', process: 'test 2 1', ttl: 60_000 });
  await ownership.tick();
  expect([ownership.owned().includes(leaving), ownership.epochOf(leaving) !== null]).toEqual([false, true]);
  answer();
  await delivered;
  expect(all(staying, each).every((id) => left().has(id))).toBe(true);
  expect(all(leaving, each).filter((id) => left().has(id) && !begun.has(id))).toEqual([]);
  const here = all(leaving, each).filter((id) => begun.has(id)).length;
  expect(await statuses()).toEqual({ delivered: each + here, pending: each - here });
});

test('a read of the outbox begins when the one before it has ended: it could find again what was sent meanwhile', async () => {
  const [shard] = ownership.owned() as [number];
  await notifier.tick();
  await addDeliveries([shard], 1);
  notifier.replayed();
  const held = holdReads();
  const ticking = notifier.tick();
  await expect.poll(() => reads).toBe(1);
  notifier.replayed();
  const next = notifier.tick();
  await nextTurn();
  expect(reads).toBe(1);
  held.resolve();
  await Promise.all([ticking, next]);
  expect(reads).toBe(2);
  await expect.poll(statuses).toEqual({ delivered: 1 });
  expect(receiver.arrivals).toHaveLength(1);
});

test('a stop is over when the receiver has answered what was sent, and the result is written', async () => {
  const [shard] = ownership.owned() as [number];
  await addDeliveries([shard], 1);
  hold();
  await notifier.tick();
  await expect.poll(() => receiver.inFlight()).toBe(1);
  const after = notifier.stop().then(statuses);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  answer();
  expect(await after).toEqual({ delivered: 1 });
});

test('while results cannot be written nothing more leaves, and afterwards everything does', async () => {
  const repair = await refuseWrites(sql, [['purchase_watch_internal.deliveries', 'update']]);
  const [shard] = ownership.owned() as [number];
  await addDeliveries([shard], 1);
  await notifier.tick();
  await expect.poll(() => receiver.arrivals.length).toBe(1);
  await expect.poll(() => logged.join('')).toContain('delivery.not_settled');
  await addDeliveries([shard + 1], 3);
  // They were due before: the next load reads from the beginning.
  notifier.replayed();
  await notifier.tick();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(only().queue.size).toBe(4);
  expect(receiver.arrivals).toHaveLength(1);
  await repair();
  await expect.poll(statuses).toEqual({ delivered: 4 });
  expect(receiver.arrivals).toHaveLength(4);
});

test('what was on its way when the lease ended does not leave, costs no attempt, and stays first in its lane', async () => {
  const [shard] = ownership.owned() as [number];
  await addDeliveries([shard], 1);
  const ticking = notifier.tick();
  while ([...knownSubscribers.all()][0]?.pace.inFlight !== 1) await nextTurn();
  // The connection is being made.
  clock.advance('2m');
  await ticking;
  await expect.poll(() => only().pace.inFlight).toBe(0);
  expect([receiver.arrivals.length, only().queue.size]).toEqual([0, 1]);
  await ownership.tick();
  await expect.poll(statuses).toEqual({ delivered: 1 });
  const [row] = await sql`select attempts from purchase_watch_internal.deliveries`;
  expect(row).toMatchObject({ attempts: 1 });
});
