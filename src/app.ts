/** The daemon, once, for the process and for tests: opens the database, builds the parts, starts the loops, stops in time. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { testChannel } from './actions/channels/test-channel.ts';
import { clientCertificates } from './actions/client-certificates.ts';
import { createExaminer } from './actions/doctor/doctor.ts';
import { secretsOf } from './actions/subscribers/secrets.ts';
import { type Front, openFront } from './api/access/front.ts';
import { createIsKnown } from './api/access/known.ts';
import type { ServedApp } from './api/http/serve.ts';
import { type OpenApi, openApi } from './api/open.ts';
import { configuredSubscribers } from './channels/recipients.ts';
import { createCheckoutClient } from './checkout/client.ts';
import { type ApiKey, ofMachine } from './config/api-keys.ts';
import { describeSettings } from './config/describe.ts';
import type { Settings } from './config/settings.ts';
import { wayToSite } from './config/ways.ts';
import { wakeOnNotify } from './daemon/shards/listening.ts';
import { sayNotFinal } from './daemon/upkeep/settled-states.ts';
import type { Milliseconds } from './domain/values/time.ts';
import { type Base, type Clients, createBase, createParts, type Replacements } from './parts.ts';
import type { Sql } from './postgres/connection/database.ts';
import { feedEraTick } from './postgres/events/feed.ts';
import { openStore, type Store } from './postgres/open.ts';
import { prepareStore } from './postgres/prepare.ts';
import { type Naming, namedBy } from './postgres/shards/named.ts';
import { createLogger, type Logger } from './runtime/logger.ts';
import { packageVersion } from './runtime/process/package-version.ts';
import { beginShutdown, type Shutdown, unlessAborted } from './runtime/process/shutdown.ts';
import { machineKey } from './runtime/secrets/kept-key.ts';
import { openTraces } from './runtime/traces/open.ts';
import type { Traces } from './runtime/traces/traces.ts';

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
/** A database that owes an answer for so long is taken for gone, and dialled again. */
const DATABASE_ANSWERS_WITHIN = 15_000;
/** How long a start that is broken off waits until the server has ended its migration. */
const CANCELLED_WITHIN = 3_000;
/** Leases that one pass of a test may need on a slow machine. */
const MOST_LEASES = 20;
/**
 * Shares of `shutdownTimeout` after which a stop goes on without calls to services (the next owner makes them again),
 * without deliveries and other work under way, without the database's answer that the shards are released, and in any case.
 */
const CALLS_UNTIL = 0.25;
const WORK_UNTIL = 0.7;
const RELEASED_UNTIL = 0.8;
const CLOSED_UNTIL = 0.95;

/** Connects, migrates and builds every part; nothing runs until `start`. Waits for a database that is away; throws AppError for what a person must mend. */
export async function createApp(settings: Settings, replacements: Replacements = {}): Promise<App> {
  const { signal, databaseAnswersWithin: answerWithin = DATABASE_ANSWERS_WITHIN } = replacements;
  const log = replacements.log ?? createLogger({ level: settings.logLevel });
  replacements.front?.at(settings.databaseUrl === null ? 'starting the embedded Postgres' : 'waiting for the database');
  const store = await openStore(settings, { answerWithin, log, worker: replacements.worker ?? false, signal });
  const closers: (() => Promise<unknown>)[] = [];
  const closeAll = async ({ end, left } = beginShutdown(settings.shutdownTimeout, log)): Promise<boolean> => {
    const closed = await end('connections to services and receivers', RELEASED_UNTIL, () =>
      Promise.all(closers.map((close) => close())),
    );
    return (await end('the database', CLOSED_UNTIL, () => store.close(() => left(CLOSED_UNTIL)))) && closed;
  };
  try {
    const configured = configuredSubscribers(settings, secretsOf(settings));
    const definitions = configured.map(({ definition }) => definition);
    const naming = { definitions, named: namedBy(settings.sites, definitions) };
    const prepareAgain = (front?: Front) => prepare(store, naming, { log, front, signal });
    await prepareAgain(replacements.front);
    const base = createBase({ settings, replacements, store, log, configured, naming, prepare: () => prepareAgain() });
    const clients = settings.sites.map((site) => ({
      site,
      client: createCheckoutClient(
        { ...site, way: wayToSite(site, settings) },
        { clock: base.clock, fields: settings.store.fields },
      ),
    }));
    for (const { client } of clients) closers.push(() => client.close());
    const traces = await openTraces(settings.traces, { replica: base.replica, version: packageVersion(), log });
    const parts = createParts(base, clients, traces);
    closers.push(() => parts.knownSubscribers.close());
    return createRuns({ ...base, ...parts, traces, clients, closers, closeAll });
  } catch (error) {
    if (signal?.aborted) store.breakOff();
    await closeAll();
    throw error;
  }
}

