/** Attempts of deliveries by receiver: how many were taken, how long that took, and each day. */

import type { Period } from '../../domain/trends/period.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { AttemptSum } from '../../postgres/trends/read.ts';
import { boundAt } from './series.ts';

/** The upper bound of a bucket of purchase_watch_internal.took_bucket: 10 ms, and four for each doubling from there. */
const tookBelow = (bucket: number): Milliseconds => 10 * 2 ** (bucket / 4);

export function receiversOf(sums: readonly AttemptSum[], days: readonly Period[]) {
  return [...Map.groupBy(sums, ({ subscriber }) => subscriber)].map(([subscriber, rows]) => {
    const byDay = rows.filter(({ place }) => place !== null);
    const taken = rows.flatMap(({ bucket, attempts, failed }) =>
      bucket === null || attempts === failed ? [] : [{ bucket, customers: attempts - failed }],
    );
    return {
      subscriber,
      ...added(byDay),
      medianMs: taken.length === 0 ? null : boundAt(taken, 0.5, tookBelow),
      p95Ms: taken.length === 0 ? null : boundAt(taken, 0.95, tookBelow),
      days: days.map(({ from }, day) => ({ from: isoTime(from), ...added(byDay.filter(({ place }) => place === day)) })),
    };
  });
}

const added = (rows: readonly { attempts: number; failed: number }[]) => ({
  attempts: rows.reduce((sum, { attempts }) => sum + attempts, 0),
  failed: rows.reduce((sum, { failed }) => sum + failed, 0),
});
