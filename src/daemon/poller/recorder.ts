/**
 * Writes decided polls in batches. Polls without a change wait a little to share a batch; a change is written at once. First
 * sights have batches of their own, so that a bulk load of purchases does not delay changes of others. A batch that cannot
 * be written is given back: its purchases are read again from their rows and polled again. Of a batch that waited too long for
 * a lock, only the polls are given back whose rows are locked.
 */

import type { Milliseconds } from '../../domain/values/time.ts';
import { isAboutData, isLockTimeout } from '../../postgres/connection/database.ts';
import { NO_DELIVERIES } from '../../postgres/deliveries/new-deliveries.ts';
import type { Writer } from '../../postgres/deliveries/settle.ts';
import { recordChanged, recordUnchanged } from '../../postgres/polling/record.ts';
import { createBatcher } from '../../runtime/loops/batch.ts';
import type { Meters } from '../../runtime/meters.ts';
import { monotonic } from '../../runtime/time.ts';
import type { Traces } from '../../runtime/traces/traces.ts';
import type { Deps } from '../deps.ts';
import type { createAfterRecording } from './after-recording.ts';
import { createLockedRows, type DecidedPoll } from './locked-rows.ts';
import type { createRepair } from './repair.ts';
import type { createInsteadOf } from './unrecordable.ts';
import type { Entry } from './window/entries.ts';

interface RecorderOptions extends Pick<Deps, 'sql' | 'replica'>, Omit<ReturnType<typeof createAfterRecording>, 'pause'> {
  readonly meter?: Meters['recording'];
  readonly traces?: Traces | null;
  readonly repair: ReturnType<typeof createRepair>;
  readonly insteadOf: ReturnType<typeof createInsteadOf>;
}

export type Recorder = ReturnType<typeof createRecorder>;

const MOST = 1_000;
/** How long a poll without a change waits for others: at leisure longer, because a statement costs as much as many of its rows. */
const LINGER = 50;
const LINGER_AT_LEISURE = 250;
/**
 * A change is written at once, with those that follow within a moment. In a stream of changes one statement at fixed intervals
 * writes many, which costs less for each; at full speed, where Postgres has the least to spare, the intervals are longer.
 */
const SPACING = 10;
const SPACING_AT_FULL_SPEED = 25;
const BURST = 15;
/** Polls without a change a millisecond, from which on the daemon is at full speed. */
const FULL_SPEED = 2;
/** How often a batch is written that waited too long for locks: a row may be locked between the question and the statement. */
const MOST_TRIES = 3;

type Write = typeof recordUnchanged | typeof recordChanged;

