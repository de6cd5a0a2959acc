/** Builds and joins all parts of the daemon, each from those before it. */
import { ulid } from 'ulid';
import { secretsOf } from './actions/subscribers/secrets.ts';
import type { Front } from './api/access/front.ts';
import type { ConfiguredSubscriber } from './channels/outgoing/channel-kind.ts';
import { longestAttempt } from './channels/recipients.ts';
import type { CheckoutClient } from './checkout/client.ts';
import { channelCeilings, channelRules } from './config/channels.ts';
import type { Settings, SiteSettings } from './config/settings.ts';
import { settingsDigests } from './config/settings-digests.ts';
import { wayTo } from './config/ways.ts';
import { createJudge } from './daemon/judge/judge.ts';
import { createNotifier } from './daemon/notifier/notifier.ts';
import { createPresentAlerts } from './daemon/notifier/present-alerts.ts';
import { createDirectPosts } from './daemon/notifier/sending/direct-post.ts';
import { createKnownSubscribers } from './daemon/notifier/subscribers/known-subscribers.ts';
import { createPoller } from './daemon/poller/poller.ts';
import { polledSite } from './daemon/poller/sites/polled-site.ts';
import { createActivity } from './daemon/shards/activity.ts';
import { createErasures } from './daemon/shards/erasures.ts';
import { leaseTimes } from './daemon/shards/lease.ts';
import { createNames } from './daemon/shards/names.ts';
import { createQueueWarning } from './daemon/shards/notification-queue.ts';
import { createOwnership, type OwnershipKeeper } from './daemon/shards/ownership.ts';
import { createReach } from './daemon/shards/reach.ts';
import { createSkippedTime } from './daemon/shards/skipped-time.ts';
import { createHostWatch } from './daemon/upkeep/database-hosts.ts';
import { createDeadMansSwitch } from './daemon/upkeep/dead-mans-switch.ts';
import { createTroubles } from './daemon/upkeep/replica-troubles.ts';
import { createResealing } from './daemon/upkeep/resealing.ts';
import { createSchemaWatch } from './daemon/upkeep/schema-watch.ts';
import { createSnapshots } from './daemon/upkeep/snapshots.ts';
import { createUpkeep } from './daemon/upkeep/upkeep.ts';
import { rankToPost } from './domain/replicas/direct-alert.ts';
import { type TroubleSeen, troublesSeen } from './domain/replicas/loop-health.ts';
import type { Store } from './postgres/open.ts';
import type { Naming } from './postgres/shards/named.ts';
import { createStayLimits } from './postgres/stays/limits.ts';
import { type Clock, type FollowingClock, realClock } from './runtime/clock.ts';
import type { Logger } from './runtime/logger.ts';
import { createHealth } from './runtime/loops/health.ts';
import { createLoops } from './runtime/loops/loops.ts';
import { createMeters } from './runtime/meters.ts';
import { packageVersion } from './runtime/process/package-version.ts';
import { isGone, processIdentity } from './runtime/process/process-identity.ts';
import { random } from './runtime/random.ts';
import { wall } from './runtime/time.ts';
import type { Traces } from './runtime/traces/traces.ts';

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

/** The base that all parts are built from. */
export type Base = ReturnType<typeof createBase>;

/** Builds what every part needs; nothing of it runs. */
export function createBase(given: {
  readonly settings: Settings;
  readonly replacements: Replacements;
  readonly store: Store;
  readonly log: Logger;
  readonly configured: readonly ConfiguredSubscriber[];
  /** Sites and subscribers that the settings name. */
  readonly naming: Naming;
  /** The number of the newest schema file of this program. */
  readonly schema: number;
  /** Brings the database in line with the settings, as the start does. */
  prepare(): Promise<unknown>;
}) {
  const { settings, replacements, store, log } = given;
  const { sql } = store;
  const clock: Clock & Partial<FollowingClock> = replacements.clock ?? realClock();
  const health = createHealth(wall, clock.monotonic);
  const replica = `rep_${ulid()}`;
  log.identify(replica);
  return {
    ...given,
    sql,
    clock,
    replica,
    health,
    meters: createMeters(),
    loops: createLoops({ clock, log, health }),
    limits: createStayLimits({ sql, clock, policy: settings.policy }),
    secrets: secretsOf(settings),
  };
}

/** Each site with the client of its checkout service. */
export type Clients = readonly { readonly site: SiteSettings; readonly client: CheckoutClient }[];

