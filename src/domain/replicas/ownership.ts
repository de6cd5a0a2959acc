/** Shards as a worker must know them: which are this replica's now, and whether there is time to begin something. */
import type { Milliseconds } from '../values/time.ts';

export const SHARDS = 64;

/** A shard as its owner knows it: recording is refused once the epoch has moved on. */
export interface Holding {
  readonly shard: number;
  readonly epoch: number;
}

export interface Ownership {
  /** The id of this replica, as written into shards and leases. */
  readonly replica: string;
  /** Shards that are ours and not about to be given away. */
  owned(): readonly number[];
  /** The epoch under which we own a shard, or null. */
  epochOf(shard: number): number | null;
  /** Whether the lease is longer than `need`. */
  outlasts(need: Milliseconds): boolean;
  /** Whether work of at most `need` may begin: the lease must outlast it, or a successor could do the same at the same time. */
  mayBegin(shard: number, need: Milliseconds): boolean;
  /**
   * Whether work that began under an epoch may still act outside for at most `need`: the shard was not lost meanwhile, and the
   * lease outlasts it. To be asked right before anything leaves: the process may have stood still since the work began.
   */
  mayGoOn(shard: number, epoch: number, need: Milliseconds): boolean;
  /** Work on a shard begins, and ends under the epoch it began with; a shard is given away only when nothing is under way. */
  begin(shard: number): void;
  end(shard: number, epoch: number): void;
  /** Another replica took it: forget what is known of it. */
  lost(shard: number): void;
  /** Our part of everything, in [0, 1]: the part of a site's ceiling that is ours. */
  share(): number;
  /** Calls back with shards that became ours or ceased to be. */
  onChange(listener: (change: { gained: readonly number[]; lost: readonly number[] }) => void): void;
  /** Calls back when the database confirms a renewal after one that it did not confirm: what waits for the database need not wait longer. */
  onBack(listener: () => void): void;
}

/** The shards of a list that this replica holds now, with their epochs. */
export function holdingsOf({ epochOf }: Pick<Ownership, 'epochOf'>, shards: Iterable<number>): Holding[] {
  return [...shards].flatMap((shard) => {
    const epoch = epochOf(shard);
    return epoch === null ? [] : [{ shard, epoch }];
  });
}