async function prepare(
  store: Store,
  naming: Naming,
  { log, front, signal }: Pick<Base, 'log'> & { front: Front | undefined; signal: AbortSignal | undefined },
): Promise<void> {
  const preparing = prepareStore(store, { migrations: MIGRATIONS, naming, onStep: (text) => front?.at(text), signal });
  const { applied, advice, takenOver } = await unlessAborted(preparing, signal).catch(async (error: unknown) => {
    // The process must not end before the server has ended a migration's statement: it would go on, and others wait behind it.
    if (signal?.aborted) await Promise.race([preparing.catch(() => undefined), delay(CANCELLED_WITHIN)]);
    throw error;
  });
  if (applied.length > 0) log.info({ applied }, 'schema.migrated');
  if (advice !== undefined) log.warn({ advice }, 'schema.roles_missing');
  // The configuration wins, and what waits goes to the address it names.
  for (const subscriber of takenOver) log.warn({ subscriber }, 'subscriber.taken_over');
}

interface Runnable extends Base, ReturnType<typeof createParts> {
  readonly traces: Traces | null;
  readonly clients: Clients;
  readonly closers: (() => Promise<unknown>)[];
  closeAll(shutdown?: Shutdown): Promise<boolean>;
}

/** Every loop by its name, as health, metrics and log show it; a tick answers how long to rest. */
function loopsOf(parts: Runnable): readonly (readonly [name: string, tick: () => Promise<Milliseconds>])[] {
  const {
    limits,
    ownership,
    poller,
    notifier,
    judge,
    upkeep,
    activity,
    names,
    troubles,
    reach,
    erasures,
    hostWatch,
    heartbeat,
    sql,
  } = parts;
  return [
    ['limits', limits.tick],
    ['ownership', ownership.tick],
    ['poller', poller.tick],
    ['notifier', notifier.tick],
    ['judge', judge.tick],
    ['upkeep', upkeep.tick],
    ['activity', activity.tick],
    ['feed', feedEraTick(sql)],
    ['names', names.tick],
    ['troubles', troubles.tick],
    ['reach', reach.tick],
    ['erasures', erasures.tick],
    ...(hostWatch === null ? [] : [['hosts', hostWatch.tick] as const]),
    ...(heartbeat === null ? [] : [['heartbeat', heartbeat.tick] as const]),
  ];
}

function createRuns(parts: Runnable): App {
  const { settings, replacements, store, sql, log, ownership, limits, poller, notifier, judge, upkeep } = parts;
  let { front } = replacements;
  let stopping: Promise<boolean> | null = null;
  return {
    sql,
    databaseUrl: store.databaseUrl,
    url: () => front?.url ?? null,
    start: async () => {
      // First of all: a port that is taken must stop the start before other daemons give shards away to this one.
      front ??= await openFront(settings, log);
      await start(parts, front);
    },
    stop: () => {
      stopping ??= stop(parts, front);
      return stopping;
    },
    pollOnce: async () => {
      await ownership.tick();
      await limits.tick();
      // However slow the machine is, the pass goes on with a new lease; not for ever, where no lease is long enough.
      for (let leases = 1; !(await poller.pollDue()) && leases < MOST_LEASES; leases++) await ownership.tick();
    },
    deliverOnce: async () => {
      await ownership.tick();
      await notifier.deliverDue(ownership.tick);
    },
    judgeOnce: async () => {
      await ownership.tick();
      while ((await judge.tick()) === 0);
    },
    keepOnce: async () => {
      await ownership.tick();
      while ((await upkeep.tick()) <= 1_000);
    },
  };
}

