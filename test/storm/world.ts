/** Everything a storm rages over: a Postgres with a standby and a clock of its own, three daemons behind lines that can fail, the service, the receivers. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { createRandom } from '../../packages/simulator/src/values/random.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { MIGRATIONS } from '../support/database.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type SlackStandIn, startSlackStandIn } from '../support/slack-stand-in.ts';
import { steppedClock } from '../support/stepping-postgres.ts';
import { SECRET } from '../support/test-app.ts';
import { startWire, type Wire } from '../support/wire.ts';
import { createShop, type Shop, SITES, STUCK_AFTER } from './shop.ts';

/** The lines to all hosts of the database: one fault strikes them all. */
type Lines = Pick<Wire, 'url' | 'spoil' | 'reset' | 'stop'>;

/** One daemon with its lines to the database and to the service. */
export interface Replica {
  readonly name: string;
  readonly database: Lines;
  readonly service: Wire;
  /** Null while it is dead. */
  daemon: Daemon | null;
  /** What its processes have written so far, those that are dead included. */
  output(): string;
  /** Runs it; one that ends by itself is started again, as an orchestrator does. */
  start(): Daemon;
  /** Ends it for good; answers how. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

export interface World {
  /** Straight to the host that takes writes at present, beside the lines that fail. */
  readonly sql: Sql;
  /** Sets the database's clock to the machine's clock plus this many seconds. */
  stepClock(seconds: number): void;
  /** The standby gets nothing more of what the primary writes. */
  cutStandby(): Promise<void>;
  /** Kills the primary, and promotes the standby when no host took writes for some seconds. */
  failOver(): Promise<void>;
  /** Runs a migration that a next version brings, with the function of the command `migrate`. */
  migrate(): Promise<void>;
  readonly simulator: Simulator;
  readonly shop: Shop;
  /** Each subscriber's receiver by the subscriber's name. */
  readonly receivers: Readonly<Record<'shop' | 'books', Receiver>>;
  readonly slack: SlackStandIn;
  readonly replicas: readonly Replica[];
  /** A replica with a file from before the second site and the second subscriber. */
  readonly older: Replica;
  /** The environment in which commands see the same settings as the daemons. */
  readonly env: Readonly<Record<string, string>>;
  /** For files; it goes with the world. */
  readonly folder: string;
  stop(): Promise<void>;
}

const RESTARTED_AFTER = 1_000;
/** As long as an operator's tools need to promote a standby. */
const WITHOUT_WRITER = 3_000;

/** Polls often, alerts early, retries soon: a storm of minutes must show what takes hours in a shop. */
const SETTINGS = `
polling: { sessionLength: 6m }
states:
  New: { poll: { first: 1s, growth: 0.2, most: 3s } }
  BeingProcessed: { poll: { first: 1s, growth: 0.2, most: 3s } }
  WaitingForCardPayments: { poll: { first: 1s, growth: 0.2, most: 3s }, stuckAfter: ${STUCK_AFTER / 1_000}s }
  WaitingForIdentityProvider: { poll: { first: 1s, growth: 0.2, most: 3s }, stuckAfter: ${STUCK_AFTER / 1_000}s }
slack: { groupWait: 4s, quietFor: 10s, groupInterval: 10s, maxPerHour: 1000 }
webhooks: { timeout: 3s, allowAddresses: ["127.0.0.0/8"], schedule: [1s, 1s, 2s, 2s, 5s, 5s, 10s, 10s, 20s, 30s, 1m, 1m, 2m, 2m, 5m, 5m, 10m, 10m, 30m, 30m] }
`;
/** Both sites lead to one service. The ceiling of the second one makes a file with thousands of purchases last. */
const siteLine = (name: string, maxRps: number): string =>
  `  ${name}: { baseUrl: "\${SERVICE_URL}", clientId: demo-client, clientSecret: demo-secret, maxRps: ${maxRps}, timeout: 2s }\n`;
const subscriberLine = (name: string, { url }: Receiver): string => `  ${name}: { url: "${url}", secret: "${SECRET}" }\n`;

export interface WorldOptions {
  readonly replicas: number;
  readonly seed: number;
  /** Whether the daemons know both hosts of the database, or the primary alone. */
  readonly failsOver: boolean;
}

