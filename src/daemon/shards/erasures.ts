/** Drops erased purchases from the memory of this replica, as the table of erasures says. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { erasedAfter, lastErasure } from '../../postgres/purchases/erase.ts';
import type { Deps } from '../deps.ts';

interface ErasuresOptions extends Pick<Deps, 'sql'> {
  /** The parts that hold purchases in memory, by row id. */
  readonly parts: readonly { forget(purchase: number): void }[];
}

/** A notification comes with each erasure; it may get lost with its connection. */
const SWEEP: Milliseconds = 60_000;
/** An erasure with a lower number may be committed later than one with a higher number. */
const OVERLAP = 100;
const MOST_AT_ONCE = 5_000;

export function createErasures({ sql, parts }: ErasuresOptions) {
  let last: number | null = null;
  /** Begins after the last erasure that the database knows; to be called before anything is loaded. */
  const begin = async (): Promise<void> => {
    last = await lastErasure(sql);
  };
  /** Drops what was erased since the first tick, or since `begin`; answers how long to rest. */
  const tick = async (): Promise<Milliseconds> => {
    if (last === null) {
      await begin();
      return SWEEP;
    }
    const erased = await erasedAfter(sql, last - OVERLAP, MOST_AT_ONCE);
    for (const { purchase } of erased) if (purchase !== null) for (const part of parts) part.forget(purchase);
    last = erased.at(-1)?.id ?? last;
    return erased.length === MOST_AT_ONCE ? 0 : SWEEP;
  };
  return { tick, begin };
}
