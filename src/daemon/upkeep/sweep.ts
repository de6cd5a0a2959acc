/** One run over everything that is old enough to go, a small batch at a time. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import {
  type EndedCursor,
  removeActions,
  removeAttempts,
  removeDays,
  removeEnded,
  removeIncidents,
  removeSilences,
  removeSiteEvents,
  removeTrends,
} from '../../postgres/upkeep/retention.ts';

/** Before which instant what is deleted; minus infinity: it is kept for ever. */
export interface Cutoffs {
  readonly settled: Instant;
  readonly attempts: Instant;
  readonly events: Instant;
  readonly trends: Instant;
}

export type Sweep = ReturnType<typeof createSweep>;

// The feed waits for every statement that writes to the table of events, a deletion too: a batch takes some 40 ms.
const PURCHASES_AT_ONCE = 200;
const EVENTS_AT_ONCE = 200;
const ROWS_AT_ONCE = 5_000;

export function createSweep(sql: Queries, { settled, attempts, events, trends }: Cutoffs, startedAt: Instant) {
  /** How many rows of each kind were deleted, in the words of the log's line. */
  const removed = { purchases: 0, attempts: 0, siteEvents: 0, incidents: 0, silences: 0, actions: 0, days: 0, trends: 0 };
  const kinds = [
    ['attempts', removeAttempts, { before: attempts, limit: ROWS_AT_ONCE }],
    ['siteEvents', removeSiteEvents, { before: events, limit: EVENTS_AT_ONCE }],
    ['incidents', removeIncidents, { before: events, limit: ROWS_AT_ONCE }],
    ['silences', removeSilences, { before: events, limit: ROWS_AT_ONCE }],
    ['actions', removeActions, { before: events, limit: ROWS_AT_ONCE }],
    ['days', removeDays, { before: events, limit: ROWS_AT_ONCE }],
    ['trends', removeTrends, { before: trends, limit: ROWS_AT_ONCE }],
  ] as const;
  let cursor: EndedCursor | null = null;
  const removePurchases = async (): Promise<boolean> => {
    const ended: Awaited<ReturnType<typeof removeEnded>> = await removeEnded(sql, {
      before: settled,
      limit: PURCHASES_AT_ONCE,
      after: cursor,
    });
    removed.purchases += ended.removed;
    cursor = ended.last;
    return cursor !== null;
  };
  // Each answers whether it has more to do. What is kept for ever has no step.
  const steps = [
    ...(Number.isFinite(settled) ? [removePurchases] : []),
    ...kinds
      .filter(([, , { before }]) => Number.isFinite(before))
      .map(([kind, remove, which]) => async () => {
        const rows = await remove(sql, which);
        removed[kind] += rows;
        return rows > 0;
      }),
  ];
  return {
    startedAt,
    removed,
    /** Deletes one batch; answers whether there is more to do. */
    step: async (): Promise<boolean> => {
      if (!((await steps[0]?.()) ?? false)) steps.shift();
      return steps.length > 0;
    },
  };
}