export async function createWorld({ replicas, seed, failsOver }: WorldOptions): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-storm-'));
  const clock = steppedClock(folder);
  // A clock that steps by hours must not end the stream to the standby.
  const settings = ['max_connections=200', 'wal_sender_timeout=0', 'wal_receiver_timeout=0'];
  const pair = await startPostgresPair({ env: clock.env, settings });
  const hosts = failsOver ? [pair.standbyUrl, pair.primaryUrl] : [pair.primaryUrl];
  const open = (url: string): Sql => connect(url, { max: 8, name: 'storm' });
  let sql = open(pair.primaryUrl);
  await migrate(sql, MIGRATIONS);
  // What an update says while the disk is full.
  await sql`
    create function storm_refuses() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`;
  const simulator = createSimulator({ seed });
  await simulator.start();
  const receivers = { shop: await startReceiver({ secret: SECRET }), books: await startReceiver({ secret: SECRET }) };
  const slack = await startSlackStandIn();
  const write = (name: string, sites: string, subscribers: string): string => {
    writeFileSync(join(folder, name), `${SETTINGS}sites:\n${sites}subscribers:\n${subscribers}`);
    return join(folder, name);
  };
  const oldSite = siteLine(SITES[0], 1_000);
  const oldSubscriber = subscriberLine('shop', receivers.shop);
  const env = {
    PURCHASE_WATCH_CONFIG: write(
      'settings.yaml',
      oldSite + siteLine(SITES[1], 250),
      oldSubscriber + subscriberLine('books', receivers.books),
    ),
    DATABASE_URL: joined(hosts),
    SERVICE_URL: simulator.url,
    SLACK_WEBHOOK_URL: slack.url,
    PORT: '0',
  };
  const replica = async (name: string, own: Record<string, string> = {}): Promise<Replica> =>
    createReplica(name, { ...env, ...own }, await startLines(hosts), await startWire(simulator.url));
  const all: Replica[] = [];
  for (let number = 1; number <= replicas; number++) all.push(await replica(`replica ${number}`));
  const older = await replica('older replica', { PURCHASE_WATCH_CONFIG: write('older.yaml', oldSite, oldSubscriber) });
  const shop = createShop({ random: createRandom(seed), simulator, sql: () => sql, env, folder });
  return {
    get sql() {
      return sql;
    },
    stepClock: clock.step,
    cutStandby: pair.cutStandby,
    failOver: async () => {
      await pair.killPrimary();
      await delay(WITHOUT_WRITER);
      await pair.promote();
      const dead = sql;
      sql = open(pair.standbyUrl);
      await dead.end({ timeout: 0 });
    },
    migrate: () => migrateFurther(sql, join(folder, 'migrations')),
    simulator,
    shop,
    receivers,
    slack,
    replicas: all,
    older,
    env,
    folder,
    stop: async () => {
      await Promise.all([...all, older].map((each) => each.end('SIGKILL')));
      await Promise.all([...all, older].flatMap(({ database, service }) => [database.stop(), service.stop()]));
      await sql.end({ timeout: 1 });
      await Promise.all([simulator.stop(), receivers.shop.stop(), receivers.books.stop(), slack.stop(), pair.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One address of several hosts. */
function joined(urls: readonly string[]): string {
  return `postgres://postgres@${urls.map((url) => new URL(url).host).join()}/postgres?sslmode=disable`;
}

async function startLines(hosts: readonly string[]): Promise<Lines> {
  const wires = await Promise.all(hosts.map((url) => startWire(url)));
  return {
    url: joined(wires.map(({ url }) => url)),
    spoil: async (fault) => void (await Promise.all(wires.map((wire) => wire.spoil(fault)))),
    reset: () => {
      for (const wire of wires) wire.reset();
    },
    stop: async () => void (await Promise.all(wires.map((wire) => wire.stop()))),
  };
}

/** The next version is never started: afterwards the list of migrations is again as the daemons know it. */
async function migrateFurther(sql: Sql, folder: string): Promise<void> {
  cpSync(MIGRATIONS, folder, { recursive: true });
  const number = readdirSync(folder).filter((name) => name.endsWith('.sql')).length + 1;
  const file = join(folder, `${String(number).padStart(4, '0')}_storm.sql`);
  writeFileSync(file, `-- serves: ${number - 1}\nalter table purchase_watch.purchases add column if not exists storm integer;`);
  try {
    await migrate(sql, folder);
    await sql`delete from purchase_watch_internal.migrations where number = ${number}`;
  } finally {
    rmSync(file);
  }
}

function createReplica(name: string, env: Record<string, string>, database: Lines, service: Wire): Replica {
  const daemons: Daemon[] = [];
  const replica: Replica = {
    name,
    database,
    service,
    daemon: null,
    output: () => daemons.map((daemon) => daemon.output()).join(''),
    start: () => {
      // A line to an HTTP server has no path; the daemon wants the address as an operator writes it.
      const address = service.url.replace(/\/$/, '');
      const daemon = startDaemon(['start'], { ...env, DATABASE_URL: database.url, SERVICE_URL: address });
      replica.daemon = daemon;
      daemons.push(daemon);
      daemon.process.once('close', () => setTimeout(() => replica.daemon === daemon && replica.start(), RESTARTED_AFTER));
      return daemon;
    },
    end: async (signal) => {
      const { daemon } = replica;
      replica.daemon = null;
      return daemon === null ? 'not running' : daemon.end(signal);
    },
  };
  return replica;
}
