/** What hostile inputs are sent to: a daemon of its own process over a real database, with a calm site beside the wild ones. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { STATE_NAMES } from '../../src/domain/purchases/states.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { SECRET } from '../support/test-app.ts';
import { seedOf } from './hostile.ts';
import { INSPECTED, type Inspector, inspect } from './inspector.ts';
import { type HostileReceiver, startHostileReceiver } from './receiver.ts';
import type { HostileServer } from './server.ts';
import { PERSON, RESTING_SITE, startHostileService } from './service.ts';

export const KEY = 'the-key-of-the-fuzz-run-4d1f';
const CLIENT_SECRET = 'the-client-secret-of-the-fuzz-run-77ab';
/** What must appear in no answer, no log and no message. */
export const HIDDEN = [KEY, CLIENT_SECRET, SECRET.slice('whsec_'.length), PERSON];
/** The sites whose service is hostile. */
export const WILD_SITES = ['wild-1', 'wild-2', 'wild-3'];
/** The receiver that takes everything, and the site that answers well. */
export const CALM = 'calm';
const ODD_SUBSCRIBERS = ['odd-1', 'odd-2', 'odd-3', 'odd-4', 'odd-5'];
/** Megabytes. What grows ends the daemon. */
const HEAP = 256;

export interface World {
  readonly daemon: Daemon;
  readonly inspector: Inspector;
  readonly origin: string;
  readonly database: TestDatabase;
  /** Logins that may do what their group may, and nothing else. */
  readonly registrar: Sql;
  readonly reader: Sql;
  /** The login of a program that behaves. */
  readonly shop: Sql;
  readonly service: HostileServer;
  readonly receiver: HostileReceiver;
  readonly simulator: Simulator;
  readonly calmReceiver: Receiver;
  /** The environment in which commands see the same settings as the daemon. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const plan = '{ poll: { first: 1s, growth: 0.1, most: 3s }, stuckAfter: 4s }';
const settingsOf = (service: string, receiver: string, simulator: string, calm: string): string => `
sites:
  ${CALM}: { baseUrl: "${simulator}", clientId: demo-client, clientSecret: demo-secret, maxRps: 1000 }
${[...WILD_SITES, RESTING_SITE].map((name, index) => `  ${name}: { baseUrl: "${service}/${name}", auth: ${index === 0 ? 'basic' : 'oauth2'}, clientId: shop, clientSecret: ${CLIENT_SECRET}, maxRps: 1000, timeout: 5s, invoices: ${index === 1} }`).join('\n')}
states:
  default: ${plan}
${STATE_NAMES.filter((name) => name.startsWith('Waiting') || name === 'New' || name === 'BeingProcessed')
  .map((name) => `  ${name}: ${plan}`)
  .join('\n')}
polling: { unreadableAfter: 3, sessionLength: 6m }
slack: { stuck: each, groupWait: 1s, quietFor: 2s, groupInterval: 2s, repeatInterval: 1m, maxPerHour: 1000, deadMansSwitch: "${receiver}/switch" }
webhooks: { timeout: 5s, schedule: [1s, 1s, 1s], allowAddresses: ["127.0.0.0/8"] }
subscribers:
  ${CALM}: { url: "${calm}", secret: ${SECRET}, sites: [${CALM}] }
${ODD_SUBSCRIBERS.map((name, index) => `  ${name}: { url: "${receiver}/${name}", secret: ${SECRET}, format: ${index === 0 ? 'cloudevents' : 'standard'} }`).join('\n')}
`;

async function login(database: TestDatabase, group: string): Promise<{ sql: Sql; drop: () => Promise<void> }> {
  const name = `purchase_watch_fuzz_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await database.sql.unsafe(`create role ${name} login password '${password}' in role ${group}`);
  const url = new URL(database.url);
  url.username = name;
  url.password = password;
  const sql = connect(url.href, { max: 1 });
  return {
    sql,
    drop: async () => {
      await sql.end({ timeout: 1 });
      await database.sql.unsafe(`drop owned by ${name}`);
      await database.sql.unsafe(`drop role ${name}`);
    },
  };
}

/** Starts everything. */
export async function createWorld(seed: number): Promise<World> {
  const database = await testDatabase();
  const registrar = await login(database, 'purchase_watch_registrar');
  const reader = await login(database, 'purchase_watch_reader');
  const shop = await login(database, 'purchase_watch_registrar');
  const service = await startHostileService(seedOf(seed, 'service'));
  const receiver = await startHostileReceiver(seedOf(seed, 'receiver'), HIDDEN);
  const simulator = createSimulator({ seed });
  await simulator.start();
  const living = simulator.control.add({ script: [{ state: 'New' }] });
  const calmReceiver = await startReceiver({ secret: SECRET });
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-fuzz-'));
  const file = join(folder, 'settings.yaml');
  writeFileSync(file, settingsOf(service.url, receiver.url, simulator.url, calmReceiver.url));
  const env = {
    PURCHASE_WATCH_CONFIG: file,
    DATABASE_URL: database.url,
    SLACK_WEBHOOK_URL: `${receiver.url}/slack`,
    SECRETS_KEY: Buffer.alloc(32, 5).toString('base64'),
    API_KEY: KEY,
    PORT: '0',
  };
  const daemon = startDaemon(['start'], { ...env, NODE_OPTIONS: `${INSPECTED} --max-old-space-size=${HEAP}` });
  await daemon.says('"event":"started"', 60_000);
  const inspector = await inspect(daemon);
  const origin = /"url":"(http:[^"]+)"/.exec(daemon.output())![1]!;
  // A site that knows none of the ids it is asked about counts as failing.
  await shop.sql`insert into purchase_watch.purchases (purchase_id, site) values (${living.purchaseId}, ${CALM})`;
  return {
    daemon,
    inspector,
    origin,
    database,
    registrar: registrar.sql,
    reader: reader.sql,
    shop: shop.sql,
    service,
    receiver,
    simulator,
    calmReceiver,
    env,
    stop: async () => {
      inspector.close();
      await daemon.end('SIGKILL');
      await registrar.drop();
      await reader.drop();
      await shop.drop();
      await Promise.all([service.stop(), receiver.stop(), simulator.stop(), calmReceiver.stop()]);
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
