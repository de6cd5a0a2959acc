/** Real faults, and the alerts that each must cause; each ends with everything mended and no alert. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession, type Sql } from '../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts';
import { withPort } from '../support/embedded-port.ts';
import type { KillablePostgres } from '../support/killable-postgres.ts';
import { SLACK_ANSWERS } from '../support/slack-stand-in.ts';
import { EXPIRING } from './expiring.ts';
import { AUTHORIZED } from './recording.ts';
import type { Scenario } from './world.ts';

const SECOND = 1_000;
/** One second of these is half a minute of the test. */
const QUICK = { speed: 30, every: SECOND };
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'database-away': {
    ...QUICK,
    play: async ({ postgres, ready, start, watch, phase, follow }) => {
      const daemon = await ready('replica-1');
      await watch(20);
      await phase('well', 8);
      await postgres.kill();
      await phase('the database was killed', 15, 'PurchaseWatchDatabaseAway');
      await follow('PurchaseWatchDatabaseAway');
      await daemon.end('SIGKILL');
      await start('replica-1');
      await phase('a daemon starts meanwhile', 30, 'PurchaseWatchStarting');
      await postgres.restart();
      await phase('the database is back', 50);
    },
  },
  'database-went-back': {
    ...QUICK,
    play: async ({ postgres, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 8);
      await postgres.kill();
      copyAll(postgres.data, `${postgres.data}-old`);
      await postgres.restart();
      await phase('a backup was made', 12);
      await postgres.kill();
      rmSync(postgres.data, { recursive: true });
      copyAll(`${postgres.data}-old`, postgres.data);
      await postgres.restart();
      await phase('the backup was restored', 15, 'PurchaseWatchDatabaseWentBack');
      await follow('PurchaseWatchDatabaseWentBack');
      await phase('an hour later', 130);
    },
  },
  'site-blind': {
    ...QUICK,
    rules: ['rules.yml', 'incidents.yml'],
    play: async ({ simulator, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 8);
      await simulator.control.down();
      await phase('the service is down', 30, 'PurchaseWatchIncident', 'PurchaseWatchSiteBlind');
      await follow('PurchaseWatchSiteBlind');
      await simulator.control.up();
      await phase('the service is back', 90);
    },
  },
  'polls-late': {
    ...QUICK,
    play: async ({ ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(60);
      await phase('well', 8);
      await ready('replica-1', { env: { CHECKOUT_MAX_RPS: '1' } });
      await phase('one call a second is allowed', 45, 'PurchaseWatchPollsLate');
      await follow('PurchaseWatchPollsLate');
      await ready('replica-1');
      await phase('fifty are allowed again', 20);
    },
  },
  'subscriber-fails': {
    ...QUICK,
    play: async ({ shop, simulator, ready, watch, phase, follow }) => {
      await ready('replica-1');
      const ids = await watch(40);
      await phase('well', 10);
      shop.steer(() => ({ status: 500 }));
      for (const id of ids) simulator.control.setState(id, 'WaitingForIdentityProvider');
      await phase('the shop answers 500', 60, 'PurchaseWatchDeliveriesParked');
      shop.steer(() => ({ status: 200 }));
      await follow('PurchaseWatchDeliveriesParked');
      await phase('the shop takes events again', 20);
    },
  },
  'deliveries-given-up': {
    ...QUICK,
    play: async ({ shop, simulator, ready, watch, phase, follow }) => {
      await ready('replica-1', { file: { webhooks: { schedule: ['1s'] } } });
      const ids = await watch(20);
      await phase('well', 10);
      shop.steer(({ purchaseId }) => ({ status: purchaseId === ids[0] ? 500 : 200 }));
      for (const id of ids) simulator.control.setState(id, 'WaitingForIdentityProvider');
      await phase('the shop fails with the events of one purchase', 30, 'PurchaseWatchDeliveriesGivenUp');
      shop.steer(() => ({ status: 200 }));
      await follow('PurchaseWatchDeliveriesGivenUp');
      await phase('an hour after it was mended', 130);
    },
  },
  'subscriber-off': {
    ...QUICK,
    play: async ({ shop, simulator, ready, watch, phase, follow }) => {
      await ready('replica-1');
      const ids = await watch(10);
      await phase('well', 10);
      shop.steer(() => ({ status: 410 }));
      for (const id of ids) simulator.control.setState(id, 'WaitingForIdentityProvider');
      await phase('the shop answers 410', 40, 'PurchaseWatchSubscriberOff');
      shop.steer(() => ({ status: 200 }));
      await follow('PurchaseWatchSubscriberOff');
      await phase('it is switched on again', 15);
    },
  },
  'subscriber-slow': {
    ...QUICK,
    play: async ({ shop, ready, watch, phase, follow }) => {
      await ready('replica-1', { file: { webhooks: { concurrency: 1, timeout: '10s' } } });
      await watch(10);
      await phase('well', 10);
      shop.steer(() => new Promise((resolve) => setTimeout(resolve, SECOND, { status: 200 })));
      await watch(60);
      await phase('the shop takes a second for each', 45, 'PurchaseWatchDeliveriesLate');
      await follow('PurchaseWatchDeliveriesLate');
      shop.steer(() => ({ status: 200 }));
      await phase('it is quick again', 15);
    },
  },
  'subscriber-unreached': {
    ...QUICK,
    play: async ({ ready, watch, phase, shop, follow }) => {
      await ready('replica-1');
      await watch(10);
      await phase('well', 10);
      await ready('replica-1', { env: { WEBHOOK_URL: 'https://shop.example/hooks', HTTPS_PROXY: 'http://127.0.0.1:9' } });
      await watch(10);
      await phase('the proxy on the way to the shop does not run', 50, 'PurchaseWatchSubscriberUnreached');
      await follow('PurchaseWatchSubscriberUnreached');
      await ready('replica-1', { env: { WEBHOOK_URL: shop.url } });
      await phase('no proxy is needed', 20);
    },
  },
  'channel-broken': {
    ...QUICK,
    play: async ({ simulator, slack, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 10);
      slack.respondAlways(SLACK_ANSWERS.noService);
      await simulator.control.down();
      await phase(
        'Slack knows no such webhook, and the service is down',
        70,
        'PurchaseWatchChannelBroken',
        'PurchaseWatchSiteBlind',
      );
      slack.respondAlways({ status: 200, body: 'ok' });
      await simulator.control.up();
      await ready('replica-1', { env: { SLACK_WEBHOOK_URL: `${slack.origin}/services/T0/B0/anotherone` } });
      await follow('PurchaseWatchChannelBroken');
      await phase('there is a new webhook', 40);
    },
  },
  'loop-unhealthy': {
    ...QUICK,
    play: async ({ sql, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 10);
      const release = await locked(sql, 'purchase_watch_internal.replicas');
      await phase(
        'a session has locked the table of daemons, in which they renew their leases',
        80,
        ...[
          'PurchaseWatchConnectionsWaiting',
          'PurchaseWatchLoopUnhealthy',
          'PurchaseWatchNumbersMissing',
          'PurchaseWatchShardsUnowned',
        ],
      );
      await follow('PurchaseWatchLoopUnhealthy');
      await follow('PurchaseWatchShardsUnowned');
      await release();
      await phase('the lock is gone', 40);
    },
  },
  'connections-waiting': {
    ...QUICK,
    play: async ({ sql, ready, watch, phase, follow }) => {
      const daemon = await ready('replica-1');
      await watch(20);
      await phase('well', 10);
      const release = await locked(sql, 'purchase_watch_internal.actions');
      const asking = new AbortController();
      const ask = async (): Promise<void> => {
        while (!asking.signal.aborted)
          await fetch(`${daemon.url}/v1/actions`, { headers: AUTHORIZED }).then((answer) => answer.text());
      };
      const callers = Array.from({ length: 20 }, ask);
      await phase('twenty callers ask for a table that is locked', 50, 'PurchaseWatchConnectionsWaiting');
      await follow('PurchaseWatchConnectionsWaiting');
      await release();
      asking.abort();
      await Promise.all(callers);
      await phase('the lock is gone', 30);
    },
  },
  'transaction-left-open': {
    ...QUICK,
    server: startSmallQueue,
    play: async ({ postgres, sql, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 10);
      const session = openSession(postgres.url, 'a program that forgets');
      await session.sql`listen purchase_watch`;
      await session.sql`begin`;
      await session.sql`select 1`;
      for (let sent = 0; sent < 30; sent++) await sql`select pg_notify('another_channel', ${`${sent}`.padEnd(7_900, '.')})`;
      const firing = ['PurchaseWatchLongTransaction', 'PurchaseWatchNotificationQueue'];
      await phase('a session that listens leaves its transaction open', 90, ...firing);
      await follow('PurchaseWatchLongTransaction');
      await follow('PurchaseWatchNotificationQueue');
      await session.sql`commit`;
      await session.sql.end();
      await sql`select pg_notify('another_channel', '')`;
      await phase('the transaction ended', 20);
    },
  },
  'retention-stopped': {
    ...QUICK,
    play: async ({ sql, ready, watch, phase, follow }) => {
      await ready('replica-1');
      await watch(5);
      await phase('well', 15);
      await sql`update purchase_watch_internal.leases set done_at = now() - interval '3 days' where name = 'upkeep'`;
      const release = await locked(sql, 'purchase_watch_internal.silences', 'exclusive');
      await ready('replica-1');
      await phase(
        'the table of silences is locked, three days after the last run',
        60,
        'PurchaseWatchLoopUnhealthy',
        'PurchaseWatchRetentionStopped',
      );
      await follow('PurchaseWatchRetentionStopped');
      await release();
      await phase('the lock is gone', 30);
    },
  },
  'replica-killed': {
    // Leases and the calls of the dead man's switch take real time, which must not be stretched beyond what the rules allow.
    speed: 4,
    every: 5 * SECOND,
    play: async ({ ready, start, watch, phase, follow }) => {
      const monitor = await startMonitor();
      const env = { DEAD_MANS_SWITCH_URL: monitor.url };
      const daemon = await ready('replica-1', { env });
      await ready('replica-2', { env });
      await watch(20);
      await phase('well', 160);
      monitor.answer(500);
      await daemon.end('SIGKILL');
      await phase(
        'one of two was killed, and the monitor answers 500',
        180,
        ...['PurchaseWatchDeadMansSwitchStopped', 'PurchaseWatchReplicaDown', 'PurchaseWatchReplicasMissing'],
      );
      await follow('PurchaseWatchDeadMansSwitchStopped');
      await follow('PurchaseWatchReplicaDown');
      await follow('PurchaseWatchReplicasMissing');
      monitor.answer(200);
      await start('replica-1', { env });
      await phase('both are well', 80);
      await monitor.stop();
    },
  },
  'no-daemon': {
    ...QUICK,
    play: async ({ ready, watch, phase, follow }) => {
      const daemon = await ready('replica-1');
      await watch(5);
      await phase('well', 8);
      await daemon.end('SIGTERM');
      await phase('the only daemon was stopped', 15, 'PurchaseWatchNoDaemon', 'PurchaseWatchReplicaDown');
      await follow('PurchaseWatchNoDaemon');
      await ready('replica-1');
      await phase('it runs again', 8);
    },
  },
  expiring: { ...QUICK, play: EXPIRING },
};

/** Postgres as the package brings it, with the smallest queue of notifications; Debian's has no setting for that. It cannot be killed. */
async function startSmallQueue(): Promise<KillablePostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'purchase-watch-queue-'));
  chmodSync(dataDir, 0o755);
  const port = await withPort(dataDir);
  const server = await startEmbedded({ dataDir, settings: { ...port.settings, max_notify_queue_pages: '64' } });
  const refuse = () => Promise.reject(new Error('this server cannot be killed'));
  return { url: port.url(), data: dataDir, kill: refuse, restart: refuse, stop: () => server.stop() };
}

/** With owners, which `cpSync` does not keep. */
function copyAll(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

/** Locks a table as another session; answers how to end that. */
async function locked(sql: Sql, table: string, mode = 'access exclusive'): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in ${mode} mode`);
    held.resolve();
    await over.promise;
  });
  await Promise.race([held.promise, holding]);
  return async () => {
    over.resolve();
    await holding;
  };
}

/** A service that waits for the calls of a dead man's switch. */
async function startMonitor() {
  let status = 200;
  const server = createServer((_, answer) => void answer.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ping`,
    answer: (next: number) => {
      status = next;
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
