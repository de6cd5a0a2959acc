/** A merchant on a Patroni cluster: a daemon with a database of its own, customers who buy all the time, and the merchant's receiver. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSimulator } from '../../../packages/simulator/src/simulator.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { runCommand } from '../../cli/run.ts';
import { startDaemon } from '../daemon.ts';
import { fetchAsMachine } from '../machine.ts';
import { startReceiver } from '../receiver.ts';
import { startSlackStandIn } from '../slack-stand-in.ts';
import { SECRET } from '../test-app.ts';

/** Polls often and retries soon. */
const SETTINGS = `
states:
  New: { poll: { first: 1s, growth: 0.1, most: 2s } }
  WaitingForCardPayments: { poll: { first: 1s, growth: 0.1, most: 2s } }
webhooks: { timeout: 3s, allowAddresses: ["127.0.0.0/8"], schedule: [1s, 1s, 1s, 2s, 2s, 5s, 5s, 10s, 10s, 30s, 1m, 5m, 10m, 30m] }
`;

export interface Merchant {
  readonly name: string;
  /** Purchases whose registration was answered, by the daemon or by the database itself. */
  readonly answered: ReadonlySet<string>;
  /** Lets a customer come five times a second; every second one is registered over HTTP, the others by SQL. */
  open(): void;
  /** No more customers; resolves when each registration was answered. */
  close(): Promise<void>;
  /** Resolves when the node has recorded a poll after a moment of the clock; answers how many milliseconds after it. */
  firstPollAfter(moment: number, nodeUrl: string): Promise<number>;
  /** Resolves when each purchase is settled and each event delivered at the node. */
  quiet(nodeUrl: string): Promise<void>;
  /** Purchases whose registration was answered and that the node does not know. */
  lost(nodeUrl: string): Promise<string[]>;
  /** Registers purchases once more. */
  registerAgain(ids: readonly string[]): Promise<void>;
  /** What is missing or wrong afterwards, in sentences: registrations, states, events and what `audit` says. */
  losses(nodeUrl: string): Promise<string[]>;
  /** What `doctor` says of the database. */
  doctor(): Promise<string>;
  /** Headlines of the messages that people got. */
  headlines(): string[];
  output(): string;
  stop(): Promise<void>;
}

