/** The notifier alone, with channels of Slack: events are announced by the test, and the clock is in its hand. */

import { configuredSubscribers } from '../../src/channels/recipients.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import { createNotifier } from '../../src/daemon/notifier/notifier.ts';
import { createKnownSubscribers } from '../../src/daemon/notifier/subscribers/known-subscribers.ts';
import { createOwnership } from '../../src/daemon/shards/ownership.ts';
import type { EventDraft } from '../../src/domain/events/make-event.ts';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { announcing, SITE_SHARD } from '../../src/postgres/events/events.ts';
import { syncSubscribers } from '../../src/postgres/subscribers/subscribers.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { createHealth } from '../../src/runtime/loops/health.ts';
import { createMeters } from '../../src/runtime/meters.ts';
import { testDatabase } from './database.ts';
import { type SlackStandIn, startSlackStandIn } from './slack-stand-in.ts';
import { type TestClock, testClock } from './test-clock.ts';

/** One daemon's notifier. */
export interface ToldBy {
  /** Sends what is due, as often as the hour and pauses allow. */
  deliver(): Promise<void>;
  /** Renews its lease and sees which shards it has. */
  renew(): Promise<void>;
  /** Ends it as a crash would: nothing is given back. */
  vanish(): Promise<void>;
}

export interface TestChannels {
  readonly sql: Sql;
  readonly clock: TestClock;
  /** Where SLACK_WEBHOOK_URL and the channel `ops` lead. */
  readonly slack: SlackStandIn;
  readonly ops: SlackStandIn;
  readonly log: string[];
  readonly daemon: ToldBy;
  /** Another daemon, which gets the shards once the first one is gone. */
  another(): Promise<ToldBy>;
  /** Writes so many events about incidents, each of its own. */
  announce(
    count: number,
    options?: { type?: EventDraft['type']; severity?: 'warning' | 'critical'; about?: string },
  ): Promise<void>;
  /** How often each status occurs among the deliveries of a subscriber. */
  statuses(subscriber?: string): Promise<Record<string, number>>;
  stop(): Promise<void>;
}

/** Starts with SLACK_WEBHOOK_URL, and a channel `ops` where its settings are given. */
export async function startChannels({
  ops: opsSettings,
  maxPerHour = 20,
}: {
  ops?: Readonly<Record<string, unknown>>;
  maxPerHour?: number;
} = {}): Promise<TestChannels> {
  const { sql, drop, url: databaseUrl } = await testDatabase();
  const clock = testClock();
  const [slack, ops] = await Promise.all([startSlackStandIn(), startSlackStandIn()]);
  const settings = loadSettings({ DATABASE_URL: databaseUrl, SLACK_WEBHOOK_URL: slack.url });
  const [first] = settings.channels;
  const second = { ...first!, name: 'ops', webhookUrl: ops.url, ...opsSettings };
  const channels = [{ ...first!, maxPerHour }, ...(opsSettings === undefined ? [] : [second])];
  const changed: Settings = { ...settings, channels };
  const configured = configuredSubscribers(changed);
  await syncSubscribers(
    sql,
    configured.map(({ definition }) => definition),
  );
  const log: string[] = [];
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const logger = createLogger({ level: 'debug', destination });
  let count = 0;

  const start = async (): Promise<ToldBy> => {
    count += 1;
    const replica = `rep_${count}`;
    const process = `test-${count}`;
    const ownership = createOwnership({ sql, clock, log: logger, replica, process, ttl: 60_000, renewEvery: 2_000 });
    const knownSubscribers = createKnownSubscribers({
      sql,
      clock,
      log: logger,
      settings: changed,
      secrets: null,
      replica,
      configured,
    });
    const notifier = createNotifier({
      ...{ sql, clock, log: logger, ownership, knownSubscribers, traces: null },
      ...{ meters: createMeters(), writes: createHealth(Date.now).writesOf('notifier'), spread: () => 0, wake: () => {} },
    });
    await ownership.tick();
    return {
      deliver: async () => {
        await ownership.tick();
        await notifier.deliverDue();
      },
      renew: async () => void (await ownership.tick()),
      vanish: async () => {
        await notifier.stop();
        await knownSubscribers.close();
        await sql`delete from purchase_watch_internal.replicas where id = ${replica}`;
      },
    };
  };
  const daemons = [await start()];

  return {
    sql,
    clock,
    slack,
    ops,
    log,
    daemon: daemons[0]!,
    another: async () => {
      const other = await start();
      daemons.push(other);
      return other;
    },
    announce: async (wanted, { type = 'incident.opened', severity = 'warning', about } = {}) => {
      const at = clock.now();
      const events = Array.from({ length: wanted }, (_, index) => {
        const incidentId = `inc_${at}_${index}`;
        const since = new Date(at - 600_000).toISOString();
        const data = {
          ...{ incidentId, kind: 'stuck', site: `shop-${index}`, state: { value: 6, name: 'WaitingForCardPayments' } },
          ...{ openedAt: since, endedAt: null, since, severity, count: 3, peak: 3, limitMs: 600_000, purchases: [], waiting: [] },
        };
        const draft: EventDraft = { type, sequence: null, at, state: 6, data };
        return { draft, site: 'default', purchase: null, shard: SITE_SHARD };
      });
      const [row] = await sql<{ id: number | null }[]>`
        select max(id) as id from purchase_watch_internal.subscribers where name = ${about ?? ''}`;
      const told = events.map((event) => ({ ...event, about: row?.id ?? null }));
      await sql`with ${announcing(sql, told, sql`true`)} select count(*) from notified`;
    },
    statuses: async (subscriber = '@slack') => {
      const rows = await sql<{ status: string; count: number }[]>`
        select d.status, count(*)::float8 as count from purchase_watch_internal.deliveries d
        join purchase_watch_internal.subscribers s on s.id = d.subscriber where s.name = ${subscriber} group by d.status`;
      return Object.fromEntries(rows.map(({ status, count: times }) => [status, times]));
    },
    stop: async () => {
      for (const each of daemons) await each.vanish();
      await Promise.all([slack.stop(), ops.stop()]);
      await drop();
    },
  };
}
