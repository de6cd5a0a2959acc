/** Starts the loops and the API of parts that are built, and ends them in time. */
import { join } from 'node:path';
import { testChannel } from './actions/channels/test-channel.ts';
import { clientCertificates } from './actions/client-certificates.ts';
import { createExaminer } from './actions/doctor/doctor.ts';
import type { Front } from './api/access/front.ts';
import { createIsKnown } from './api/access/known.ts';
import type { ServedApp } from './api/http/serve.ts';
import { type OpenApi, openApi } from './api/open.ts';
import { type ApiKey, ofMachine } from './config/api-keys.ts';
import { describeSettings } from './config/describe.ts';
import type { Settings } from './config/settings.ts';
import { wakeOnNotify } from './daemon/shards/listening.ts';
import { sayNotFinal } from './daemon/upkeep/settled-states.ts';
import type { Milliseconds } from './domain/values/time.ts';
import type { Base, Clients, createParts } from './parts.ts';
import { feedEraTick } from './postgres/events/feed.ts';
import type { Logger } from './runtime/logger.ts';
import { PACKAGE_FOLDER } from './runtime/process/package-folder.ts';
import { beginShutdown, type Shutdown } from './runtime/process/shutdown.ts';
import { machineKey } from './runtime/secrets/kept-key.ts';
import { startTimer } from './runtime/time.ts';
import type { Traces } from './runtime/traces/traces.ts';

/** Where the files of the schema are. */
export const MIGRATIONS = join(PACKAGE_FOLDER, 'migrations');
/**
 * Shares of `shutdownTimeout` after which a stop goes on without calls to services (the next owner makes them again),
 * without deliveries and other work under way, without the database's answer that the shards are released, and in any case.
 */
const CALLS_UNTIL = 0.25;
const WORK_UNTIL = 0.7;
const RELEASED_UNTIL = 0.8;
export const CLOSED_UNTIL = 0.95;

export interface Runnable extends Base, ReturnType<typeof createParts> {
  readonly traces: Traces | null;
  readonly clients: Clients;
  readonly closers: (() => Promise<unknown>)[];
}

/** Every loop by its name, as health, metrics and log show it; a tick answers how long to rest. */
function loopsOf(parts: Runnable): readonly (readonly [name: string, tick: () => Promise<Milliseconds>])[] {
  const { hostWatch, deadMansSwitch, repeats } = parts;
  return [
    ['limits', parts.limits.tick],
    ['ownership', parts.ownership.tick],
    ['poller', parts.poller.tick],
    ['notifier', parts.notifier.tick],
    ['judge', parts.judge.tick],
    ['upkeep', parts.upkeep.tick],
    ['activity', parts.activity.tick],
    ['feed', feedEraTick(parts.sql)],
    ['names', parts.names.tick],
    ['troubles', parts.troubles.tick],
    ['reach', parts.reach.tick],
    ['erasures', parts.erasures.tick],
    ['schema', parts.schemaWatch.tick],
    ...(hostWatch === null ? [] : [['hosts', hostWatch.tick] as const]),
    ...(deadMansSwitch === null ? [] : [['dead_mans_switch', deadMansSwitch.tick] as const]),
    ...(repeats === null ? [] : [['repeats', repeats.tick] as const]),
  ];
}

/** Takes over shards, starts every loop and opens the API on the socket. Rejects when the database fails. */
export async function start(parts: Runnable, front: Front): Promise<void> {
  const { settings, replacements, store, log, limits, loops, closers, meters, ownership, poller, notifier, erasures } = parts;
  const { databaseUrl, listenUrl } = store;
  front.at('taking over shards');
  const apiKeys = replacements.worker ? settings.apiKeys : keysOf(settings, log);
  const certificates = clientCertificates(settings, databaseUrl);
  // With a lease that has ended the replica polls none of them.
  const shardsOwned = () => (ownership.outlasts(0) ? ownership.owned().length : 0);
  // The store may outlive this API, which adds its own lines of callers.
  const engine = { meters, shardsOwned, unwritten: poller.unwritten, pools: [...store.uses], certificates };
  const api = await openApi(
    {
      ...parts,
      settings: { ...settings, apiKeys },
      engine,
      invoiceOf: poller.invoiceOf,
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
  const { sites, dataDir, consoleUrl } = settings;
  return createConsole({ api: app, feed, places, reads, changes, log, lines, keys, sites, dataDir, consoleUrl });
}

/** Hands shards over, ends what is under way and closes everything. Answers whether that went well; what did not is logged. */
export async function stop(parts: Runnable, front: Front | undefined): Promise<boolean> {
  const { settings, store, log } = parts;
  const shutdown = beginShutdown(settings.shutdownTimeout, log);
  const { end, left } = shutdown;
  const requests = end('requests to the API', WORK_UNTIL, async () => front?.close());
  const released = await endWork(parts, shutdown);
  await requests;
  const closed = await closeParts(parts, shutdown);
  return (await end('the database', CLOSED_UNTIL, () => store.close(() => left(CLOSED_UNTIL)))) && closed && released;
}

/** Hands shards over, and ends loops and what is under way. Answers whether all shards were released. */
export async function endWork(parts: Runnable, { end, left }: Shutdown): Promise<boolean> {
  const { loops, clients, ownership, deadMansSwitch, repeats, poller, notifier, activity, traces } = parts;
  const hangUp = startTimer(() => clients.forEach(({ client }) => void client.close()), left(CALLS_UNTIL));
  await Promise.all([
    // Begun first: the other replicas go on at once with every shard on which nothing is under way.
    end('the handing over of shards', WORK_UNTIL, ownership.handOver),
    end("the dead man's switch", WORK_UNTIL, async () => deadMansSwitch?.close()),
    end('repeated alerts', WORK_UNTIL, async () => repeats?.close()),
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
  return released;
}

/** Closes the connections of the parts to services and receivers. */
export const closeParts = ({ closers }: Runnable, { end }: Shutdown): Promise<boolean> =>
  end('connections to services and receivers', RELEASED_UNTIL, () => Promise.all(closers.map((close) => close())));
