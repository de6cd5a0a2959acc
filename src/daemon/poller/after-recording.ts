/** Applies a batch of polls that was written, or could not be: updates the window and the shards, wakes the judge and the notifier. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Recorded } from '../../postgres/polling/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Writes } from '../../runtime/loops/health.ts';
import type { Meters } from '../../runtime/meters.ts';
import type { Loader } from './loader.ts';
import { logOutcome } from './outcome-log.ts';
import type { Job } from './recorder.ts';
import type { Window } from './window.ts';

export interface AfterRecordingOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly meters: Meters;
  readonly ownership: Ownership;
  readonly loader: Loader;
  readonly windows: ReadonlyMap<string, Window>;
  readonly writes: Writes;
  /** Called when events were committed. */
  onEvents(): void;
  /** Called when something happened that the judge weighs. */
  onSymptom(): void;
  /** Wakes the poller's loop. */
  wake(): void;
  /** Starts more calls if there is room. */
  pump(): void;
}

export interface AfterRecording {
  onRecorded(batch: readonly Job[], recorded: Recorded): void;
  /** The row of a refused poll was repaired. */
  onRepaired(batch: readonly Job[]): void;
  /** `poison` marks a single poll whose values the database refuses. */
  onFailed(batch: readonly Job[], error: unknown, poison: boolean): void;
  /** How long no purchase is polled because the database could not be written. */
  pause(): Milliseconds;
}

/** Pauses after failed writes; they grow, because polls that cannot be recorded must not be repeated at full speed. */
const FIRST_PAUSE: Milliseconds = 1_000;
const LONGEST_PAUSE: Milliseconds = 15_000;
/** A purchase whose poll cannot be recorded or decided is not polled again for so long. */
export const POISON_REST: Milliseconds = 60_000;
/** Events that wake the judge. */
const SYMPTOMS: ReadonlySet<string> = new Set(['purchase.stuck', 'purchase.recovered', 'purchase.expired']);

export function createAfterRecording(options: AfterRecordingOptions): AfterRecording {
  const { clock, log, meters, ownership, loader, windows, writes, onEvents, onSymptom, wake, pump } = options;
  /** Failed writes in a row, and until when no purchase is polled because of them. */
  let writeFailures = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  ownership.onChange(({ lost }) => {
    if (lost.length > 0) writes.forget();
  });

  const onRecorded = (batch: readonly Job[], recorded: Recorded): void => {
    if (recorded.ids.size > 0) {
      writeFailures = 0;
      writes.done(kindOf(batch));
    }
    const lost = new Set(recorded.lostShards);
    let told = false;
    let symptom = false;
    let reads = false;
    for (const { entry, stays, decided } of batch) {
      const { outcome, slot } = decided;
      const { purchase, nextPollAt, events, transition } = outcome;
      const accepted = recorded.ids.has(purchase.id);
      const next = accepted && stays && nextPollAt !== null && slot !== null ? { purchase, dueAt: nextPollAt, slot } : null;
      const window = windows.get(purchase.site)!;
      if (next === null) loader.left(purchase.id);
      // The cursor passed this place while the row was written: the row is loaded by id, or the cursor returns where others come first.
      const isPassed = accepted && next === null && slot !== null && window.hasPassed(purchase.shard, slot, purchase.id);
      // Refused although this replica holds the shard: the row is newer than memory, which the row replaces.
      const isStale = !accepted && !entry.gone && !lost.has(purchase.shard);
      if (isPassed && window.pressed()) window.rewind(purchase.shard, slot, purchase.id);
      else if (isPassed || isStale) {
        loader.readAgain(purchase.id, 0);
        reads = true;
      }
      logOutcome(log, entry.purchase, outcome, accepted);
      window.settle(entry, next);
      ownership.end(purchase.shard, entry.epoch);
      if (!accepted) continue;
      if (transition !== null) meters.site(purchase.site).changes += 1;
      for (const { type } of events) meters.told(type);
      told ||= events.length > 0;
      symptom ||= events.some(({ type }) => SYMPTOMS.has(type));
    }
    for (const shard of lost) ownership.lost(shard);
    if (told) onEvents();
    if (symptom) onSymptom();
    if (reads || [...windows.values()].some((window) => window.hasRoomAgain())) wake();
    pump();
  };

  /** Drops purchases from memory and reads their rows again after a pause. */
  const readRowsAgain = (batch: readonly Job[], rest: Milliseconds): void => {
    for (const { entry } of batch) {
      const { id, shard, site } = entry.purchase;
      windows.get(site)?.settle(entry, null);
      loader.readAgain(id, rest);
      ownership.end(shard, entry.epoch);
    }
  };

  const onRepaired = (batch: readonly Job[]): void => {
    readRowsAgain(batch, 0);
    wake();
    pump();
  };

  const onFailed = (batch: readonly Job[], error: unknown, poison: boolean): void => {
    // Whether a broken connection's statement was carried out is not known, and a refused poll may rest on old values: the rows decide.
    readRowsAgain(batch, poison ? POISON_REST : 0);
    if (poison) {
      for (const { entry } of batch) {
        const { site, purchaseId } = entry.purchase;
        log.error({ error, site, purchaseId }, 'poll.unrecordable');
      }
    } else {
      writeFailures += 1;
      writes.failed(kindOf(batch), error);
      pausedUntil = clock.monotonic() + Math.min(FIRST_PAUSE * 2 ** (writeFailures - 1), LONGEST_PAUSE);
      log.error({ error, polls: batch.length }, 'poll.not_recorded');
      wake();
    }
    pump();
  };

  return { onRecorded, onRepaired, onFailed, pause: () => Math.max(pausedUntil - clock.monotonic(), 0) };
}

/** Changes and polls without a change are written apart, so one can fail while the other succeeds. */
function kindOf([job]: readonly Job[]): string {
  return job?.decided.outcome.kind === 'changed' ? 'changes' : 'polls';
}
