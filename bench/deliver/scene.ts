/** Where deliveries are watched: a database, a daemon with subscribers of the bench's choice, a producer, receivers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, type Lab, type Part, SECRET } from '../lab.ts';
import { until } from '../measure.ts';
import type { Commit, Receipt } from '../processes/messages.ts';
import type { ProducerSettings } from '../processes/producer.ts';
import { seed } from '../seed.ts';

export interface SceneOptions {
  /** Those whose events the producer commits. */
  readonly changing: number;
  /** Those that only the backlog is about; their numbers follow. */
  readonly others?: number;
  /** The subscribers and their addresses. */
  readonly subscribers: Readonly<Record<string, string>>;
  /** One attempt, headers and body; the usual time by default. */
  readonly timeout?: string;
}

export interface Scene {
  readonly database: Database;
  readonly daemon: Part;
  /** Starts committing so many events a second. */
  begin(rate: number): Promise<void>;
  /** Stops, and answers all that was committed since. */
  end(): Promise<Commit[]>;
  /** Switches a subscriber on as if it had always been well, or off. */
  turn(subscriber: string, status: 'active' | 'off'): Promise<void>;
  /** Sets what is known of a subscriber's failures, and wakes the daemon. */
  health(subscriber: string, health: { failures: number; pauses: number; forMs: number } | null): Promise<void>;
  /** How much waits for a subscriber. */
  waiting(subscriber: string): Promise<number>;
  close(): Promise<void>;
}

/** Opens it, with the daemon started and warm enough to own its shards. Nothing is committed yet. */
export async function openScene(lab: Lab, { changing, others = 0, subscribers, timeout }: SceneOptions): Promise<Scene> {
  const database = await lab.database();
  const { sql } = database;
  await seed(sql, { count: changing + others, dueEach: 0 });
  const folder = mkdtempSync(join(tmpdir(), 'pw-bench-deliver-'));
  const file = join(folder, 'purchase-watch.json');
  const receivers = Object.entries(subscribers).map(([name, url]) => [name, { url, secret: SECRET }]);
  const webhooks = { allowAddresses: ['127.0.0.0/8'], ...(timeout === undefined ? {} : { timeout }) };
  // JSON is YAML too.
  writeFileSync(file, JSON.stringify({ subscribers: Object.fromEntries(receivers), webhooks }));
  const { daemon } = await lab.daemon(database, { every: null, env: { PURCHASE_WATCH_CONFIG: file } });
  const producer = await lab.start('producer');
  const settings: ProducerSettings = { url: database.url, purchases: changing };
  await producer.ask('prepare', settings);
  await until('the daemon owns its shards', () => ownsAll(database), 10_000);
  return {
    database,
    daemon,
    begin: (rate) => producer.ask('begin', rate),
    end: () => producer.ask<Commit[]>('end'),
    turn: async (subscriber, status) => {
      await sql`
        update purchase_watch_internal.subscribers set status = ${status}, status_reason = ${status === 'off' ? 'bench' : null}
        where name = ${subscriber}`;
      await setHealth(database, subscriber, null);
    },
    health: (subscriber, health) => setHealth(database, subscriber, health),
    waiting: async (subscriber) => {
      const [row] = await sql<[{ count: number }]>`
        select count(*)::float8 as count from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
        where d.status = 'pending' and s.name = ${subscriber}`;
      return row.count;
    },
    close: async () => {
      await producer.ask('close');
      await Promise.all([producer.stop(), daemon.stop()]);
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ownsAll({ sql }: Database): Promise<boolean> {
  const rows = await sql`select from purchase_watch_internal.shards where owner is null limit 1`;
  return rows.length === 0;
}

async function setHealth(
  { sql }: Database,
  subscriber: string,
  health: { failures: number; pauses: number; forMs: number } | null,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      delete from purchase_watch_internal.subscriber_health h using purchase_watch_internal.subscribers s
      where s.id = h.subscriber and s.name = ${subscriber}`;
    if (health !== null) {
      const { failures, pauses, forMs } = health;
      await tx`
        insert into purchase_watch_internal.subscriber_health (subscriber, failures, pauses, failing_since, paused_until, last_error)
        select id, ${failures}, ${pauses}, now() - interval '1 hour', now() + ${forMs} * interval '1 millisecond', 'bench'
        from purchase_watch_internal.subscribers where name = ${subscriber}`;
    }
    await tx`select pg_notify('purchase_watch_wake', 'subscribers')`;
  });
}

/** What one subscriber got, of all that its receiver got. */
export async function channelsAlerted(receiver: Part, path: string): Promise<Receipt[]> {
  return (await receiver.ask<Receipt[]>('receipts')).filter((receipt) => receipt.path === path);
}

/** An address of this machine where no process listens. */
export async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/events`;
}
