/** Upkeep: folds the counters, and deletes what is older than the settings say. One replica at a time does it. */

import { KEPT_WHILE_OFF } from '../../domain/deliveries/channel-pace.ts';
import { USUAL_DAYS } from '../../domain/flow/flow.ts';
import { RETIRED_AFTER } from '../../domain/replicas/named.ts';
import { timeBefore } from '../../domain/values/clock-steps.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import { LEASES } from '../../postgres/migrations/names.ts';
import { dropEmptyCounts } from '../../postgres/reports/counts.ts';
import { takeLease } from '../../postgres/shards/leases.ts';
import { retireUnnamed } from '../../postgres/shards/named.ts';
import { suppressForDeleted, suppressForOff } from '../../postgres/subscribers/changes.ts';
import { foldAppended } from '../../postgres/upkeep/folding.ts';
import { moveTimesBack } from '../../postgres/upkeep/move-times-back.ts';
import {
  doneAt,
  markDone,
  removeActivity,
  removeAnswers,
  removeDeliveryActivity,
  removeRenewals,
  removeSnapshots,
  removeTransitionCounts,
} from '../../postgres/upkeep/retention.ts';
import { createSchedule } from '../../runtime/loops/schedule.ts';
import type { Deps } from '../deps.ts';
import { countAftermath } from './aftermaths.ts';
import { createRenaming } from './renaming.ts';
import type { Resealing } from './resealing.ts';
import type { Snapshots } from './snapshots.ts';
import { createSweep, type Sweep } from './sweep.ts';

interface UpkeepOptions extends Pick<Deps, 'sql' | 'clock' | 'skipped' | 'log' | 'replica'> {
  /** Absent: nothing is sealed again. */
  readonly resealing?: Resealing;
  /** Absent: nothing is noted for pages about the past. */
  readonly snapshots?: Snapshots;
  /** How long what is kept, infinity: for ever; and a cron expression. */
  readonly retention: Readonly<Record<'settled' | 'attempts' | 'events' | 'trends', Milliseconds>> & { readonly at: string };
}

export type Upkeep = ReturnType<typeof createUpkeep>;

const LEASE = LEASES.upkeep;
const REST: Milliseconds = 5_000;
/** How often the changes of the counters are added up, and how soon again while there are more than one statement takes. */
const FOLD_EVERY: Milliseconds = 10_000;
/** A site or subscriber that no daemon names is retired after ten minutes, so a minute more matters little. */
const RETIRE_EVERY: Milliseconds = 60_000;
/** While counters or names are left to write: short, so that other loops get the database in between. */
const WHILE_MORE: Milliseconds = 50;
/** Old counts and old answers go every hour, whatever the settings say. */
const SMALL_TABLES_EVERY: Milliseconds = 3_600_000;
const SMALL_TABLES_KEPT: Milliseconds = 86_400_000;
/** The days that say what is usual (domain/flow/flow.ts), and the day on which they are read. */
const COUNTS_KEPT: Milliseconds = (USUAL_DAYS + 1) * DAY;
/** By its count of renewals a replica knows that the database went back; one that was suspended for so long would be mistaken. */
const RENEWALS_KEPT: Milliseconds = 30 * DAY;
const ROWS_AT_ONCE = 5_000;
/** Pause between two batches, so that polls and deliveries come first: as long as the batch took, within these bounds. */
const SHORTEST_PAUSE: Milliseconds = 50;
const LONGEST_PAUSE: Milliseconds = 1_000;

