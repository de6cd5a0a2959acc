/** Sends again the deliveries that did not reach a subscriber: given up after the last attempt, or never sent while it was off. */
import type { Queries } from '../../postgres/connection/database.ts';
import { type GivenUp, givenUpStep, lastDelivery } from '../../postgres/deliveries/given-up.ts';
import { NOTHING_REPLAYED, type Replayed, type ReplayOptions, withStep } from './replay.ts';

/** None holds locks for longer than this takes. */
const AT_ONCE = 1_000;

/** Has all of them sent again after all that is new, each with its id and bytes; what is broken off can be repeated. */
export async function retryGivenUp(
  sql: Queries,
  which: GivenUp,
  { dryRun, signal, onProgress }: ReplayOptions,
): Promise<Replayed> {
  const last = await lastDelivery(sql);
  let position: number | null = 0;
  let sum = NOTHING_REPLAYED;
  while (position !== null && !signal?.aborted) {
    const step = await givenUpStep(sql, which, { after: position, last, limit: AT_ONCE, dryRun });
    position = step.position;
    sum = withStep(sum, { ...step, waiting: 0 });
    onProgress?.(sum.count);
  }
  return { ...sum, complete: position === null };
}
