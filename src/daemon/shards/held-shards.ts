/** The shards that this replica holds, as memory knows them. */
import type { Holding, Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../../runtime/logger.ts';

type Listener = Parameters<Ownership['onChange']>[0];

export interface HeldShards extends Pick<Ownership, 'owned' | 'epochOf' | 'begin' | 'end' | 'lost' | 'onChange'> {
  readonly size: number;
  /** Whether new work may begin on a shard: it is held, and not about to be given away. */
  stays(shard: number): boolean;
  /** Brings memory in line with the rows; a shard whose epoch moved belonged to another replica in between. */
  adopt(holdings: readonly Holding[]): void;
  /** Adds shards that were taken. One that was written to before the clock was set back is not used before `caughtUp`. */
  take(taken: readonly (Holding & { readonly ahead: Milliseconds })[]): void;
  /** Forgets everything; answers how many shards were held. */
  clear(): number;
  /** Gives these, or all from now on, away as soon as nothing is under way on them. */
  leave(shards: readonly number[] | 'all'): void;
  /** Stops using the shards that are to be given away and on which nothing is under way; answers all whose release is not confirmed. */
  beginRelease(): number[];
  released(shards: readonly number[]): void;
  /** Resolves when a shard that is to be given away has nothing under way, or a shard was lost; at once when none is held. */
  idle(): Promise<void>;
  /** The database's clock was set back by so much after these shards were written to. */
  setBack(by: Milliseconds): void;
  /** Shards that were written to before the clock was set back, and by how much at most. */
  ahead(): { readonly holdings: Holding[]; readonly by: Milliseconds };
  /** What was written to those shards is in line with the clock again. */
  caughtUp(): void;
}

interface Held {
  readonly epoch: number;
  busy: number;
  leaving: boolean;
}

/** No shards. Changes are logged, and answered to those who listen. */
export function createHeldShards(log: Logger): HeldShards {
  const held = new Map<number, Held>();
  /** Shards whose release was sent and not confirmed, with their epochs: the release may still happen, so they stay unused. */
  const releasing = new Map<number, number>();
  /** Those that were taken so are not used yet. */
  const ahead = new Map<number, { readonly epoch: number; readonly by: Milliseconds }>();
  const listeners: Listener[] = [];
  let isLeavingAll = false;
  let onIdle = (): void => undefined;

  const announce = (gained: readonly number[], lost: readonly number[]): void => {
    if (gained.length === 0 && lost.length === 0) return;
    for (const listener of listeners) listener({ gained, lost });
    log.info({ owned: held.size, gained: gained.length, lost: lost.length }, 'shards.changed');
    // The last one on which something was under way may be lost: then nothing else would end the wait.
    onIdle();
  };
  const add = (holdings: readonly Holding[]): number[] => {
    for (const { shard, epoch } of holdings) held.set(shard, { epoch, busy: 0, leaving: isLeavingAll });
    return holdings.map(({ shard }) => shard);
  };
  const aheadHoldings = () => [...ahead].map(([shard, { epoch }]) => ({ shard, epoch }));

  return {
    get size() {
      return held.size;
    },
    owned: () => [...held].filter(([, { leaving }]) => !leaving).map(([shard]) => shard),
    epochOf: (shard) => held.get(shard)?.epoch ?? null,
    stays: (shard) => held.get(shard)?.leaving === false,
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
      if (held.delete(shard)) announce([], [shard]);
    },
    onChange: (listener) => void listeners.push(listener),
    adopt: (holdings) => {
      const now = new Map(holdings.map(({ shard, epoch }) => [shard, epoch]));
      for (const [shard, epoch] of releasing) if (now.get(shard) !== epoch) releasing.delete(shard);
      const lost = [...held].filter(([shard, { epoch }]) => now.get(shard) !== epoch).map(([shard]) => shard);
      for (const shard of lost) held.delete(shard);
      for (const [shard, { epoch }] of ahead) if (now.get(shard) !== epoch) ahead.delete(shard);
      announce(add(holdings.filter(({ shard }) => !held.has(shard) && !releasing.has(shard) && !ahead.has(shard))), lost);
    },
    take: (taken) => {
      for (const { shard, epoch, ahead: by } of taken) if (by > 0) ahead.set(shard, { epoch, by });
      announce(add(taken.filter(({ shard }) => !ahead.has(shard))), []);
    },
    clear: () => {
      const lost = [...held.keys()];
      held.clear();
      releasing.clear();
      ahead.clear();
      announce([], lost);
      return lost.length;
    },
    leave: (shards) => {
      if (shards === 'all') isLeavingAll = true;
      for (const [shard, holding] of held) if (shards === 'all' || shards.includes(shard)) holding.leaving = true;
    },
    beginRelease: () => {
      const free = [...held].filter(([, { leaving, busy }]) => leaving && busy === 0);
      for (const [shard, { epoch }] of free) {
        held.delete(shard);
        ahead.delete(shard);
        releasing.set(shard, epoch);
      }
      const freed = free.map(([shard]) => shard);
      announce([], freed);
      return [...releasing.keys()];
    },
    released: (shards) => {
      for (const shard of shards) releasing.delete(shard);
    },
    idle: async () => {
      if (held.size === 0 || [...held.values()].some(({ busy }) => busy === 0)) return;
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
    },
    setBack: (by) => {
      for (const [shard, { epoch }] of held) ahead.set(shard, { epoch, by });
    },
    ahead: () => ({ holdings: aheadHoldings(), by: Math.max(0, ...[...ahead.values()].map(({ by }) => by)) }),
    caughtUp: () => {
      const holdings = aheadHoldings();
      ahead.clear();
      announce(add(holdings.filter(({ shard }) => !held.has(shard))), []);
    },
  };
}
