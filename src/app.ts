/** Builds and joins all parts, once, for the process and for tests. */
import { join } from 'node:path';
import { ulid } from 'ulid';
import { secretsOf } from './actions/subscribers/secrets.ts';
import { type Front, openFront } from './api/access/front.ts';
import { type OpenApi, openApi } from './api/open.ts';
import { configuredSubscribers, longestAttempt } from './channels/recipients.ts';
import { createCheckoutClient } from './checkout/client.ts';
import { channelCeilings, channelRules } from './config/channels.ts';
import type { Settings } from './config/settings.ts';
import { createJudge } from './daemon/judge/judge.ts';
import { createDirectPosts } from './daemon/notifier/sending/direct-post.ts';
import { createKnownSubscribers } from './daemon/notifier/subscribers/known-subscribers.ts';
import { createNotifier } from './daemon/notifier/notifier.ts';
import { createPoller } from './daemon/poller/poller.ts';
import { polledSite } from './daemon/poller/sites/polled-site.ts';
import { createActivity } from './daemon/shards/activity.ts';
import { createClockStep } from './daemon/shards/clock-step.ts';
import { createErasures } from './daemon/shards/erasures.ts';
import { wakeOnNotify } from './daemon/shards/listening.ts';
import { createQueueWarning } from './daemon/shards/notification-queue.ts';
import { createOwnership } from './daemon/shards/ownership.ts';
import { createReach } from './daemon/shards/reach.ts';
import { createSkippedTime } from './daemon/shards/skipped-time.ts';
import { createHeartbeat } from './daemon/upkeep/dead-mans-switch.ts';
import { createTroubles } from './daemon/upkeep/replica-troubles.ts';
import { createResealing } from './daemon/upkeep/resealing.ts';
import { createUpkeep } from './daemon/upkeep/upkeep.ts';
import { troublesSeen } from './domain/replicas/loop-health.ts';
import type { Sql } from './postgres/connection/database.ts';
import { feedEraTick } from './postgres/events/feed.ts';
import { openStore } from './postgres/open.ts';
import { prepareStore } from './postgres/prepare.ts';
import { createLimits } from './postgres/stays/limits.ts';
import { type Clock, type FollowingClock, realClock } from './runtime/clock.ts';
import { createLogger, type Logger } from './runtime/logger.ts';
import { createHealth } from './runtime/loops/health.ts';
import { createLoops } from './runtime/loops/loops.ts';
import { createMeters } from './runtime/meters.ts';
import { processIdentity } from './runtime/process/process-identity.ts';
import { beginShutdown, unlessAborted } from './runtime/process/shutdown.ts';

export interface Replacements {
  /** Held by a test. */
  readonly clock?: Clock & Partial<FollowingClock>;
  readonly log?: Logger;
  /** In [0, 1), for jitter. */
  readonly random?: () => number;
  /** How long the database may owe an answer. */
  readonly databaseAnswersWithin?: number;
  /** Purchases in memory at most. */
  readonly windowCapacity?: number;
  /** Without API and console: only /healthz, /readyz and /metrics. */
  readonly worker?: boolean;
  /** The socket that is open already; `start` opens one otherwise. */
  readonly front?: Front;
  /** Breaks off what waits while the app is created. */
  readonly signal?: AbortSignal;
}

export interface App {
  readonly sql: Sql;
  readonly databaseUrl: string;
  /** The address of the API, for a worker of health and metrics; null before the start. */
  url(): string | null;
  /** Starts all loops and the API. */
  start(): Promise<void>;
  /**
   * Hands shards over, ends what is under way and closes everything, within `shutdownTimeout`. Answers whether everything was
   * handed over and closed; what was not is logged. May be called again.
   */
  stop(): Promise<boolean>;
  /** For tests, without `start`: one pass each, over everything that is due. */
  pollOnce(): Promise<void>;
  deliverOnce(): Promise<void>;
  judgeOnce(): Promise<void>;
  keepOnce(): Promise<void>;
}

const MIGRATIONS = join(import.meta.dirname, '../migrations');
const RENEW_EVERY = 2_000;
/** A database that owes an answer for so long is taken for gone, and dialled again. */
const DATABASE_ANSWERS_WITHIN = 15_000;
/**
 * Shares of `shutdownTimeout` after which a stop goes on without calls to services (the next owner makes them again),
 * without deliveries and other work under way, without the database's answer that the shards are released, and in any case.
 */