/** The parts that run, each built from those before it. */
export function createParts(base: Base, clients: Clients, traces: Traces | null) {
  const { sql, clock, log, replica, settings, replacements, secrets, health, limits, meters } = base;
  const { wake } = base.loops;
  const spread = replacements.random ?? random;
  const longest = Math.max(...settings.sites.map((site) => 2 * site.timeout), longestAttempt(settings));
  const skippedTime = createSkippedTime({ sql, clock });
  const { skipped } = skippedTime;
  const digests = { ...settingsDigests(settings, packageVersion(), secrets), schema: `${base.schema}` };
  const ownership = createOwnership({
    sql,
    clock,
    log,
    replica,
    meters,
    skippedTime,
    process: processIdentity(),
    ...leaseTimes(longest),
    secretsKeys: secrets?.keyIds ?? [],
    settings: digests,
    named: base.naming.named,
    onNotificationQueue: createQueueWarning(log),
    redial: base.store.redial,
  });
  const loop = { clock, log, ownership, meters, traces };
  const knownSubscribers = createKnownSubscribers(base);
  const notifier = createNotifier({
    ...loop,
    sql: base.store.pools.outbox,
    knownSubscribers,
    spread,
    writes: health.writesOf('notifier'),
    wake: () => wake('notifier'),
  });
  const poller = createPoller({
    ...loop,
    sql,
    recordingSql: base.store.pools.recording,
    skipped,
    policyFor: limits.policyFor,
    writes: health.writesOf('poller'),
    sites: clients.map(({ site, client }) => polledSite(site, client)),
    spread: () => spread() * 2 - 1,
    capacity: replacements.windowCapacity ?? 100_000,
    onEvents: (deliveries) => {
      if (!notifier.takeNew(deliveries)) wake('notifier');
    },
    onSymptom: () => wake('judge'),
    wake: () => wake('poller'),
  });
  const reach = createReach({ clock, log, setAway: ownership.setAway, outsides: [poller.outside, notifier.outside] });
  const names = createNames({ ...base, settings: digests });
  const erasures = createErasures({ sql, parts: [poller, notifier] });
  const upkeep = createUpkeep({
    ...base,
    skipped,
    resealing: createResealing(base),
    snapshots: createSnapshots(base),
    retention: settings.store.retention,
  });
  const schemaWatch = createSchemaWatch({ sql, log, own: base.schema });
  const activity = createActivity({ sql, meters, writeSites: poller.writeSites });
  const alerting = createAlerting(base, ownership, [reach.troubles, names.troubles]);
  ownership.onOtherDatabase({
    forget: () => {
      notifier.forgetAll();
      poller.forgetSites();
      skippedTime.forget();
      alerting.judge.forget();
      alerting.troubles.forget();
    },
    prepare: async () => {
      await base.prepare();
      await erasures.begin();
      await limits.refresh();
    },
  });
  return { ownership, poller, knownSubscribers, notifier, reach, names, erasures, upkeep, schemaWatch, activity, ...alerting };
}

/** The parts that alert people: the judge, the posts of a replica in trouble, and the dead man's switch. */
function createAlerting(
  base: Base,
  { fleet }: Pick<OwnershipKeeper, 'fleet'>,
  sources: readonly (() => readonly TroubleSeen[])[],
) {
  const { store, sql, clock, log, replica, settings, health, configured, loops } = base;
  const channels = channelRules(settings);
  const hostWatch = store.hosts === null ? null : createHostWatch({ hosts: store.hosts, clock, log });
  const troubles = createTroubles({
    ...base,
    sources: [() => troublesSeen(health.seen()), ...sources, () => hostWatch?.troubles() ?? []],
    rank: () => rankToPost(replica, fleet(), isGone),
    post: createDirectPosts({ clock, log, configured, channels }).post,
  });
  const judge = createJudge({
    ...base,
    channels,
    sites: settings.sites,
    policy: settings.slack,
    digest: settings.slack.digest,
    sessionLength: settings.policy.sessionLength,
    isReplicaPosted: troubles.isPosted,
    onEvents: () => loops.wake('notifier'),
  });
  const url = settings.slack.deadMansSwitch;
  const deadMansSwitch =
    url === null ? null : createDeadMansSwitch({ ...base, ceilings: channelCeilings(settings), url, way: wayTo(url, settings) });
  const present = configured.filter(({ showsPresent }) => showsPresent);
  const repeats = present.length === 0 ? null : createPresentAlerts({ sql, clock, log, channels: present });
  return { judge, hostWatch, troubles, deadMansSwitch, repeats };
}
