/** The daemon, once, for the process and for tests: opens the database, builds the parts, starts the loops, stops in time. */
import { secretsOf } from './actions/subscribers/secrets.ts';
import { type Front, openFront } from './api/access/front.ts';
import { configuredSubscribers } from './channels/recipients.ts';
import { createCheckoutClient } from './checkout/client.ts';
import type { Settings } from './config/settings.ts';
import { wayToSite } from './config/ways.ts';
import { hangingLoops } from './domain/replicas/loop-health.ts';
import type { Milliseconds } from './domain/values/time.ts';
import { type Base, createBase, createParts, type Replacements } from './parts.ts';
import { schemaDifference } from './postgres/migrations/schema.ts';
import { openStore, type Store } from './postgres/open.ts';
import { prepareStore } from './postgres/prepare.ts';
import { type Naming, namedBy } from './postgres/shards/named.ts';
import { createLogger } from './runtime/logger.ts';
import { packageVersion } from './runtime/process/package-version.ts';
import { beginShutdown, unlessAborted } from './runtime/process/shutdown.ts';
import { delay } from './runtime/time.ts';
import { openTraces } from './runtime/traces/open.ts';
import { CLOSED_UNTIL, closeParts, endWork, MIGRATIONS, type Runnable, start, stop } from './work.ts';

export type App = ReturnType<typeof createRuns>;

/** A database that owes an answer for so long is taken for gone, and dialled again. */
const DATABASE_ANSWERS_WITHIN = 15_000;
/** How long a start that is broken off waits until the server has ended its migration. */
const CANCELLED_WITHIN = 3_000;
/** Leases that one pass of a test may need on a slow machine. */
const MOST_LEASES = 20;
/** Connects, migrates and builds every part; nothing runs until `start`. Waits for a database that is away; throws AppError for what a person must mend. */
export async function createApp(settings: Settings, replacements: Replacements = {}): Promise<App> {
  const { signal, databaseAnswersWithin: answerWithin = DATABASE_ANSWERS_WITHIN } = replacements;
  const log = replacements.log ?? createLogger({ level: settings.logLevel });
  replacements.front?.at(settings.databaseUrl === null ? 'starting the embedded Postgres' : 'waiting for the database');
  const store = await openStore(settings, { answerWithin, log, worker: replacements.worker ?? false, signal });
  const build = (chosen: Settings, front?: Front) => buildParts(chosen, { store, log, replacements, front });
  try {
    return createRuns(await build(settings, replacements.front), build);
  } catch (error) {
    if (signal?.aborted) store.breakOff();
    await beginShutdown(settings.shutdownTimeout, log).end('the database', CLOSED_UNTIL, () =>
      store.close(() => CANCELLED_WITHIN),
    );
    throw error;
  }
}

/** Brings the database in line with the settings, and builds every part. */
async function buildParts(
  settings: Settings,
  { store, log, replacements, front }: Pick<Base, 'store' | 'log' | 'replacements'> & { front: Front | undefined },
): Promise<Runnable> {
  const { signal } = replacements;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const configured = configuredSubscribers(settings, secretsOf(settings));
    const definitions = configured.map(({ definition }) => definition);
    const naming = { definitions, named: namedBy(settings.sites, definitions) };
    const prepareAgain = (shown?: Front) => prepare(store, naming, { log, front: shown, signal });
    const schema = await prepareAgain(front);
    const base = createBase({ settings, replacements, store, log, configured, naming, schema, prepare: () => prepareAgain() });
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
    return { ...base, ...parts, traces, clients, closers };
  } catch (error) {
    await Promise.allSettled(closers.map((close) => close()));
    throw error;
  }
}

/** Answers the number of the newest schema file of this program. */
async function prepare(
  store: Store,
  naming: Naming,
  { log, front, signal }: Pick<Base, 'log'> & { front: Front | undefined; signal: AbortSignal | undefined },
): Promise<number> {
  const preparing = prepareStore(store, { migrations: MIGRATIONS, naming, onStep: (text) => front?.at(text), signal });
  const prepared = await unlessAborted(preparing, signal).catch(async (error: unknown) => {
    // The process must not end before the server has ended a migration's statement: it would go on, and others wait behind it.
    if (signal?.aborted) await Promise.race([preparing.catch(() => undefined), delay(CANCELLED_WITHIN)]);
    throw error;
  });
  const { applied, advice, takenOver, pending, own } = prepared;
  if (applied.length > 0) log.info({ applied }, 'schema.migrated');
  if (advice !== undefined) log.warn({ advice }, 'schema.roles_missing');
  const behind = pending.length > 0 ? schemaDifference(prepared) : null;
  if (behind !== null) log.warn({ detail: behind.found, advice: behind.todo }, 'schema.behind');
  // The configuration wins, and what waits goes to the address it names.
  for (const subscriber of takenOver) log.warn({ subscriber }, 'subscriber.taken_over');
  return own;
}