export function createRecorder(options: RecorderOptions) {
  const { sql, replica, meter, traces, onRecorded, repair, insteadOf, onRepaired, onLocked, onRefused, onFailed } = options;
  const lockedRows = createLockedRows(sql);
  const pace = createPace();

  /** The polls whose rows are not known to be locked; none when the database cannot be asked. */
  const freeOf = async (polls: readonly DecidedPoll[]): Promise<readonly DecidedPoll[]> => {
    try {
      const { free, locked } = await lockedRows.divide(polls);
      if (locked.length > 0) onLocked(locked, lockedRows.count());
      return free;
    } catch (error) {
      onFailed(polls, error, false);
      return [];
    }
  };
  const flush = async (given: readonly DecidedPoll[], write: Write, tries = 1): Promise<void> => {
    const ids = new Set(given.map(({ entry }) => entry.purchase.id));
    if (ids.size < given.length) {
      // The database went back and handed an id out again, while the purchase that it lost is in memory: each has a statement.
      const again = new Set(given.filter(({ entry }) => !ids.delete(entry.purchase.id)));
      await flush([...new Set(given).difference(again)], write);
      return flush([...again], write);
    }
    const polls = await freeOf(given);
    const live = polls.filter((poll) => !poll.entry.gone);
    if (live.length === 0) {
      if (polls.length > 0) onRecorded(polls, { ids: new Set(), lostShards: [], events: 0, deliveries: NO_DELIVERIES });
      return;
    }
    const begun = monotonic();
    try {
      const recorded = await write(
        sql,
        live.map((poll) => poll.decided),
        context(replica, live),
      );
      meter?.took.add((monotonic() - begun) / 1_000);
      meter?.polls.add(live.length);
      traces?.recorded(live.map(entryOf), begun, recorded);
      onRecorded(polls, recorded);
    } catch (error) {
      if (isAboutData(error)) return refused(polls, write, error);
      lockedRows.suspect(polls);
      if (isLockTimeout(error) && tries < MOST_TRIES) return flush(polls, write, tries + 1);
      traces?.recorded(live.map(entryOf), begun, null);
      return onFailed(polls, error, false);
    }
  };
  /** A refused batch is written in halves, so that one refused row does not keep the others from being written. */
  const refused = async (polls: readonly DecidedPoll[], write: Write, error: unknown): Promise<void> => {
    const live = polls.filter((poll) => !poll.entry.gone);
    if (live.length === 1) {
      traces?.recorded(live.map(entryOf), monotonic(), null);
      if (await repair(live[0]!)) return onRepaired(polls);
      onRefused(live[0]!, error);
      return recordInstead(insteadOf(live[0]!, error), error);
    }
    const middle = polls.length >> 1;
    await flush(polls.slice(0, middle), write);
    await flush(polls.slice(middle), write);
  };
  const recordInstead = async ([poll, ...others]: readonly DecidedPoll[], error: unknown): Promise<void> => {
    const write = poll!.decided.outcome.kind === 'changed' ? recordChanged : recordUnchanged;
    try {
      onRecorded([poll!], await write(sql, [poll!.decided], context(replica, [poll!])));
    } catch (cause) {
      if (!isAboutData(cause)) return onFailed([poll!], cause, false);
      return others.length > 0 ? recordInstead(others, error) : onFailed([poll!], error, true);
    }
  };
  const linger = (): Milliseconds => (pace.isFull() ? LINGER : LINGER_AT_LEISURE);
  const spacing = (): Milliseconds => (pace.isFull() ? SPACING_AT_FULL_SPEED : SPACING);
  const writeUnchanged = (batch: DecidedPoll[]): Promise<void> => {
    pace.wrote(batch.length);
    return flush(batch, recordUnchanged);
  };
  const unchanged = createBatcher<DecidedPoll>(writeUnchanged, { most: MOST, linger, parallel: 1 });
  const atOnce = { most: MOST, spacing, burst: BURST };
  const writeChanged = (batch: DecidedPoll[]): Promise<void> => flush(batch, recordChanged);
  // The second statement begins while the first one waits for the disk.
  const changed = createBatcher<DecidedPoll>(writeChanged, { ...atOnce, parallel: 2 });
  const firstSights = createBatcher<DecidedPoll>(writeChanged, { ...atOnce, parallel: 1 });
  const batchers = [unchanged, changed, firstSights];
  return {
    add: (poll: DecidedPoll): void => {
      const { kind, reason } = poll.decided.outcome;
      // A purchase is not polled again before its poll is recorded, so its changes keep their order across the batches.
      (kind !== 'changed' ? unchanged : reason === 'first' ? firstSights : changed).add(poll);
    },
    pending: (): number => batchers.reduce((sum, batcher) => sum + batcher.pending(), 0),
    drain: async (): Promise<void> => {
      await Promise.all(batchers.map((batcher) => batcher.drain()));
    },
  };
}

/** Whether polls without a change come at full speed, by the batch that was written last. */
function createPace() {
  let last = Number.NEGATIVE_INFINITY;
  let polls = 0;
  return {
    wrote: (count: number): void => {
      const now = monotonic();
      polls = count / (now - last);
      last = now;
    },
    isFull: (): boolean => polls >= FULL_SPEED,
  };
}

const entryOf = ({ entry }: DecidedPoll): Entry => entry;

/** The shards a batch relies on, with the epochs under which its polls began. */
function context(replica: string, polls: readonly DecidedPoll[]): Writer {
  const epochs = new Map(polls.map(({ entry }) => [entry.purchase.shard, entry.epoch]));
  return { replica, holdings: [...epochs].map(([shard, epoch]) => ({ shard, epoch })) };
}
