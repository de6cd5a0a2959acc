/** Keeps this replica's lease alive and its fair share of the shards in hand. */

import { type Holding, type Ownership, SHARDS } from '../../domain/replicas/ownership.ts';
import { LEAST_STEP } from '../../domain/values/clock-ahead.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  expireReplica,
  forgetReplica,
  forgetStepBack,
  markLeaving,
  noteStepBack,
  type OtherReplica,
  releaseAllShards,
  releaseReplica,
  releaseShards,
  renewReplica,
  takeShards,
} from '../../postgres/shards/replicas.ts';
import type { FollowingClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { isGone } from '../../runtime/process/process-identity.ts';
import type { SkippedTimeKeeper } from './skipped-time.ts';

export interface OwnershipOptions {
  readonly sql: Sql;
  readonly clock: Pick<FollowingClock, 'monotonic'> & Partial<Pick<FollowingClock, 'follow' | 'wall'>>;
  readonly log: Logger;
  readonly replica: string;
  /** See runtime/process/process-identity.ts. */
  readonly process: string;
  /** Names of the keys with which this replica opens what is stored encrypted; none unless given. */
  readonly secretsKeys?: readonly string[];
  /** The lease's length: longer than any single call, so that one that began in time ends in time. */
  readonly ttl: Milliseconds;
  /** How often it is renewed. */
  readonly renewEvery: Milliseconds;
  readonly skippedTime?: Pick<SkippedTimeKeeper, 'read' | 'note'>;
  /** Gets with each renewal how full the database's queue of notifications is, from 0 to 1. */
  onNotificationQueue?(used: number): void;
  /**
   * The database's clock stepped by so much, back when negative, and what was written to these shards before; asked again
   * with the next tick while it fails.
   */
  onStep?(step: Milliseconds, holdings: readonly Holding[]): Promise<void>;
}

export interface OwnershipKeeper extends Ownership {
  /** Renews, takes and gives back; answers how long to rest. */
  tick(): Promise<Milliseconds>;
  /** Leaves the shards to the other replicas, or takes this replica's share back. */
  setAway(isAway: boolean): void;
  /** Begins nothing new; gives back every shard as soon as nothing is under way on it. Resolves when none is left. */
  handOver(): Promise<void>;
  /** Gives up everything at once, whatever is under way: its results are refused from then on. */
  release(): Promise<void>;
}

/** This machine's wall clock runs on while a virtual machine is suspended, its monotonic clock does not: so far apart, a lease is void. */
const LARGEST_JUMP: Milliseconds = 5_000;

type Held = { epoch: number; busy: number; leaving: boolean };

export function createOwnership({
  sql,
  clock,
  log,
  replica,
  process,
  secretsKeys = [],
  ttl,
  renewEvery,
  skippedTime,
  onNotificationQueue,
  onStep,
}: OwnershipOptions): OwnershipKeeper {
  const held = new Map<number, Held>();
  /** Shards whose release was sent and not confirmed, with their epochs: the release may still happen, so they stay unused. */
  const releasing = new Map<number, number>();
  const listeners: ((change: { gained: readonly number[]; lost: readonly number[] }) => void)[] = [];
  const others = createOthers(clock, ttl);
  /** When this replica's row was inserted, as of the last renewal whose holdings count. */
  let startedAt: string | null = null;
  let lease = { endsAt: Number.NEGATIVE_INFINITY, wallAhead: 0 };
  let stopping = false;
  /** By how much the database's clock stepped since its last step was dealt with. */
  let stepped: Milliseconds = 0;
  /** Shards that were written to before the clock was set back, and by how much. Those that were taken so are not used yet. */
  const ahead = new Map<number, { epoch: number; by: Milliseconds }>();
  let onIdle = (): void => undefined;
  let isAway = false;
  /** What this replica's row says of it. */
  let saidAway = false;

  /** How far this machine's wall clock is ahead of its monotonic clock. */
  const wallAhead = (): Milliseconds => (clock.wall === undefined ? 0 : clock.wall() - clock.monotonic());

  const tell = (gained: readonly number[], lost: readonly number[]): void => {
    if (gained.length === 0 && lost.length === 0) return;
    for (const listener of listeners) listener({ gained, lost });
    log.info({ owned: held.size, gained: gained.length, lost: lost.length }, 'shards.changed');
  };
  const add = (holdings: readonly Holding[]): number[] => {
    for (const { shard, epoch } of holdings) held.set(shard, { epoch, busy: 0, leaving: stopping });
    return holdings.map(({ shard }) => shard);
  };

  /** Brings memory in line with the rows; a shard whose epoch moved belonged to another replica in between. */
  const adopt = (holdings: readonly Holding[]): void => {
    const now = new Map(holdings.map(({ shard, epoch }) => [shard, epoch]));
    for (const [shard, epoch] of releasing) if (now.get(shard) !== epoch) releasing.delete(shard);
    const lost = [...held].filter(([shard, { epoch }]) => now.get(shard) !== epoch).map(([shard]) => shard);
    for (const shard of lost) held.delete(shard);
    for (const [shard, { epoch }] of ahead) if (now.get(shard) !== epoch) ahead.delete(shard);
    tell(add(holdings.filter(({ shard }) => !held.has(shard) && !releasing.has(shard) && !ahead.has(shard))), lost);
  };

  /** The row had been deleted, so another replica may own or have owned any of these shards: all of them are taken again. */
  const startOver = async (since: string): Promise<void> => {
    const lost = [...held.keys()];
    held.clear();
    releasing.clear();
    ahead.clear();
    if (startedAt !== null) {
      const advice =
        'nothing: this replica takes its share again; if this repeats, look why it could not reach the database for so long';
      log.warn({ shards: lost.length, leaseMs: ttl, advice }, 'lease.lost');
    }
    tell([], lost);
    await releaseAllShards(sql, replica);
    startedAt = since;
    saidAway = false;
  };

  const giveBack = async (): Promise<void> => {
    const free = [...held].filter(([, shard]) => shard.leaving && shard.busy === 0);
    for (const [shard, { epoch }] of free) {
      held.delete(shard);
      ahead.delete(shard);
      releasing.set(shard, epoch);
    }
    tell(
      [],
      free.map(([shard]) => shard),
    );
    const shards = [...releasing.keys()];
    await releaseShards(sql, { replica, shards });
    for (const shard of shards) releasing.delete(shard);
  };

  /** Deletes replicas whose process or lease ended; answers how many besides this one take shards. */
  const countOthers = async (rows: readonly OtherReplica[]): Promise<number> => {
    const ended = others.ended(rows);
    let taking = 0;
    for (const row of rows) {
      if (isGone(row.process)) {
        log.warn({ replica: row.id }, 'replica.gone');
        await forgetReplica(sql, row.id, others.unchangedMs(row.id));
      } else if (ended.has(row.id) && (await expireReplica(sql, { ...row, unchangedMs: others.unchangedMs(row.id) }))) {
        const detail = 'It did not renew its lease in time. The other replicas take over its purchases and deliveries.';
        log.warn({ replica: row.id, leaseMs: Math.max(row.leaseMs, ttl), detail }, 'replica.expired');
      } else if (!row.leaving) taking += 1;
    }
    return taking;
  };

  /** Before any shard is released: its next owner must know, too. */
  const noteSteps = async (): Promise<void> => {
    if (stepped < 0) {
      const by = -stepped;
      await noteStepBack(sql, replica, by);
      for (const [shard, { epoch }] of held) ahead.set(shard, { epoch, by });
    } else if (stepped > 0) await onStep?.(stepped, []);
    stepped = 0;
  };

  const followStepsBack = async (): Promise<void> => {
    if (ahead.size === 0) return;
    const holdings = [...ahead].map(([shard, { epoch }]) => ({ shard, epoch }));
    await onStep?.(-Math.max(...[...ahead.values()].map(({ by }) => by)), holdings);
    await forgetStepBack(sql, replica, [...ahead.keys()]);
    ahead.clear();
    tell(add(holdings.filter(({ shard }) => !held.has(shard))), []);
  };

  const keeper: OwnershipKeeper = {
    replica,
    owned: () => [...held].filter(([, shard]) => !shard.leaving).map(([id]) => id),
    epochOf: (shard) => held.get(shard)?.epoch ?? null,
    outlasts: (need) => clock.monotonic() + need < lease.endsAt && Math.abs(wallAhead() - lease.wallAhead) < LARGEST_JUMP,
    mayBegin: (shard, need) => {
      const holding = held.get(shard);
      return holding !== undefined && !holding.leaving && keeper.outlasts(need);
    },
    mayGoOn: (shard, epoch, need) => held.get(shard)?.epoch === epoch && keeper.outlasts(need),
    begin: (shard) => {
      const holding = held.get(shard);
      if (holding) holding.busy += 1;
    },
    end: (shard, epoch) => {
      const holding = held.get(shard);
      // Work that began before the shard was lost and came back is not this holding's.
      if (holding?.epoch === epoch && holding.busy > 0) holding.busy -= 1;
      if (holding?.busy === 0) onIdle();
    },
    lost: (shard) => {
      if (held.delete(shard)) tell([], [shard]);
    },
    share: () => held.size / SHARDS,
    onChange: (listener) => {
      listeners.push(listener);
    },
    tick: async () => {
      if (stopping) return renewEvery;
      const asked = { at: clock.monotonic(), wallAhead: wallAhead() };
      const renewal = await renewReplica(sql, { id: replica, process, ttl, secretsKeys });
      const step = clock.follow?.(renewal.databaseNow, asked.at, clock.monotonic()) ?? 0;
      stepped += step;
      skippedTime?.read(step, renewal.clockSteps);
      onNotificationQueue?.(renewal.notificationQueue);
      if (renewal.startedAt === startedAt) adopt(renewal.holdings);
      else await startOver(renewal.startedAt);
      // Only now: the lease covers what memory holds from here on.
      lease = { endsAt: asked.at + ttl, wallAhead: asked.wallAhead };
      await noteSteps();
      await skippedTime?.note();
      if (isAway !== saidAway) await markLeaving(sql, replica, isAway);
      saidAway = isAway;
      const taking = await countOthers(renewal.others);
      // The last one never leaves its shards.
      const fair = isAway && taking > 0 ? 0 : Math.ceil(SHARDS / (1 + taking));
      const staying = keeper.owned();
      for (const shard of staying.slice(fair)) held.get(shard)!.leaving = true;
      await giveBack();
      if (staying.length < fair) {
        const taken = await takeShards(sql, { replica, wanted: fair - staying.length });
        for (const { shard, epoch, aheadMs: by } of taken) if (by >= LEAST_STEP) ahead.set(shard, { epoch, by });
        tell(add(taken.filter(({ shard }) => !ahead.has(shard))), []);
      }
      await followStepsBack();
      return renewEvery;
    },
    setAway: (away) => {
      isAway = away;
    },
    handOver: async () => {
      stopping = true;
      for (const shard of held.values()) shard.leaving = true;
      await markLeaving(sql, replica);
      while (held.size > 0) {
        if ([...held.values()].every(({ busy }) => busy > 0)) {
          await new Promise<void>((resolve) => {
            onIdle = resolve;
          });
        }
        await giveBack();
      }
    },
    release: async () => {
      stopping = true;
      const shards = [...held.keys()];
      held.clear();
      tell([], shards);
      await releaseReplica(sql, replica);
    },
  };
  return keeper;
}

/**
 * Sees when leases of other replicas end: once a row has stood unchanged for the lease's length by this process' own clock.
 * The database's clock does not count, for it may step by hours.
 */
function createOthers({ monotonic }: Pick<FollowingClock, 'monotonic'>, ttl: Milliseconds) {
  let seen = new Map<string, { readonly renewal: string; readonly since: Milliseconds }>();
  return {
    /** For how long a replica's row has stood unchanged, as far as this process saw. */
    unchangedMs: (id: string): Milliseconds => {
      const since = seen.get(id)?.since;
      return since === undefined ? 0 : monotonic() - since;
    },
    /** The ids of those whose lease ended. */
    ended: (rows: readonly OtherReplica[]): ReadonlySet<string> => {
      const now = monotonic();
      seen = new Map(
        rows.map(({ id, renewal }) => {
          const before = seen.get(id);
          return [id, before?.renewal === renewal ? before : { renewal, since: now }];
        }),
      );
      return new Set(rows.filter(({ id, leaseMs }) => now - seen.get(id)!.since >= Math.max(leaseMs, ttl)).map(({ id }) => id));
    },
  };
}
