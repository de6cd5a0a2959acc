/** Sending past events again, for API and command line. */

import { type Drain, expectedDrain } from '../../domain/deliveries/drain.ts';
import { type Instant, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { boundsOf, type ReplayRange, replayStep, retryDelivery } from '../../postgres/deliveries/deliveries-again.ts';
import { findDelivery } from '../../postgres/deliveries/delivery-list.ts';
import { paceOf } from '../../postgres/deliveries/pace.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { deliveryName } from './names.ts';
import { type Opening, waitAdvice, whyItWaits } from './outlook.ts';
import { Refused } from './refused.ts';

/** Events looked at in one statement: none holds locks for longer than this takes. */
const AT_ONCE = 2_000;
/** Two that lock the same rows in different orders: the one that was broken off begins again. */
const DEADLOCK = '40P01';

/** Events of a range that are sent again, or would be. */
export interface Replayed {
  readonly count: number;
  /** So many of the range wait for their first or their next try in any case, and are left alone. */
  readonly waiting: number;
  /** Of at least how many purchases the counted ones are. */
  readonly purchases: number;
  /** When the first and the last of these events were made. */
  readonly oldest: Instant | null;
  readonly newest: Instant | null;
  /** False when the replay was broken off before the range's end. */
  readonly complete: boolean;
}

export interface ReplayOptions {
  /** Counts and changes nothing. */
  readonly dryRun: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called after each step with the count so far. */
  readonly onProgress?: (count: number) => void;
}

/** Why a subscriber cannot be sent past events again, or null. People would take old alarms for new ones. */
export function whyNoReplay({ audience, name }: Pick<StoredSubscriber, 'audience' | 'name'>): string | null {
  if (audience !== 'people') return null;
  return `${name} is a channel for people, where old alarms would be taken for new ones, so nothing is sent there again; GET /v1/incidents lists what there was`;
}

/**
 * Has the events of a range that the subscriber wants sent again, each with its id and bytes. Step by step, so that a
 * million of them hold up no other work; what is broken off can be repeated.
 */
export async function replay(sql: Queries, range: ReplayRange, { dryRun, signal, onProgress }: ReplayOptions): Promise<Replayed> {
  const { after, last } = await boundsOf(sql, range);
  let [position, more] = [after, after < last];
  let sum = NOTHING_REPLAYED;
  while (more && !signal?.aborted) {
    const step = await unlessDeadlocked(() => replayStep(sql, range, { after: position, last, limit: AT_ONCE, dryRun }));
    ({ position, more } = step);
    sum = withStep(sum, step);
    onProgress?.(sum.count);
  }
  return { ...sum, complete: !more };
}

type Sum = Omit<Replayed, 'complete'>;

export const NOTHING_REPLAYED: Sum = { count: 0, waiting: 0, purchases: 0, oldest: null, newest: null };

/** The sum after one more step. */
export function withStep({ count, waiting, purchases, oldest, newest }: Sum, step: Sum): Sum {
  return {
    count: count + step.count,
    waiting: waiting + step.waiting,
    // The same purchase may come in each step.
    purchases: Math.max(purchases, step.purchases),
    oldest: step.oldest === null ? oldest : Math.min(oldest ?? step.oldest, step.oldest),
    newest: step.newest === null ? newest : Math.max(newest ?? step.newest, step.newest),
  };
}

/** A replay for programs: `note` says why the events wait, and a dry run also reckons how long the deliveries take. */
export async function replayedBody(
  sql: Queries,
  { count, purchases, waiting, oldest, newest }: Replayed,
  { subscriber, dryRun, concurrency, opening }: ReplayedBodyOptions,
) {
  const advice = count === 0 ? null : waitAdvice(subscriber, await databaseNow(sql), opening);
  const drain = dryRun ? expectedDrain({ count, purchases }, { ...(await paceOf(sql, subscriber.id)), concurrency }) : null;
  const note = advice === null ? {} : { note: `They ${dryRun ? 'would wait' : 'are scheduled and wait'}: ${advice}.` };
  const expected = drain === null ? {} : { expectedDrain: drainBody(drain, advice) };
  return { count, waiting, oldest: isoTimeOrNull(oldest), newest: isoTimeOrNull(newest), dryRun, ...expected, ...note };
}

interface ReplayedBodyOptions {
  readonly subscriber: StoredSubscriber;
  readonly dryRun: boolean;
  /** Deliveries in flight at most, for each daemon. */
  readonly concurrency: number;
  readonly opening?: Opening;
}

/** The expected drain. When a paused or switched-off subscriber takes events again is not known: the text then says so. */
function drainBody({ ms, text }: Drain, advice: string | null): Drain {
  return advice === null || ms === null ? { ms, text } : { ms: null, text: `${text}, once it gets events again` };
}

async function unlessDeadlocked<T>(work: () => Promise<T>, tries = 5): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (tries > 1 && (error as { code?: unknown }).code === DEADLOCK) return unlessDeadlocked(work, tries - 1);
    throw error;
  }
}

/**
 * Has one delivery sent again now. Answers it with its attempts, and why it does not leave at once, or null; throws Refused
 * when there is none, or its subscriber is gone.
 */
export async function sendAgain(sql: Queries, id: number, opening?: Opening) {
  const again = await retryDelivery(sql, id);
  const delivery = await findDelivery(sql, id);
  if (again && delivery !== null) return { delivery, waits: await whyItWaits(sql, delivery, opening) };
  if (delivery === null) throw new Refused('delivery_not_found', `there is no delivery ${deliveryName(id)}`);
  const gone = `the subscriber ${JSON.stringify(delivery.subscriber)} of this delivery gets nothing any more`;
  throw new Refused('subscriber_not_found', gone);
}
