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
} from '../../postgres/upkeep/retention.ts';

/** Before which instant what is deleted; minus infinity: it is kept for ever. */
export interface Cutoffs {
  readonly settled: Instant;
  readonly attempts: Instant;
  readonly events: Instant;
}

/** How many rows of each kind a run deleted, in the words of its log line. */
type Removed = Record<'purchases' | 'attempts' | 'siteEvents' | 'incidents' | 'silences' | 'actions' | 'days', number>;

export interface Sweep {
  readonly startedAt: Instant;
  readonly removed: Readonly<Removed>;
  /** Deletes one batch; answers whether there is more to do. */
  step(): Promise<boolean>;
}

// The feed waits for every statement that writes to the table of events, a deletion too: a batch takes some 40 ms.
const PURCHASES_AT_ONCE = 200;
const ATTEMPTS_AT_ONCE = 5_000;
const EVENTS_AT_ONCE = 200;
const ROWS_AT_ONCE = 5_000;

export function createSweep(sql: Queries, cutoffs: Cutoffs, startedAt: Instant): Sweep {
  const removed: Removed = { purchases: 0, attempts: 0, siteEvents: 0, incidents: 0, silences: 0, actions: 0, days: 0 };
  let cursor: EndedCursor | null = null;
  const before = cutoffs.events;
  // Each answers whether it has more to do. What is kept for ever has no step.
  const steps: (() => Promise<boolean>)[] = [];
  if (Number.isFinite(cutoffs.settled))
    steps.push(async () => {
      const batch = { before: cutoffs.settled, limit: PURCHASES_AT_ONCE };
      const { removed: purchases, last }: Awaited<ReturnType<typeof removeEnded>> = await removeEnded(sql, {
        ...batch,
        after: cursor,
      });
      removed.purchases += purchases;
      cursor = last;
      return last !== null;
    });
  if (Number.isFinite(cutoffs.attempts))
    steps.push(async () => {
      const attempts = await removeAttempts(sql, { before: cutoffs.attempts, limit: ATTEMPTS_AT_ONCE });
      removed.attempts += attempts;
      return attempts >= ATTEMPTS_AT_ONCE;
    });
  if (Number.isFinite(cutoffs.events))
    steps.push(
      async () => {
        const events = await removeSiteEvents(sql, { before, limit: EVENTS_AT_ONCE });
        removed.siteEvents += events;
        return events >= EVENTS_AT_ONCE;
      },
      ...(
        [
          ['incidents', removeIncidents],
          ['silences', removeSilences],
          ['actions', removeActions],
          ['days', removeDays],
        ] as const
      ).map(([kind, remove]) => async () => {
        const rows = await remove(sql, { before, limit: ROWS_AT_ONCE });
        removed[kind] += rows;
        return rows > 0;
      }),
    );
  return {
    startedAt,
    removed,
    step: async () => {
      if (!((await steps[0]?.()) ?? false)) steps.shift();
      return steps.length > 0;
    },
  };
}
