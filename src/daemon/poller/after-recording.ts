/** Applies a batch of polls that was written, or could not be: updates the window and the shards, wakes the judge and the notifier. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { isLockTimeout } from '../../postgres/connection/database.ts';
import type { NewDeliveries } from '../../postgres/deliveries/new-deliveries.ts';
import type { Recorded } from '../../postgres/polling/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Writes } from '../../runtime/loops/health.ts';
import type { Deps } from '../deps.ts';
import type { DecidedPoll } from './locked-rows.ts';
import { createLockedLog, type LockedPoll } from './locked-rows.ts';
import { logOutcome } from './outcome-log.ts';
import { UNRECORDABLE } from './unrecordable.ts';
import { hasRoomAgain, type Windows } from './window/due-reads.ts';
import type { Entry } from './window/entries.ts';
import type { PurchaseLoader } from './window/purchase-loader.ts';
import type { Window } from './window/window.ts';

export interface AfterRecordingOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'meters' | 'ownership' | 'writes'> {
  readonly loader: PurchaseLoader;
  readonly windows: Windows;
  /** Called when events were committed, with the deliveries that this replica sends. */
  onEvents(deliveries: NewDeliveries): void;
  /** Called when something happened that the judge weighs. */
  onSymptom(): void;
  /** Wakes the loop that loads purchases. */
  wakeLoader(): void;
  /** Wakes the loop that starts calls. */
  wakeCalls(): void;
}

/** Pauses after failed writes; they grow, because polls that cannot be recorded must not be repeated at full speed. */
const FIRST_PAUSE: Milliseconds = 1_000;
const LONGEST_PAUSE: Milliseconds = 15_000;
/** A purchase whose poll cannot be recorded or decided is not polled again for so long. */
export const POISON_REST: Milliseconds = 60_000;
/** Events that wake the judge. */
const SYMPTOMS: ReadonlySet<string> = new Set([
  'purchase.stuck',
  'purchase.recovered',
  'purchase.expired',
  'purchase.unreadable',
  'purchase.readable',
]);
/** In the poller's health: changes of several purchases that the database refuses, until a change is recorded. */
const REFUSED = 'refused changes';
/** Three different purchases whose changes are refused, with no recorded change in between: the database is at fault, not a purchase. */
const SEVERAL_REFUSED = 3;
/** In the poller's health: polls whose rows are locked, until any poll is recorded. */
const LOCKED_ROWS = 'locked rows';

export function createAfterRecording(options: AfterRecordingOptions) {
  const { sql, clock, log, meters, ownership, loader, windows, writes, onEvents, onSymptom, wakeLoader, wakeCalls } = options;
  const logLocked = createLockedLog(sql, log);
  const pauses = createPauses(clock);
  const refusals = createRefusals(log, writes);

  ownership.onBack(() => {
    pauses.end();
    wakeLoader();
    wakeCalls();
  });
  ownership.onChange(({ lost }) => {
    if (lost.length > 0) writes.forget();
  });

  /** Applies one poll and adds the types of its events; answers whether its row is to be loaded by id. */
  const apply = (poll: DecidedPoll, isAccepted: boolean, lost: ReadonlySet<number>, types: Set<string>): boolean => {
    const { entry, decided } = poll;
    const { purchase, transition, events } = decided.outcome;
    const { site, shard } = purchase;
    logOutcome(log, entry.purchase, decided.outcome, isAccepted);
    const isReread = settle(poll, { isAccepted, isLost: lost.has(shard) }, windows.get(site)!, loader);
    ownership.end(shard, entry.epoch);
    if (!isAccepted) return isReread;
    if (transition !== null) meters.site(site).changes += 1;
    for (const { type } of events) {
      meters.committed(type);
      types.add(type);
    }
    return isReread;
  };

  const onRecorded = (batch: readonly DecidedPoll[], recorded: Recorded): void => {
    if (recorded.ids.size > 0) {
      pauses.over();
      writes.done(kindOf(batch));
      writes.done(LOCKED_ROWS);
      refusals.recorded(batch);
    }
    // Before `apply`, which marks an entry that leaves the window as gone, too.
    const deliveries = ownDeliveries(batch, recorded.deliveries, ownership);
    const lost = new Set(recorded.lostShards);
    const types = new Set<string>();
    let isAnyReread = false;
    for (const poll of batch) isAnyReread = apply(poll, recorded.ids.has(poll.entry.purchase.id), lost, types) || isAnyReread;
    for (const shard of lost) ownership.lost(shard);
    if (types.size > 0) onEvents(deliveries);
    if (!SYMPTOMS.isDisjointFrom(types)) onSymptom();
    if (isAnyReread || hasRoomAgain(windows)) wakeLoader();
    wakeCalls();
  };

  /** Drops a purchase from memory and reads its row again after a pause. */
  const readRowAgain = (entry: Entry, rest: Milliseconds): void => {
    const { id, shard, site } = entry.purchase;
    windows.get(site)!.settle(entry, null);
    loader.readAgain(id, rest);
    ownership.end(shard, entry.epoch);
  };

  /** The row of a refused poll was repaired. */
  const onRepaired = (batch: readonly DecidedPoll[]): void => {
    for (const { entry } of batch) readRowAgain(entry, 0);
    wakeLoader();
    wakeCalls();
  };

  /** Another session has locked the rows of these polls, and `inAll` rows. */
  const onLocked = (locked: readonly LockedPoll[], inAll: number): void => {
    for (const { entry, rest } of locked) {
      readRowAgain(entry, rest);
      meters.site(entry.purchase.site).locked += 1;
    }
    logLocked(locked);
    // One row that a person has locked is no trouble of the replica. Several, and no poll recorded for long, are.
    if (inAll > 1) writes.failed(LOCKED_ROWS, new Error(`other sessions have locked the rows of ${inAll} purchases (55P03)`));
    wakeCalls();
  };

  /** `poison` marks a single poll of which nothing can be recorded. */
  const onFailed = (batch: readonly DecidedPoll[], error: unknown, poison: boolean): void => {
    // Whether a broken connection's statement was carried out is not known, and a refused poll may rest on old values: the rows decide.
    for (const { entry } of batch) readRowAgain(entry, poison ? POISON_REST : 0);
    if (!poison) {
      writes.failed(kindOf(batch), error);
      pauses.after(error);
      log.error({ error, polls: batch.length }, 'poll.not_recorded');
      wakeLoader();
    }
    wakeCalls();
  };

  return { onRecorded, onRepaired, onLocked, onRefused: refusals.refused, onFailed, pause: pauses.left };
}

