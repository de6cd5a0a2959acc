/** Sends again the deliveries that did not reach a subscriber: given up after the last attempt, or never sent while it was off. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { type GivenUp, givenUpStep, lastDelivery } from '../../postgres/deliveries/given-up.ts';
import type { Replayed, ReplayOptions } from './replay.ts';

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
  let [count, purchases] = [0, 0];
  let [oldest, newest]: [Instant | null, Instant | null] = [null, null];
  while (position !== null && !signal?.aborted) {
    const step = await givenUpStep(sql, which, { after: position, last, limit: AT_ONCE, dryRun });
    position = step.position;
    count += step.count;
    purchases = Math.max(purchases, step.purchases);
    oldest ??= step.oldest;
    newest = step.newest ?? newest;
    onProgress?.(count);
  }
  return { count, waiting: 0, purchases, oldest, newest, complete: position === null };
}
