/** Keeps this replica's lease alive and its fair share of the shards in hand. */

import type { SettingsDigests } from '../../config/settings-digests.ts';
import type { Fleet } from '../../domain/replicas/direct-alert.ts';
import { type SettingsNames, type ShardPart, sizeOf } from '../../domain/replicas/named.ts';
import { SHARDS } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { releaseLeases } from '../../postgres/shards/leases.ts';
import {
  markLeaving,
  type Renewal,
  releaseAllShards,
  releaseReplica,
  releaseShards,
  renewReplica,
  takeShards,
} from '../../postgres/shards/replicas.ts';
import type { FollowingClock } from '../../runtime/clock.ts';
import type { Deps } from '../deps.ts';
import { createDatabaseChange, type DatabaseChangeOptions } from './database-change.ts';
import { createHeldShards, type HeldShards } from './held-shards.ts';
import { createLease } from './lease.ts';
import { createOtherReplicas } from './other-replicas.ts';
import { createPart } from './part.ts';
import type { SkippedTimeKeeper } from './skipped-time.ts';

export interface OwnershipOptions
  extends Pick<Deps, 'sql' | 'log' | 'replica'>,
    Pick<DatabaseChangeOptions, 'meters' | 'redial'> {
  readonly clock: Pick<FollowingClock, 'monotonic'> & Partial<Pick<FollowingClock, 'follow' | 'wall'>>;
  /** See runtime/process/process-identity.ts. */
  readonly process: string;
  /** Names of the keys with which this replica opens what is stored encrypted; none unless given. */
  readonly secretsKeys?: readonly string[];
  /** Digests of this replica's settings; none unless given. */
  readonly settings?: SettingsDigests;
  /** Sites and subscribers that this replica's settings name; unless given, the replica shares all shards evenly. */
  readonly named?: SettingsNames;
  /** The lease's length: longer than any single call, so that one that began in time ends in time. */
  readonly ttl: Milliseconds;
  /** How often it is renewed. */
  readonly renewEvery: Milliseconds;
  readonly skippedTime?: Pick<SkippedTimeKeeper, 'read' | 'note'>;
  /** Gets with each renewal how full the database's queue of notifications is, from 0 to 1. */
  onNotificationQueue?(used: number): void;
}

export type OwnershipKeeper = ReturnType<typeof createOwnership>;

const FORWARD =
  'check the time synchronisation of the database host (or this machine was suspended); purchases are polled now, and no purchase is called stuck for the time that was skipped';
const BACK = 'check the time synchronisation of the database host; polls and deliveries are due as much earlier';

const EVERY_SHARD = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Renews this replica's lease, and keeps memory in line with the rows that the renewal reads. */
function createRenewing(options: OwnershipOptions, shards: HeldShards, lease: ReturnType<typeof createLease>) {
  const { sql, clock, log, replica, ttl, skippedTime, onNotificationQueue } = options;
  const database = createDatabaseChange(options);
  /** When this replica's row was inserted, as of the last renewal whose holdings count. */
  let startedAt: string | null = null;
  let fleet: Fleet = { judge: null, others: [] };
  /** Whether this replica's row says that the shards are left to the others. */
  let isAwayInRow = false;
  database.onOther({
    forget: () => {
      shards.clear();
      startedAt = null;
    },
    prepare: async () => undefined,
  });

  /** The row had been deleted, so another replica may own or have owned any of these shards: all of them are taken again. */
  const startOver = async (since: string): Promise<void> => {
    const isFirst = startedAt === null;
    const lost = shards.clear();
    if (!isFirst) {
      const advice =
        'nothing: this replica takes its share again; if this repeats, look why it could not reach the database for so long';
      log.warn({ shards: lost, leaseMs: ttl, advice }, 'lease.lost');
    }
    await releaseAllShards(sql, replica);
    startedAt = since;
    isAwayInRow = false;
  };

  return {
    onOtherDatabase: database.onOther,
    fleet: () => fleet,
    /** Answers the rows, or null when another database answers than before: memory is empty then. */
    renew: async (): Promise<Renewal | null> => {
      if (database.mustSettle()) await database.settle();
      const askedAt = clock.monotonic();
      const renewed = lease.renew();
      const confirmed = database.confirmed();
      const renewal = await renewReplica(sql, { ...options, id: replica, confirmed }).catch(database.failed);
      if (!database.holds(renewal)) return null;
      const step = clock.follow?.(renewal.databaseNow, askedAt, clock.monotonic()) ?? 0;
      if (step !== 0) log.warn({ byMs: Math.round(step), advice: step > 0 ? FORWARD : BACK }, 'clock.stepped');
      // Nothing that memory has of the time before is used or written any more; upkeep brings the tables in line.
      if (step < 0) database.forget();
      skippedTime?.read(step, renewal.skipped);
      onNotificationQueue?.(renewal.notificationQueue);
      if (renewal.startedAt === startedAt) shards.adopt(renewal.holdings);
      else await startOver(renewal.startedAt!);
      // Only now: the lease covers what memory holds from here on.
      renewed();
      fleet = renewal;
      return renewal;
    },
    /** Writes whether the shards are left to the others, where the row says otherwise. */
    writeAway: async (isAway: boolean): Promise<void> => {
      if (isAway !== isAwayInRow) await markLeaving(sql, replica, isAway);
      isAwayInRow = isAway;
    },
  };
}