/** Logs polls that the database refuses, and reports several purchases in a row as a trouble of this replica. */
function createRefusals(log: Logger, writes: Writes) {
  const ids = new Set<number>();
  return {
    refused: ({ entry }: DecidedPoll, error: unknown): void => {
      const { id, site, purchaseId } = entry.purchase;
      log.error({ error, site, purchaseId }, 'poll.unrecordable');
      ids.add(id);
      if (ids.size >= SEVERAL_REFUSED) writes.failed(REFUSED, error);
    },
    recorded: (batch: readonly DecidedPoll[]): void => {
      if (batch.every(({ decided: { outcome } }) => outcome.kind !== 'changed' || outcome.reason === UNRECORDABLE)) return;
      ids.clear();
      writes.done(REFUSED);
    },
  };
}

/** For how long no purchase is polled because outcomes cannot be written. */
function createPauses({ monotonic }: Pick<Clock, 'monotonic'>) {
  /** Failed writes in a row. */
  let failures = 0;
  let until = Number.NEGATIVE_INFINITY;
  return {
    over: (): void => {
      failures = 0;
    },
    after: (error: unknown): void => {
      const now = monotonic();
      // Batches that fail together are one failure. A lock that another session holds for seconds is none that longer pauses help with.
      if (now >= until) failures = isLockTimeout(error) ? 1 : failures + 1;
      until = now + Math.min(FIRST_PAUSE * 2 ** Math.max(failures - 1, 0), LONGEST_PAUSE);
    },
    /** Ends the present pause; the next one is longer all the same. */
    end: (): void => {
      until = Number.NEGATIVE_INFINITY;
    },
    left: (): Milliseconds => Math.max(until - monotonic(), 0),
  };
}

/**
 * The deliveries in shards that this replica has held since their polls began: another replica may have sent the others. None of a
 * purchase that left memory meanwhile, because it was erased or its shard was lost.
 */
function ownDeliveries(
  batch: readonly DecidedPoll[],
  { rows, isComplete }: NewDeliveries,
  { epochOf, owned }: Pick<Ownership, 'epochOf' | 'owned'>,
): NewDeliveries {
  if (rows.length === 0) return { rows, isComplete };
  const epochs = new Map(batch.filter(({ entry }) => !entry.gone).map(({ entry }) => [entry.purchase.id, entry.epoch]));
  // A shard that this replica gives away is held still, and no attempt begins in it.
  const shards = new Set(owned());
  const own = rows.filter(({ lane, shard }) => shards.has(shard) && epochOf(shard) === epochs.get(lane));
  return { rows: own, isComplete: isComplete && own.length === rows.length };
}

/** Changes and polls without a change are written apart, so one can fail while the other succeeds. */
function kindOf([poll]: readonly DecidedPoll[]): string {
  return poll?.decided.outcome.kind === 'changed' ? 'changes' : 'polls';
}

/**
 * Brings the window in line with a purchase's row: `isAccepted` says whether the row was written, `isLost` whether another
 * replica holds its shard. Answers whether the row is to be loaded by id.
 */
function settle(
  { entry, stays, decided: { slot, outcome } }: DecidedPoll,
  { isAccepted, isLost }: { readonly isAccepted: boolean; readonly isLost: boolean },
  window: Window,
  loader: PurchaseLoader,
): boolean {
  const { purchase, nextPollAt } = outcome;
  const { id, shard } = purchase;
  const next = isAccepted && stays && nextPollAt !== null && slot !== null ? { purchase, dueAt: nextPollAt, slot } : null;
  if (next === null) loader.left(id);
  // The cursor passed this place while the row was written: the row is loaded by id, or the cursor returns where others come first.
  const isPassed = isAccepted && next === null && slot !== null && window.hasPassed(shard, slot, id);
  const isRewound = isPassed && window.pressed();
  if (isRewound) window.rewind(shard, slot, id);
  // Refused although this replica holds the shard: the row is newer than memory, which the row replaces.
  const isStale = !isAccepted && !entry.gone && !isLost;
  const isReread = isStale || (isPassed && !isRewound);
  if (isReread) loader.readAgain(id, 0);
  window.settle(entry, next);
  return isReread;
}