function createRuns(first: Runnable, build: (settings: Settings) => Promise<Runnable>) {
  const { replacements, store, sql, log } = first;
  let parts = first;
  let { front } = replacements;
  let stopping: Promise<boolean> | null = null;
  let reloading: Promise<void> = Promise.resolve();
  /** Ends what runs with the settings before, and goes on with these; waits for a database that is away meanwhile. */
  const replace = async (settings: Settings): Promise<void> => {
    const next = await build({ ...settings, ...Object.fromEntries(KEPT.map((name) => [name, first.settings[name]])) });
    const shutdown = beginShutdown(parts.settings.shutdownTimeout, log);
    await endWork(parts, shutdown);
    await closeParts(parts, shutdown);
    parts = next;
    log.setLevel(settings.logLevel);
    while (stopping === null) {
      try {
        return await start(parts, front!);
      } catch (error) {
        log.error({ error, advice: GOES_ON }, 'settings.waiting');
        await delay(TRY_AGAIN);
      }
    }
  };
  return {
    sql,
    databaseUrl: store.databaseUrl,
    /** The address of the API, for a worker of health and metrics; null before the start. */
    url: (): string | null => front?.url ?? null,
    /** Names of the loops that hang, for a watchdog. */
    hanging: (): readonly string[] => hangingLoops(parts.health.seen()),
    /** Starts all loops and the API. */
    start: async (): Promise<void> => {
      // First of all: a port that is taken must stop the start before other daemons give shards away to this one.
      front ??= await openFront(first.settings, log);
      await start(parts, front);
    },
    /**
     * Goes on with other settings, as a restart of the process would, on the same socket and the same connections. Rejects, and
     * changes nothing, when a part cannot be built with them. What belongs to the socket and the database stays as it is.
     */
    reload: (settings: Settings): Promise<void> => {
      // One after the other, also after one that failed.
      const done = reloading.then(() => (stopping === null ? replace(settings) : undefined));
      reloading = done.catch(() => undefined);
      return done;
    },
    /**
     * Hands shards over, ends what is under way and closes everything, within `shutdownTimeout`. Answers whether everything was
     * handed over and closed; what was not is logged. May be called again.
     */
    stop: (): Promise<boolean> => {
      stopping ??= reloading.then(() => stop(parts, front));
      return stopping;
    },
    ...passesOf(() => parts),
  };
}

/** Settings of the socket and of the database: other values need a restart. */
const KEPT = ['databaseUrl', 'listenUrl', 'poolMode', 'connections', 'dataDir', 'host', 'port'] as const;
const TRY_AGAIN: Milliseconds = 1_000;
const GOES_ON = 'nothing, if the database is away for a moment: the daemon tries every second to go on with the new settings';

/** For tests: single passes over everything that is due. */
function passesOf(current: () => Runnable) {
  return {
    pollOnce: async (): Promise<void> => {
      const { ownership, limits, poller } = current();
      await ownership.tick();
      await limits.tick();
      // However slow the machine is, the pass goes on with a new lease; not for ever, where no lease is long enough.
      for (let leases = 1; !(await poller.pollDue()) && leases < MOST_LEASES; leases++) await ownership.tick();
    },
    deliverOnce: async (): Promise<void> => {
      const { ownership, notifier } = current();
      await ownership.tick();
      await notifier.deliverDue(ownership.tick);
    },
    judgeOnce: async (): Promise<void> => {
      const { ownership, judge } = current();
      await ownership.tick();
      while ((await judge.tick()) === 0);
    },
    keepOnce: async (): Promise<void> => {
      const { ownership, upkeep } = current();
      await ownership.tick();
      while ((await upkeep.tick()) <= 1_000);
    },
  };
}
