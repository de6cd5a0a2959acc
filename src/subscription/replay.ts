/** Sending past events again: what the API and the command line do, once for both. */
import { isoTimeOrNull } from '../core/events.ts';
import type { Instant } from '../core/purchase.ts';
import type { Queries } from '../store/database.ts';
import { boundsOf, type ReplayRange, replayStep, retryDelivery } from '../store/deliveries-again.ts';
import { findDelivery } from '../store/delivery-list.ts';
import { Refused } from './refused.ts';

/** Events looked at in one statement: none holds locks for longer than this takes. */
const AT_ONCE = 2_000;
/** Two that lock the same rows in different orders: the one that was broken off begins again. */
const DEADLOCK = '40P01';

/** What is sent again, or would be. */
export interface Replayed {
  readonly count: number;
  /** When the first and the last of these events were made. */
  readonly oldest: Instant | null;
  readonly newest: Instant | null;
  /** It was broken off before its end. */
  readonly complete: boolean;
}

export interface ReplayOptions {
  /** Counts and changes nothing. */
  readonly dryRun: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Told after each step how many there are so far. */
  readonly onProgress?: (count: number) => void;
}

/**
 * Has the events of a range that the subscriber wants sent again, each with its id and bytes. Step by step, so that a
 * million of them hold up nobody; what is broken off can be repeated.
 */
export async function replay(sql: Queries, range: ReplayRange, { dryRun, signal, onProgress }: ReplayOptions): Promise<Replayed> {
  const { after, last } = await boundsOf(sql, range);
  let [position, count, more] = [after, 0, after < last];
  let [oldest, newest]: [Instant | null, Instant | null] = [null, null];
  while (more && !signal?.aborted) {
    const step = await unlessDeadlocked(() => replayStep(sql, range, { after: position, last, limit: AT_ONCE, dryRun }));
    ({ position, more } = step);
    count += step.count;
    oldest = step.oldest === null ? oldest : Math.min(oldest ?? step.oldest, step.oldest);
    newest = step.newest === null ? newest : Math.max(newest ?? step.newest, step.newest);
    onProgress?.(count);
  }
  return { count, oldest, newest, complete: !more };
}

/** The same for programs. `off` tells of a subscriber that is off. */
export function replayedBody({ count, oldest, newest }: Replayed, { dryRun, off }: { dryRun: boolean; off: string | null }) {
  const note = off === null || count === 0 ? {} : { note: `They ${dryRun ? 'would wait' : 'are scheduled and wait'}: ${off}.` };
  return { count, oldest: isoTimeOrNull(oldest), newest: isoTimeOrNull(newest), dryRun, ...note };
}

async function unlessDeadlocked<T>(work: () => Promise<T>, tries = 5): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (tries > 1 && (error as { code?: unknown }).code === DEADLOCK) return unlessDeadlocked(work, tries - 1);
    throw error;
  }
}

/** Has one delivery sent again now; throws Refused when there is none, or nobody to send it to. */
export async function sendAgain(sql: Queries, id: number): Promise<void> {
  if (await retryDelivery(sql, id)) return;
  const delivery = await findDelivery(sql, id);
  if (delivery === null) throw new Refused('delivery_not_found', `there is no delivery ${deliveryName(id)}`);
  throw new Refused(
    'subscriber_not_found',
    `the subscriber ${JSON.stringify(delivery.subscriber)} of this delivery is not told any more`,
  );
}

/** A delivery's id as people and programs see it. */
export function deliveryName(id: number): string {
  return `dlv_${id}`;
}

/** The row id behind such a name, or null. */
export function deliveryNumber(name: string): number | null {
  const id = Number(/^dlv_([1-9]\d{0,15})$/.exec(name)?.[1]);
  return Number.isSafeInteger(id) ? id : null;
}