export function createUpkeep({ sql, clock, skipped, log, replica, retention, resealing, snapshots }: UpkeepOptions) {
  const schedule = createSchedule(retention.at);
  let heldEpoch: number | null = null;
  let sweep: Sweep | null = null;
  /** Up to when the last sweep was done; read again whenever the lease is. */
  let done: Instant | null = null;
  let foldAt: Milliseconds = Number.NEGATIVE_INFINITY;
  let smallTablesAt: Milliseconds = Number.NEGATIVE_INFINITY;

  /** With a new lease, another replica may have done or begun what memory knows nothing of. */
  const adopt = async (epoch: number): Promise<void> => {
    if (epoch === heldEpoch) return;
    sweep = null;
    done = await doneAt(sql, LEASE);
    heldEpoch = epoch;
  };

  const ago = (length: Milliseconds): Instant => timeBefore(clock.now(), length, skipped());

  const followClock = createClockFollowing({ sql, clock, log });
  const renaming = createRenaming(sql, log);
  let retireAt = Number.NEGATIVE_INFINITY;
  const retire = async (): Promise<void> => {
    retireAt = clock.monotonic() + RETIRE_EVERY;
    for (const { kind, name } of await retireUnnamed(sql, ago(RETIRED_AFTER))) {
      const detail = `No daemon has named this ${kind} for ten minutes; it is not configured any more.`;
      if (kind === 'site') log.warn({ site: name, detail }, 'site.retired');
      else log.warn({ subscriber: name, detail }, 'subscriber.retired');
    }
  };

  const sweepSmallTables = async (): Promise<void> => {
    if (clock.monotonic() < smallTablesAt) return;
    const before = ago(SMALL_TABLES_KEPT);
    const counts = { before: ago(COUNTS_KEPT), limit: ROWS_AT_ONCE };
    while ((await removeActivity(sql, counts)) >= ROWS_AT_ONCE);
    while ((await removeDeliveryActivity(sql, counts)) >= ROWS_AT_ONCE);
    while ((await removeTransitionCounts(sql, counts)) >= ROWS_AT_ONCE);
    while ((await removeSnapshots(sql, counts)) >= ROWS_AT_ONCE);
    while ((await removeAnswers(sql, { before, limit: ROWS_AT_ONCE })) >= ROWS_AT_ONCE);
    while ((await removeRenewals(sql, { before: ago(RENEWALS_KEPT), limit: ROWS_AT_ONCE })) >= ROWS_AT_ONCE);
    await dropEmptyCounts(sql);
    // An event that was being written while its subscriber was deleted.
    await suppressForDeleted(sql);
    await suppressForOff(sql, ago(KEPT_WHILE_OFF));
    smallTablesAt = clock.monotonic() + SMALL_TABLES_EVERY;
  };

  /** Goes on with the sweep, or begins one that is due; answers how long to rest. */
  const sweepByRetention = async (epoch: number): Promise<Milliseconds> => {
    const now = clock.now();
    if (sweep === null) {
      const due = schedule.latest(now);
      if (due === null || (done !== null && due <= done)) return REST;
      const { settled, attempts, events, trends } = retention;
      const cutoffs = { settled: ago(settled), attempts: ago(attempts), events: ago(events), trends: ago(trends) };
      sweep = createSweep(sql, cutoffs, now);
    }
    const began = clock.monotonic();
    if (await sweep.step()) return Math.min(Math.max(clock.monotonic() - began, SHORTEST_PAUSE), LONGEST_PAUSE);
    const { startedAt, removed } = sweep;
    await markDone(sql, { name: LEASE, replica, epoch }, startedAt);
    done = startedAt;
    sweep = null;
    log.info({ ...removed, tookMs: clock.now() - startedAt }, 'retention.done');
    return REST;
  };

  return {
    /** Does a little; answers how long to rest. */
    tick: async (): Promise<Milliseconds> => {
      const epoch = await takeLease(sql, { name: LEASE, replica });
      if (epoch === null) {
        heldEpoch = null;
        return REST;
      }
      // The time of the last sweep says nothing once the clock was set back.
      if (await followClock()) heldEpoch = null;
      await adopt(epoch);
      if (clock.monotonic() >= foldAt) {
        if (await foldAppended(sql)) return WHILE_MORE;
        if (await renaming()) return WHILE_MORE;
        if (await countAftermath(sql, clock.now())) return WHILE_MORE;
        if (clock.monotonic() >= retireAt) await retire();
        foldAt = clock.monotonic() + FOLD_EVERY;
      }
      await snapshots?.();
      await sweepSmallTables();
      return (await resealing?.step()) ?? sweepByRetention(epoch);
    },
  };
}

const LOCKED =
  'other sessions have locked these rows, so their times are still ahead; they are moved once the rows are free: end long transactions (pg_stat_activity, xact_start)';

/** A function that brings the tables in line after the database's clock was set back; answers whether anything was moved. */
function createClockFollowing({ sql, clock, log }: Pick<Deps, 'sql' | 'clock' | 'log'>) {
  let before: Milliseconds = 0;
  let isLockedLogged = false;
  return async (): Promise<boolean> => {
    const step = await moveTimesBack(sql, { now: clock.now(), before });
    before = step?.by ?? 0;
    if (step === null) return false;
    const { by, purchases, deliveries, others } = step;
    const isMoved = purchases.moved + deliveries.moved + others.moved > 0;
    if (isMoved) {
      const moved = { purchases: purchases.moved, deliveries: deliveries.moved };
      log.info({ byMs: -Math.round(by), ...moved }, 'clock.step_followed');
    }
    const locked = { purchases: purchases.locked, deliveries: deliveries.locked, others: others.locked };
    const isLocked = purchases.locked + deliveries.locked + others.locked > 0;
    if (isLocked && !isLockedLogged) log.warn({ ...locked, advice: LOCKED }, 'clock.rows_locked');
    isLockedLogged = isLocked;
    return isMoved;
  };
}
