/** Waiting for what becomes of a delivery. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { progressOf } from '../../postgres/deliveries/delivery-list.ts';

/** Between two looks, growing: most are delivered at the first. */
const FIRST_LOOK = 50;
const LAST_LOOK = 500;

/** Whether an attempt was made, or the delivery settled, in time. */
export async function waitForAttempt(
  sql: Queries,
  id: number,
  { within, signal }: { within: Milliseconds; signal?: AbortSignal },
): Promise<boolean> {
  const until = performance.now() + within;
  for (let rest = FIRST_LOOK; !signal?.aborted; rest = Math.min(rest * 1.5, LAST_LOOK)) {
    const left = until - performance.now();
    if (left <= 0) return false;
    await delay(Math.min(rest, left), undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    const { attempts, settled } = await progressOf(sql, id);
    if (settled || attempts > 0) return true;
  }
  return false;
}