export function createOwnership(options: OwnershipOptions) {
  const { sql, clock, log, replica, ttl, renewEvery, skippedTime } = options;
  const shards = createHeldShards(log);
  const lease = createLease(clock, ttl);
  const { renew, writeAway, onOtherDatabase, fleet } = createRenewing(options, shards, lease);
  const takingAmong = createOtherReplicas(options);
  const partBeside = createPart(options);
  let isStopping = false;
  /** Whether the shards are left to the others. */
  let isAway = false;
  /** Whether the database confirmed the last renewal. */
  let isConfirmed = true;
  const onBack: (() => void)[] = [];

  return {
    replica,
    owned: shards.owned,
    epochOf: shards.epochOf,
    begin: shards.begin,
    end: shards.end,
    lost: shards.lost,
    onChange: shards.onChange,
    onBack: (listener: () => void): void => void onBack.push(listener),
    outlasts: lease.outlasts,
    mayBegin: (shard: number, need: Milliseconds): boolean => shards.stays(shard) && lease.outlasts(need),
    mayGoOn: (shard: number, epoch: number, need: Milliseconds): boolean =>
      shards.epochOf(shard) === epoch && lease.outlasts(need),
    share: (): number => shards.size() / SHARDS,
    /** The other replicas and who had the judge's lease, as of the last renewal. */
    fleet,
    /** Renews, takes and gives back; answers how long to rest. */
    tick: async (): Promise<Milliseconds> => {
      if (isStopping) return renewEvery;
      const wasConfirmed = isConfirmed;
      isConfirmed = false;
      const renewal = (await renew()) ?? (await renew());
      if (renewal === null) return 0;
      await skippedTime?.note();
      const taking = await takingAmong(renewal.others);
      const part = partBeside(taking, renewal);
      const leaves = isAway || part.isOutdone;
      await writeAway(leaves);
      if (part.isOutdone) await releaseLeases(sql, replica);
      // The last one never leaves its shards.
      await balance(sql, replica, shards, leaves && taking.length > 0 ? null : part);
      isConfirmed = true;
      if (!wasConfirmed) for (const listener of onBack) listener();
      return renewEvery;
    },
    /** Calls back when the database is not the one any more that memory is of. */
    onOtherDatabase,
    /** Leaves the shards to the other replicas, or takes this replica's share back. */
    setAway: (away: boolean): void => {
      isAway = away;
    },
    /** Begins nothing new; gives back every shard as soon as nothing is under way on it. Resolves when none is left. */
    handOver: async (): Promise<void> => {
      isStopping = true;
      shards.leave('all');
      await markLeaving(sql, replica);
      while (shards.size() > 0) {
        await shards.idle();
        await giveBack(sql, replica, shards);
      }
    },
    /** Gives up everything at once, whatever is under way: its results are refused from then on. */
    release: async (): Promise<void> => {
      isStopping = true;
      shards.clear();
      await releaseReplica(sql, replica);
    },
  };
}

/** Gives away what is more than a fair share of its part of the shards, and takes what is missing. */
async function balance(sql: Sql, replica: string, shards: HeldShards, part: ShardPart | null): Promise<void> {
  const fair = part === null ? 0 : Math.ceil(sizeOf(part) / part.parties);
  const held = shards.owned();
  const staying = part === null ? [] : held.filter(part.includes).slice(0, fair);
  shards.leave(held.filter((shard) => !staying.includes(shard)));
  await giveBack(sql, replica, shards);
  if (part === null || staying.length >= fair) return;
  const among = sizeOf(part) === SHARDS ? null : EVERY_SHARD.filter(part.includes);
  shards.take(await takeShards(sql, { replica, among, wanted: fair - staying.length }));
}

async function giveBack(sql: Sql, replica: string, held: HeldShards): Promise<void> {
  await held.release((shards) => releaseShards(sql, { replica, shards }));
}
