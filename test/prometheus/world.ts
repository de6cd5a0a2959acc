/** What a recording is made of: a Postgres that can be killed, the simulator, a shop that takes webhooks, Slack's stand-in, and daemons as processes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { PurchaseSpec } from '../../packages/simulator/src/contract/purchases.ts';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { freePorts } from '../support/broker-process.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type KillablePostgres, startKillablePostgres } from '../support/killable-postgres.ts';
import { type SlackStandIn, startSlackStandIn } from '../support/slack-stand-in.ts';
import { type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { createRecorder, KEY, type Recorder, type Recording, type Target } from './recording.ts';

export interface RunningDaemon extends Daemon {
  readonly url: string;
}

export interface World {
  readonly postgres: KillablePostgres;
  /** A superuser's connections. */
  readonly sql: Sql;
  readonly simulator: Simulator;
  readonly shop: SteeredReceiver;
  readonly slack: SlackStandIn;
  /** Starts the daemon of a name, which Prometheus scrapes from then on; one that had the name ends first. Resolves when its port is open. */
  start(
    name: string,
    changes?: { env?: Record<string, string>; file?: object; args?: readonly string[] },
  ): Promise<RunningDaemon>;
  /** The same, once it has started. */
  ready(name: string, changes?: Parameters<World['start']>[1]): Promise<RunningDaemon>;
  /** Makes purchases at the simulator and registers them; answers their ids. */
  watch(count: number, spec?: PurchaseSpec): Promise<string[]>;
  readonly phase: Recorder['phase'];
  /** Runs the commands of an alert's runbook, as a person does. */
  follow(alert: string): Promise<void>;
}

/** What a command of a runbook printed. */
export interface Followed {
  readonly alert: string;
  readonly command: string;
  readonly printed: string;
}

export interface Scenario {
  readonly speed: number;
  /** From one scrape to the next, in milliseconds. */
  readonly every: number;
  /** The files of rules that are tested with it; `rules.yml` unless given. */
  readonly rules?: readonly string[];
  /** In place of Debian's server. */
  readonly server?: () => Promise<KillablePostgres>;
  play(world: World): Promise<void>;
}

/** Plays a scenario with real parts, and answers what was scraped meanwhile. */
export async function record(
  name: string,
  { server = startKillablePostgres, play, speed, every }: Scenario,
): Promise<Recording & { readonly followed: readonly Followed[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-recording-'));
  const postgres = await server();
  const sql = connect(postgres.url, { max: 4, name: 'recording of a test' });
  const simulator = createSimulator();
  await simulator.start();
  const [shop, slack] = await Promise.all([startSteeredReceiver(), startSlackStandIn()]);
  const targets: Target[] = [];
  const daemons = new Map<string, RunningDaemon>();
  const followed: Followed[] = [];
  const { recording, phase } = createRecorder({ name, speed, every }, targets);
  const base = {
    DATABASE_URL: postgres.url,
    DATA_DIR: folder,
    API_KEY: KEY,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: shop.url,
    WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    SLACK_WEBHOOK_URL: slack.url,
  };
  const start: World['start'] = async (called, { env = {}, file, args = [] } = {}) => {
    await daemons.get(called)?.end('SIGTERM');
    const [port] = (await freePorts(1)) as [number];
    const config = join(folder, `${called}.yaml`);
    if (file !== undefined) writeFileSync(config, stringify(file));
    const given = { ...base, PORT: `${port}`, ...(file !== undefined && { PURCHASE_WATCH_CONFIG: config }), ...env };
    const daemon = startDaemon(['start', ...args], given);
    await daemon.says('"api.listening"');
    const url = `http://127.0.0.1:${port}`;
    const known = targets.find(({ instance }) => instance === called);
    if (known === undefined) targets.push({ instance: called, url });
    else known.url = url;
    const running = { ...daemon, url };
    daemons.set(called, running);
    return running;
  };
  try {
    await play({
      ...{ postgres, sql, simulator, shop, slack, start, phase },
      ready: async (...given) => {
        const daemon = await start(...given);
        await daemon.says('"started"');
        return daemon;
      },
      follow: async (alert) => {
        for (const { language, text } of runbookOf(alert)) {
          const printed = language === 'sql' ? await asked(sql, text) : ran(text, base);
          followed.push({ alert, command: text, printed });
        }
      },
      watch: async (count, spec = { script: [{ state: 'WaitingForCardPayments' }] }) => {
        const ids = simulator.control.addMany(count, spec).map(({ purchaseId }) => purchaseId);
        await sql`insert into purchase_watch.purchases (purchase_id) select unnest(${ids}::text[])`;
        return ids;
      },
    });
  } finally {
    await Promise.all([...daemons.values()].map((daemon) => daemon.end('SIGKILL')));
    await sql.end({ timeout: 0 });
    await Promise.all([simulator.stop(), shop.stop(), slack.stop(), postgres.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
  return { ...recording, followed };
}

const ROOT = join(import.meta.dirname, '../..');

/** The commands of an alert's section in docs/runbooks.md, without those that are marked as not run. */
function runbookOf(alert: string): { language: string; text: string }[] {
  const page = readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8');
  const [, section = ''] = page.split(`\n## ${alert}\n`);
  const blocks = section.split('\n## ')[0]!.matchAll(/(<!-- not run[^\n]*\n)?```(sh|sql)\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, isLeftOut, language, text]) =>
    isLeftOut === undefined ? [{ language: language!, text: text! }] : [],
  );
}

/** What a command prints. A command that finds something wrong ends with 1. */
function ran(text: string, env: Readonly<Record<string, string>>): string {
  const command = text.replaceAll('npx purchase-watch', `'${process.execPath}' '${join(ROOT, 'bin/purchase-watch.mjs')}'`);
  const { stdout, stderr, status } = spawnSync('sh', ['-ec', command], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  });
  if (status !== 0 && status !== 1) throw new Error(`${text} ended with ${status}: ${stderr}`);
  return stdout + stderr;
}

async function asked(sql: Sql, text: string): Promise<string> {
  const statements = text.split(';').filter((each) => each.trim() !== '');
  const answers: string[] = [];
  for (const statement of statements) answers.push(JSON.stringify(await sql.unsafe(statement), null, 1));
  return answers.join('\n');
}
