/** The shards that this replica holds, as memory knows them. */
import type { Holding, Ownership } from '../../domain/replicas/ownership.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createIdle } from '../../runtime/loops/idle.ts';

type Listener = Parameters<Ownership['onChange']>[0];

export type HeldShards = ReturnType<typeof createHeldShards>;

interface Held {
  readonly epoch: number;
  busy: number;
  leaving: boolean;
}

/** No shards. Changes are logged, and answered to those who listen. */
export function createHeldShards(log: Logger) {
  const held = new Map<number, Held>();
  /** Shards whose release was sent and not confirmed, with their epochs: the release may still happen, so they stay unused. */
  const releasing = new Map<number, number>();
  const changes = createChanges(log);
  let isLeavingAll = false;
  const idle = createIdle(() => (held.values().some(({ busy }) => busy === 0) ? 0 : held.size));
  const announce = (gained: readonly number[], lost: readonly number[]): void => {
    changes.announce(gained, lost, held.size);
    // The last one on which something was under way may be lost: then nothing else would end the wait.
    idle.rouse();
  };
  const add = (holdings: readonly Holding[]): number[] => {
    for (const { shard, epoch } of holdings) held.set(shard, { epoch, busy: 0, leaving: isLeavingAll });
    return holdings.map(({ shard }) => shard);
  };
  return {
    size: (): number => held.size,
    owned: (): readonly number[] => [...held].filter(([, { leaving }]) => !leaving).map(([shard]) => shard),
    epochOf: (shard: number): number | null => held.get(shard)?.epoch ?? null,
    /** Whether new work may begin on a shard: it is held, and not about to be given away. */
    stays: (shard: number): boolean => held.get(shard)?.leaving === false,
    begin: (shard: number): void => {
      const holding = held.get(shard);
      if (holding) holding.busy += 1;
    },
    end: (shard: number, epoch: number): void => {
      const holding = held.get(shard);
      // Work that began before the shard was lost and came back is not this holding's.
      if (holding?.epoch === epoch && holding.busy > 0) holding.busy -= 1;
      idle.rouse();
    },
    lost: (shard: number): void => {
      if (held.delete(shard)) announce([], [shard]);
    },
    onChange: changes.onChange,
    /** Brings memory in line with the rows; a shard whose epoch moved belonged to another replica in between. */
    adopt: (holdings: readonly Holding[]): void => {
      const now = new Map(holdings.map(({ shard, epoch }) => [shard, epoch]));
      for (const [shard, epoch] of releasing) if (now.get(shard) !== epoch) releasing.delete(shard);
      const lost = [...held].filter(([shard, { epoch }]) => now.get(shard) !== epoch).map(([shard]) => shard);
      for (const shard of lost) held.delete(shard);
      announce(add(holdings.filter(({ shard }) => !held.has(shard) && !releasing.has(shard))), lost);
    },
    /** Adds shards that were taken. */
    take: (taken: readonly Holding[]): void => announce(add(taken), []),
    /** Forgets everything; answers how many shards were held. */
    clear: (): number => {
      const lost = [...held.keys()];
      held.clear();
      releasing.clear();
      announce([], lost);
      return lost.length;
    },
    /** Gives these, or all from now on, away as soon as nothing is under way on them. */
    leave: (shards: readonly number[] | 'all'): void => {
      if (shards === 'all') isLeavingAll = true;
      for (const [shard, holding] of held) if (shards === 'all' || shards.includes(shard)) holding.leaving = true;
    },
    /** Stops using the shards that are to be given away and on which nothing is under way; `write` gets all whose release is not confirmed. */
    release: async (write: (shards: number[]) => Promise<unknown>): Promise<void> => {
      const free = [...held].filter(([, { leaving, busy }]) => leaving && busy === 0);
      for (const [shard, { epoch }] of free) {
        held.delete(shard);
        releasing.set(shard, epoch);
      }
      const freed = free.map(([shard]) => shard);
      announce([], freed);
      const shards = [...releasing.keys()];
      await write(shards);
      for (const shard of shards) releasing.delete(shard);
    },
    /** Resolves when a shard that is to be given away has nothing under way, or a shard was lost; at once when none is held. */
    idle: idle.wait,
  };
}

function createChanges(log: Logger) {
  const listeners: Listener[] = [];
  return {
    onChange: (listener: Listener): void => void listeners.push(listener),
    announce: (gained: readonly number[], lost: readonly number[], owned: number): void => {
      if (gained.length === 0 && lost.length === 0) return;
      for (const listener of listeners) listener({ gained, lost });
      log.info({ owned, gained: gained.length, lost: lost.length }, 'shards.changed');
    },
  };
}
