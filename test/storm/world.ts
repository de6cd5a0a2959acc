/** Everything a storm rages over: a Postgres with a clock of its own, three daemons behind lines that can fail, the service, the receivers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { MIGRATIONS } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type SlackStandIn, startSlackStandIn } from '../support/slack-stand-in.ts';
import { type SteppingPostgres, startSteppingPostgres } from '../support/stepping-postgres.ts';
import { SECRET } from '../support/test-app.ts';
import { startWire, type Wire } from '../support/wire.ts';
import { STUCK_AFTER } from './shop.ts';

/** One daemon with its lines to the database and to the service. */
export interface Replica {
  readonly name: string;
  readonly database: Wire;
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
  readonly postgres: SteppingPostgres;
  /** Straight to the database, beside the lines that fail. */
  readonly sql: Sql;
  readonly simulator: Simulator;
  readonly receiver: Receiver;
  readonly slack: SlackStandIn;
  readonly replicas: readonly Replica[];
  /** The environment in which commands see the same settings as the daemons. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const RESTARTED_AFTER = 1_000;

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

export async function createWorld({ replicas, seed }: { replicas: number; seed: number }): Promise<World> {
  const postgres = await startSteppingPostgres();
  const sql = connect(postgres.url, { max: 4, name: 'storm' });
  await migrate(sql, MIGRATIONS);
  // What an update says while the disk is full.
  await sql`
    create function storm_refuses() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`;
  const simulator = createSimulator({ seed });
  await simulator.start();
  const receiver = await startReceiver({ secret: SECRET });
  const slack = await startSlackStandIn();
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-storm-'));
  const file = join(folder, 'settings.yaml');
  writeFileSync(file, SETTINGS);
  const env = {
    PURCHASE_WATCH_CONFIG: file,
    DATABASE_URL: postgres.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: '1000',
    CHECKOUT_TIMEOUT: '2s',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: SECRET,
    SLACK_WEBHOOK_URL: slack.url,
    PORT: '0',
  };
  const all: Replica[] = [];
  for (let number = 1; number <= replicas; number++)
    all.push(createReplica(`replica ${number}`, env, await startWire(postgres.url), await startWire(simulator.url)));
  return {
    postgres,
    sql,
    simulator,
    receiver,
    slack,
    replicas: all,
    env,
    stop: async () => {
      await Promise.all(all.map((replica) => replica.end('SIGKILL')));
      await Promise.all(all.flatMap(({ database, service }) => [database.stop(), service.stop()]));
      await sql.end({ timeout: 1 });
      await Promise.all([simulator.stop(), receiver.stop(), slack.stop(), postgres.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function createReplica(name: string, env: Record<string, string>, database: Wire, service: Wire): Replica {
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
      const daemon = startDaemon(['start'], { ...env, DATABASE_URL: database.url, CHECKOUT_BASE_URL: address });
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