/** Starts it. `url`: what the daemon and the shop's own statements connect to. */
export async function startMerchant(name: string, url: string): Promise<Merchant> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-merchant-'));
  const [simulator, receiver, slack] = [createSimulator(), await startReceiver({ secret: SECRET }), await startSlackStandIn()];
  await simulator.start();
  writeFileSync(join(folder, 'settings.yaml'), SETTINGS);
  const env = {
    ...{ DATABASE_URL: url, PORT: '0', PURCHASE_WATCH_CONFIG: join(folder, 'settings.yaml') },
    ...{ CHECKOUT_BASE_URL: simulator.url, CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
    ...{ WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET, SLACK_WEBHOOK_URL: slack.url },
  };
  const daemon = startDaemon(['start'], env);
  await daemon.says('"started"', 60_000);
  const origin = /"url":"(http[^"]+)"/.exec(daemon.output())![1]!;
  const sql = connect(url, { max: 2, name: 'shop', answerWithin: 5_000 });

  const answered = new Set<string>();
  const isAnswered = async (purchaseId: string, overHttp: boolean): Promise<boolean> => {
    if (!overHttp) {
      const registration = { purchaseId, site: null, reference: null, metadata: null };
      return register(sql, [registration]).then(
        () => true,
        () => false,
      );
    }
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ purchaseId }) };
    const signal = AbortSignal.timeout(10_000);
    return fetchAsMachine(`${origin}/v1/purchases`, { ...request, signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const buy = async (overHttp: boolean): Promise<void> => {
    const script = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '2s' }, { state: 'Completed', after: '3s' }];
    const { purchaseId } = simulator.control.add({ script });
    while (!(await isAnswered(purchaseId, overHttp))) await delay(300);
    answered.add(purchaseId);
  };
  let isOpen = false;
  const bought: Promise<void>[] = [];
  const sell = async (): Promise<void> => {
    for (let count = 0; isOpen; count++) {
      bought.push(buy(count % 2 === 0));
      await delay(200);
    }
  };
  let selling = Promise.resolve();
  const at = async <T>(nodeUrl: string, work: (sql: Sql) => Promise<T>): Promise<T> => {
    const direct = connect(nodeUrl, { max: 1, name: 'test' });
    return work(direct).finally(() => direct.end({ timeout: 0 }));
  };
  const lost = async (nodeUrl: string): Promise<string[]> => {
    const known = await at(nodeUrl, (direct) => direct<{ id: string }[]>`select purchase_id as id from purchase_watch.purchases`);
    const ids = new Set(known.map(({ id }) => id));
    return [...answered].filter((id) => !ids.has(id));
  };
  return {
    name,
    answered,
    open: () => {
      isOpen = true;
      selling = sell();
    },
    close: async () => {
      isOpen = false;
      await selling;
      await Promise.all(bought);
    },
    firstPollAfter: (moment, nodeUrl) =>
      at(nodeUrl, async (direct) => {
        for (const until = performance.now() + 60_000; performance.now() < until; await delay(25)) {
          const [row] = await direct<{ after: number | null }[]>`
            select (extract(epoch from min(last_polled_at)) * 1000)::float8 - ${moment}::float8 as after from purchase_watch.purchases
            where last_polled_at > to_timestamp(${moment}::float8 / 1000)`;
          if (row!.after !== null) return row!.after;
        }
        throw new Error(`${name}: no poll was recorded for a minute; the daemon said:\n${daemon.output().slice(-4_000)}`);
      }),
    quiet: (nodeUrl) =>
      at(nodeUrl, async (direct) => {
        const open = () => direct`
          select purchase_id from purchase_watch.purchases where status <> 'settled'
          union all select event::text from purchase_watch_internal.deliveries where status = 'pending' limit 3`;
        const until = performance.now() + 60_000;
        while ((await open()).length > 0 && performance.now() < until) await delay(200);
        const left = await open();
        if (left.length > 0) throw new Error(`${name}: still open after a minute: ${JSON.stringify(left)}`);
      }),
    lost,
    registerAgain: async (ids) => {
      await register(
        sql,
        ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
      );
    },
    losses: async (nodeUrl) => {
      const completed = new Set(receiver.received.filter(({ body }) => body.includes('"Completed"')).map(purchaseOf));
      const log = join(folder, 'received.log');
      writeFileSync(log, receiver.received.map(({ body }) => body).join('\n'));
      const audits = [['audit'], ['audit', '--sent', log]];
      const runs = await Promise.all(audits.map((argv) => runCommand(argv, { DATABASE_URL: nodeUrl })));
      return [
        ...(await lost(nodeUrl)).map((id) => `registration of ${id} was answered and is lost`),
        ...[...answered].filter((id) => !completed.has(id)).map((id) => `nobody heard that ${id} completed`),
        ...runs.flatMap(({ exitCode, stdout, stderr }) => (exitCode === 0 ? [] : [`${stdout}${stderr}`])),
      ];
    },
    doctor: async () => (await runCommand(['doctor'], env)).stdout,
    headlines: () => slack.received.map(({ text }) => text.split('\n')[0]!).filter((line) => line !== ''),
    output: daemon.output,
    stop: async () => {
      isOpen = false;
      await selling;
      await daemon.end('SIGKILL');
      await sql.end({ timeout: 0 });
      await Promise.all([simulator.stop(), receiver.stop(), slack.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const purchaseOf = ({ body }: { body: string }): string => (JSON.parse(body) as { data: { purchaseId: string } }).data.purchaseId;
