/** Waiting for what becomes of a delivery. */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { progressOf } from '../../postgres/deliveries/delivery-list.ts';
import { waitUntil } from '../../runtime/loops/wait-until.ts';

/** Whether an attempt was made, or the delivery settled, in time. */
export const waitForAttempt = (
  sql: Queries,
  id: number,
  limits: { within: Milliseconds; signal?: AbortSignal },
): Promise<boolean> =>
  waitUntil(async () => {
    const { attempts, settled } = await progressOf(sql, id);
    return settled || attempts > 0;
  }, limits);