const CALLS_UNTIL = 0.25;
const WORK_UNTIL = 0.7;
const RELEASED_UNTIL = 0.8;
const CLOSED_UNTIL = 0.95;

/** Connects, migrates and builds every part; nothing runs until `start`. Throws AppError for what a person must mend. */
export async function createApp(settings: Settings, replacements: Replacements = {}): Promise<App> {
  const log = replacements.log ?? createLogger({ level: settings.logLevel });
  const clock = replacements.clock ?? realClock();
  const random = replacements.random ?? Math.random;
  const { signal, worker = false, databaseAnswersWithin: answerWithin = DATABASE_ANSWERS_WITHIN } = replacements;
  const step = (text: string): void => replacements.front?.at(text);
  if (settings.databaseUrl === null) step('starting the embedded Postgres');
  const store = await openStore(settings, { answerWithin, log, signal });
  const { sql, databaseUrl, patience } = store;
  const closers: (() => Promise<unknown>)[] = [];
  const closeAll = async ({ end, left } = beginShutdown(settings.shutdownTimeout, log)): Promise<boolean> => {
    const closed = await end('connections to services and receivers', RELEASED_UNTIL, () =>
      Promise.all(closers.map((close) => close())),
    );
    return (await end('the database', CLOSED_UNTIL, () => store.close(() => left(CLOSED_UNTIL)))) && closed;
  };

  try {
    const configured = configuredSubscribers(settings);
    const sites = settings.sites.map((site) => site.name);
    const subscribers = configured.map(({ definition }) => definition);
    const preparing = prepareStore(store, { migrations: MIGRATIONS, sites, subscribers, onStep: step });
    const { applied, advice, takenOver } = await unlessAborted(preparing, signal);
    if (applied.length > 0) log.info({ applied }, 'schema.migrated');
    if (advice !== undefined) log.warn({ advice }, 'schema.roles_missing');
    // The configuration wins, and what waits goes to the address it names.
    for (const subscriber of takenOver) log.warn({ subscriber }, 'subscriber.taken_over');
    const secrets = secretsOf(settings);

    const clients = settings.sites.map((site) => ({
      site,
      client: createCheckoutClient(site, { clock, fields: settings.store.fields }),
    }));
    for (const { client } of clients) closers.push(() => client.close());
    const longest = Math.max(...settings.sites.map((site) => 2 * site.timeout), longestAttempt(settings));
    const ttl = longest + 4 * RENEW_EVERY;
    const replica = `rep_${ulid()}`;
    const knownSubscribers = createKnownSubscribers({ sql, clock, log, settings, secrets, replica, configured });
    closers.push(() => knownSubscribers.close());
    const skippedTime = createSkippedTime({ sql, clock });
    const ownership = createOwnership({
      ...{ skippedTime, sql, clock, log, replica, process: processIdentity(), ttl, renewEvery: RENEW_EVERY },
      secretsKeys: secrets?.keyIds ?? [],
      onNotificationQueue: createQueueWarning(log),
      onStep: createClockStep({ sql, clock, log, replica }),
    });

    const limits = createLimits({ sql, clock, policy: settings.policy });

    const meters = createMeters();
    const health = createHealth(() => Date.now(), clock.monotonic);
    const loops = createLoops({ clock, log, health });
    const { run, wake } = loops;
    const poller = createPoller({
      sql,
      clock,
      skipped: skippedTime.skipped,
      log,
      ownership,
      meters,
      writes: health.writesOf('poller'),
      sites: clients.map(({ site, client }) => polledSite(site, client)),
      policyFor: limits.policyFor,
      spread: () => random() * 2 - 1,
      capacity: replacements.windowCapacity ?? 100_000,
      onEvents: () => wake('notifier'),
      onSymptom: () => wake('judge'),
      wake: () => wake('poller'),
    });
    ownership.onChange(() => wake('poller'));
    const notifier = createNotifier({
      sql: store.outbox,
      clock,
      log,
      ownership,
      meters,
      writes: health.writesOf('notifier'),
      knownSubscribers,
      spread: random,
      wake: () => wake('notifier'),
    });
    const reach = createReach({
      ...{ clock, log, setAway: ownership.setAway },
      outsides: [poller.outside, notifier.outside],
    });
    const channels = channelRules(settings);
    const judge = createJudge({
      sql,
      clock,
      log,
      replica,
      meters,
      policy: settings.slack,
      sessionLength: settings.policy.sessionLength,
      limits,
      sites: settings.sites,
      digest: settings.slack.digest,
      channels,
      isReplicaPosted: () => troubles.isPosted(),
      onEvents: () => wake('notifier'),
    });
    const troubles = createTroubles({
      ...{ sql, clock, log, replica },
      sources: [() => troublesSeen(health.seen()), reach.troubles],
      mayAlert: () => judge.hadLease() !== false,
      post: createDirectPosts({ clock, log, configured, channels }).post,
    });

    const erasures = createErasures({ sql, parts: [poller, notifier] });

    const activity = createActivity({ sql, meters });

    const keeper = createUpkeep({
      ...{ sql, clock, log, replica },
      skipped: skippedTime.skipped,
      retention: settings.store.retention,
      resealing: createResealing({ sql, clock, log, secrets }),
    });

    const { deadMansSwitch } = settings.slack;
    const alive = { sql, clock, log, replica, health, ceilings: channelCeilings(settings) };
    const heartbeat = deadMansSwitch === null ? null : createHeartbeat({ ...alive, url: deadMansSwitch });
    let { front } = replacements;
    let api: OpenApi | null = null;
    let stopping: Promise<boolean> | null = null;
    const stop = async (): Promise<boolean> => {
      const shutdown = beginShutdown(settings.shutdownTimeout, log);
      const { end, left } = shutdown;
      const hangUp = setTimeout(() => clients.forEach(({ client }) => void client.close()), left(CALLS_UNTIL));
      await Promise.all([
        // Begun first: the other replicas go on at once with every shard on which nothing is under way.
        end('the handing over of shards', WORK_UNTIL, ownership.handOver),
        end('requests to the API', WORK_UNTIL, async () => front?.close()),
        end('the heartbeat', WORK_UNTIL, async () => heartbeat?.close()),
        ...loops.all().map(([name, loop]) => end(`loop ${name}`, WORK_UNTIL, loop.stop)),
        end('polls', WORK_UNTIL, poller.stop),
        end('deliveries', WORK_UNTIL, notifier.stop),
      ]);
      clearTimeout(hangUp);
      await end('the count of polls', RELEASED_UNTIL, activity.tick);
      const released = await end('the release of shards', RELEASED_UNTIL, ownership.release);
      return (await closeAll(shutdown)) && released;
    };

    return {
      sql,
      databaseUrl,
      url: () => front?.url ?? null,
      start: async () => {
        // First of all: a port that is taken must stop the start before other daemons give shards away to this one.
        front ??= await openFront(settings, log);
        front.at('taking over shards');
        const engine = { meters, shardsOwned: () => ownership.owned().length, unwritten: poller.unwritten };
        const parts = { databaseUrl, settings, secrets, health, log, engine, limits, invoiceOf: poller.invoiceOf };
        api = await openApi(parts, { ...patience, worker, connections: front.connections });
        closers.push(api.disconnect);
        // Before anything is loaded: what is erased from here on is dropped again.
        await erasures();
        await ownership.tick();
        // Before the first poll: a default may be shorter than what was learned. If it fails, its loop says so and tries again.
        await limits.tick().catch(() => undefined);
        run('limits', limits.tick);
        run('ownership', ownership.tick);
        run('poller', poller.tick);
        run('notifier', notifier.tick);
        run('judge', judge.tick);
        run('keeper', keeper.tick);
        run('activity', activity.tick);
        run('feed', feedEraTick(sql));
        run('troubles', troubles.tick);
        run('reach', reach.tick);
        run('erasures', erasures);
        if (heartbeat !== null) run('heartbeat', heartbeat.tick);
        const listener = wakeOnNotify({ databaseUrl, log, loops, notifier, feed: api.feed });
        closers.push(() => listener.stop());
        front.serve(api.app);
      },
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
      pollOnce: async () => {
        await ownership.tick();
        await limits.tick();
        await poller.pollDue();
      },
      deliverOnce: async () => {
        await ownership.tick();
        await notifier.deliverDue();
      },
      judgeOnce: async () => {
        await ownership.tick();
        while ((await judge.tick()) === 0);
      },
      keepOnce: async () => {
        await ownership.tick();
        while ((await keeper.tick()) <= 1_000);
      },
    };
  } catch (error) {
    if (signal?.aborted) store.breakOff();
    await closeAll();
    throw error;
  }
}
