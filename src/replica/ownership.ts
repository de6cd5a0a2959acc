/** Keeps this replica's lease alive and its fair share of the shards in hand. */
import { type Ownership, SHARDS } from '../core/ownership.ts';
import type { Milliseconds } from '../core/purchase.ts';
import type { FollowingClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { isGone } from '../runtime/process-identity.ts';
import type { Sql } from '../store/database.ts';
import { forgetReplica, ownedShards, releaseLeases, releaseShards, renewReplica, takeShards } from '../store/replicas.ts';

export interface OwnershipOptions {
  readonly sql: Sql;
  readonly clock: Pick<FollowingClock, 'monotonic'> & Partial<Pick<FollowingClock, 'follow'>>;
  readonly log: Logger;
  readonly replica: string;
  /** See runtime/process-identity.ts. */
  readonly process: string;
  /** The lease's length: longer than any single call, so that one that began in time ends in time. */
  readonly ttl: Milliseconds;
  /** How often it is renewed. */
  readonly renewEvery: Milliseconds;
}

export interface OwnershipKeeper extends Ownership {
  /** Renews, takes and gives back; answers how long to rest. */
  tick(): Promise<Milliseconds>;
  /** Begins nothing new, waits until nothing is under way, and gives everything back. */
  release(): Promise<void>;
}

export function createOwnership({ sql, clock, log, replica, process, ttl, renewEvery }: OwnershipOptions): OwnershipKeeper {
  const held = new Map<number, { epoch: number; busy: number; leaving: boolean }>();
  const listeners: ((change: { gained: readonly number[]; lost: readonly number[] }) => void)[] = [];
  let leaseEndsAt: Milliseconds = Number.NEGATIVE_INFINITY;
  let releasing = false;
  let idle: (() => void) | null = null;

  const tell = (gained: readonly number[], lost: readonly number[]): void => {
    if (gained.length === 0 && lost.length === 0) return;
    for (const listener of listeners) listener({ gained, lost });
  };

  /** Brings memory in line with the rows; a shard whose epoch moved was somebody else's in between. */
  const adopt = async (): Promise<void> => {
    const now = new Map((await ownedShards(sql, replica)).map((holding) => [holding.shard, holding.epoch]));
    const lost = [...held].filter(([shard, { epoch }]) => now.get(shard) !== epoch).map(([shard]) => shard);
    for (const shard of lost) held.delete(shard);
    const gained = [...now].filter(([shard]) => !held.has(shard));
    for (const [shard, epoch] of gained) held.set(shard, { epoch, busy: 0, leaving: false });
    tell(
      gained.map(([shard]) => shard),
      lost,
    );
    if (gained.length > 0 || lost.length > 0)
      log.info({ owned: held.size, gained: gained.length, lost: lost.length }, 'shards.changed');
  };

  const giveBack = async (): Promise<void> => {
    const free = [...held].filter(([, shard]) => shard.leaving && shard.busy === 0).map(([id]) => id);
    if (free.length === 0) return;
    for (const shard of free) held.delete(shard);
    tell([], free);
    await releaseShards(sql, { replica, shards: free });
  };

  const keeper: OwnershipKeeper = {
    replica,
    owned: () => [...held].filter(([, shard]) => !shard.leaving).map(([id]) => id),
    epochOf: (shard) => held.get(shard)?.epoch ?? null,
    outlasts: (need) => clock.monotonic() + need < leaseEndsAt,
    mayBegin: (shard, need) => {
      const holding = held.get(shard);
      return holding !== undefined && !holding.leaving && keeper.outlasts(need);
    },
    begin: (shard) => {
      const holding = held.get(shard);
      if (holding) holding.busy += 1;
    },
    end: (shard, epoch) => {
      const holding = held.get(shard);
      // Work that began before the shard was lost and came back is not this holding's.
      if (holding?.epoch === epoch && holding.busy > 0) holding.busy -= 1;
      if (idle && [...held.values()].every(({ busy }) => busy === 0)) idle();
    },
    lost: (shard) => {
      if (held.delete(shard)) tell([], [shard]);
    },
    share: () => held.size / SHARDS,
    onChange: (listener) => {
      listeners.push(listener);
    },
    tick: async () => {
      if (releasing) return renewEvery;
      const asked = clock.monotonic();
      const { alive, databaseNow, readAt } = await renewReplica(sql, { id: replica, process, ttl });
      clock.follow?.(databaseNow, readAt);
      leaseEndsAt = asked + ttl;
      for (const other of alive) {
        if (other.id === replica || !isGone(other.process)) continue;
        log.warn({ replica: other.id }, 'replica.gone');
        await forgetReplica(sql, other.id);
      }
      const living = alive.filter((other) => other.id === replica || !isGone(other.process)).length;
      const fair = Math.ceil(SHARDS / Math.max(living, 1));
      await adopt();
      const staying = keeper.owned();
      for (const shard of staying.slice(fair)) held.get(shard)!.leaving = true;
      await giveBack();
      if (staying.length < fair && (await takeShards(sql, { replica, wanted: fair - staying.length })) > 0) await adopt();
      return renewEvery;
    },
    release: async () => {
      releasing = true;
      for (const shard of held.values()) shard.leaving = true;
      if ([...held.values()].some(({ busy }) => busy > 0)) {
        await new Promise<void>((resolve) => {
          idle = resolve;
        });
      }
      await giveBack();
      await releaseLeases(sql, replica);
      await forgetReplica(sql, replica);
    },
  };
  return keeper;
}
