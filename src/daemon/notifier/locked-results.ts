/** Writes results of attempts although other sessions have locked rows that belong to some of them: those results wait. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { isLockTimeout, type Sql } from '../../postgres/connection/database.ts';
import type { DueDelivery } from '../../postgres/deliveries/deliveries.ts';
import { lockedDeliveries } from '../../postgres/deliveries/locked-deliveries.ts';
import type { Settlement } from '../../postgres/deliveries/settle.ts';
import type { SwitchedOff } from '../../postgres/subscribers/subscribers.ts';
import { monotonic } from '../../runtime/time.ts';
import type { Deps } from '../deps.ts';
import type { Subscriber } from './subscribers/subscriber.ts';

/** An attempt that ended and whose result is not written yet. */
export interface AttemptResult {
  readonly subscriber: Subscriber;
  readonly delivery: DueDelivery;
  readonly settlement: Settlement;
  /** Results of the deliveries that were sent in the same message: written in the same statement, or not at all. */
  readonly along: readonly Settlement[];
  readonly epoch: number;
  /** Why the subscriber is switched off; null: the subscriber stays on. */
  readonly off: SwitchedOff | null;
  /** Since when rows that belong to it are known to be locked by another session (monotonic). */
  readonly lockedSince?: Milliseconds | undefined;
}

interface Unlocked {
  /** Ids of the deliveries that were written. */
  readonly written: ReadonlySet<number>;
  /** Results that were not written, because another session has locked rows that belong to them. */
  readonly locked: readonly AttemptResult[];
}

type Settle = (results: readonly AttemptResult[]) => Promise<ReadonlySet<number>>;

/** A result waits for as long as its rows have been locked, within these. */
const FIRST_REST: Milliseconds = 1_000;
const LONGEST_REST: Milliseconds = 15_000;
/** How often a batch is written that waits too long for locks: one may be locked between the question and the statement. */
const MOST_TRIES = 3;
const ADVICE =
  'another session has locked the rows, and the results are written once the rows are free; find the session in pg_stat_activity by its age (xact_start)';

/**
 * Writes results by `settle`, and leaves out those whose rows are locked. Asks which these are only after a statement has
 * waited too long for a lock, or for results that were left out before. Rejects with that statement's error when nothing can
 * be written and no row of a delivery is the reason: the table is locked, or a row of the only subscriber.
 */
export async function settleUnlocked(
  results: readonly AttemptResult[],
  { sql, settle }: { readonly sql: Sql; readonly settle: Settle },
  tries = 1,
): Promise<Unlocked> {
  let failure: unknown = null;
  const known = results.filter(({ lockedSince }) => lockedSince !== undefined);
  if (known.length === 0) {
    try {
      return { written: await settle(results), locked: [] };
    } catch (error) {
      if (!isLockTimeout(error) || tries >= MOST_TRIES) throw error;
      failure = error;
    }
  }
  const asked = known.length === 0 ? results : known;
  const ids = await lockedDeliveries(
    sql,
    asked.flatMap(({ settlement, along }) => [settlement, ...along]),
  );
  const isLocked = ({ settlement, along }: AttemptResult): boolean =>
    [settlement, ...along].some(({ delivery }) => ids.has(delivery.id));
  if (failure !== null && ids.size === 0) return settleBySubscriber(results, settle, failure);
  const locked = results.filter(isLocked).map((each) => ({ ...each, lockedSince: each.lockedSince ?? monotonic() }));
  const free = results.filter((each) => !isLocked(each)).map((each) => ({ ...each, lockedSince: undefined }));
  if (free.length === 0) return { written: new Set(), locked };
  const rest = await settleUnlocked(free, { sql, settle }, tries + 1);
  return { written: rest.written, locked: [...locked, ...rest.locked] };
}

/** Rows other than those of deliveries are each of one subscriber: those of its health. */
async function settleBySubscriber(results: readonly AttemptResult[], settle: Settle, failure: unknown): Promise<Unlocked> {
  const groups = [...Map.groupBy(results, ({ subscriber }) => subscriber).values()];
  let written: ReadonlySet<number> = new Set();
  const locked: AttemptResult[] = [];
  for (const group of groups.length > 1 ? groups : []) {
    try {
      written = written.union(await settle(group));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      locked.push(...group.map((each) => ({ ...each, lockedSince: monotonic() })));
    }
  }
  if (written.size === 0) throw failure;
  return { written, locked };
}

/** Results whose rows are locked, until they are tried again one by one (`onRested`), at the latest when the notifier stops. */
export function createRestingResults(
  { clock, log, stopped }: Pick<Deps, 'clock' | 'log'> & { readonly stopped: AbortSignal },
  onRested: (result: AttemptResult) => void,
) {
  let count = 0;
  let over: Promise<unknown> = Promise.resolve();
  return {
    add: (locked: readonly AttemptResult[]): void => {
      if (locked.length === 0) return;
      const since = Math.min(...locked.map(({ lockedSince }) => lockedSince ?? monotonic()));
      const rest = Math.min(Math.max(monotonic() - since, FIRST_REST), LONGEST_REST);
      log.warn({ deliveries: locked.length, retryInMs: Math.round(rest), advice: ADVICE }, 'delivery.row_locked');
      count += locked.length;
      const rested = clock.sleep(rest, stopped).then(() => {
        count -= locked.length;
        locked.forEach(onRested);
      });
      over = Promise.all([over, rested]);
    },
    /** How many rest. */
    count: () => count,
    /** Resolves when none of the present ones rests any more. */
    over: () => over,
  };
}