async function start(parts: Runnable, front: Front): Promise<void> {
  const { settings, replacements, store, secrets, health, replica, log, limits, loops, closers } = parts;
  const { meters, ownership, poller, notifier, erasures } = parts;
  const { databaseUrl, listenUrl } = store;
  front.at('taking over shards');
  const apiKeys = replacements.worker ? settings.apiKeys : keysOf(settings, log);
  const certificates = clientCertificates(settings, databaseUrl);
  const { uses: pools } = store;
  // With a lease that has ended the replica polls none of them.
  const shardsOwned = () => (ownership.outlasts(0) ? ownership.owned().length : 0);
  const engine = { meters, shardsOwned, unwritten: poller.unwritten, pools, certificates };
  const api = await openApi(
    {
      ...{
        settings: { ...settings, apiKeys },
        secrets,
        health,
        replica,
        log,
        engine,
        limits,
        invoiceOf: poller.invoiceOf,
      },
      lines: front.lines,
      testChannel: (channel) => testChannel(channel, settings),
      describe: () => describeSettings(settings),
      // The embedded Postgres has another address with each start.
      examine: createExaminer({ ...settings, databaseUrl }, MIGRATIONS),
    },
    store,
    { worker: replacements.worker ?? false, connections: front.connections },
  );
  // Before anything is loaded: what is erased from here on is dropped again.
  await erasures.tick();
  await ownership.tick();
  // Before the first poll: a default may be shorter than what was learned. If it fails, its loop says so and tries again.
  await limits.tick().catch(() => undefined);
  await sayNotFinal(store.sql, settings.policy, log).catch(() => undefined);
  for (const [name, tick] of loopsOf(parts)) loops.run(name, tick);
  const listener = wakeOnNotify({ url: listenUrl, log, loops, notifier, feed: api.feed });
  closers.push(() => listener.stop());
  front.serve(await withConsole(api, { ...parts, apiKeys }, front), createIsKnown(apiKeys));
}

/** The keys of the settings; while there are none, the machine's own. Where that cannot be kept, API and console stay closed. */
function keysOf({ apiKeys, dataDir }: Settings, log: Logger): ApiKey[] {
  if (apiKeys.length > 0) return apiKeys;
  try {
    return [ofMachine(machineKey(dataDir))];
  } catch (error) {
    log.error({ error, advice: 'set API_KEY: until then all of /v1 and the console are refused' }, 'api.closed');
    return [];
  }
}

/** The API with the console before it; a worker has no console, and never loads it. */
async function withConsole(
  { app, feed, places, reads, changes }: OpenApi,
  { settings, log, apiKeys: keys }: Runnable & { apiKeys: readonly ApiKey[] },
  { lines }: Front,
): Promise<ServedApp> {
  if (feed === null || places === null || reads === null || changes === null) return app;
  const { createConsole } = await import('./console/open.ts');
  const { dataDir, consoleUrl } = settings;
  return createConsole({ api: app, feed, places, reads, changes, log, lines, keys, dataDir, consoleUrl });
}

async function stop(parts: Runnable, front: Front | undefined): Promise<boolean> {
  const { settings, log, loops, clients, ownership, heartbeat, poller, notifier, activity, traces, closeAll } = parts;
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
  // A collector that is away makes no stop a failed one.
  const exported = end('the export of traces', RELEASED_UNTIL, async () => traces?.close());
  await end('the count of polls', RELEASED_UNTIL, activity.tick);
  const released = await end('the release of shards', RELEASED_UNTIL, ownership.release);
  await exported;
  return (await closeAll(shutdown)) && released;
}
