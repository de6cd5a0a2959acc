/**
 * Runs a migration's transaction without making others wait: a statement that changes a table waits for every open transaction
 * that has read the table, and every later statement waits behind the first. So the first may wait for a moment only; then
 * the transaction is rolled back, and tried again after a rest in which others go on.
 */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic, startInterval } from '../../runtime/time.ts';
import { isLockTimeout, type Queries, type Sql } from '../connection/database.ts';
import { blockerOf, endText, type LockHolder, sessionText } from '../connection/lock-holder.ts';

export interface Trying {
  /** Is called with a sentence for people that names the session in the way. */
  onStep(step: string): void;
  /** Ends the running statement on the server, and the tries. */
  readonly signal?: AbortSignal | undefined;
  /** For how long it is tried; an hour unless given. */
  readonly patience?: Milliseconds | undefined;
}

/** How long one statement waits for a lock; what comes after it in the queue waits as long. */
export const LOCK_WITHIN: Milliseconds = 200;
const FIRST_REST: Milliseconds = 500;
const LONGEST_REST: Milliseconds = 15_000;
const PATIENCE: Milliseconds = 3_600_000;
/** Several looks while a statement waits for a lock. */
const LOOK_EVERY: Milliseconds = LOCK_WITHIN / 4;
/** Looks at a session that may wait for hours; each look holds up the server's locks for a moment. */
const LOOK_SELDOM: Milliseconds = 1_000;
/** After a signal the process ends, whether the server has answered or not. */
const END_WITHIN: Milliseconds = 3_000;

/**
 * Runs the work in a transaction, again and again while another session holds a lock that the work needs. Rejects with AppError
 * `conflict` that names this session once patience is over, and with `unavailable` after a signal. `sql` needs a second
 * connection, by which the sessions in the way are found and the running statement is cancelled.
 */
export async function migrateBehindReaders<T>(
  sql: Sql,
  trying: Trying,
  work: (tx: Queries, watch: Watch) => Promise<T>,
): Promise<T> {
  const { onStep, signal, patience = PATIENCE } = trying;
  const began = monotonic();
  for (let rest = FIRST_REST; ; rest = Math.min(2 * rest, LONGEST_REST)) {
    const watch = watchSession(sql, trying);
    try {
      const done = sql.begin(async (tx) => {
        const [session] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
        watch.pid = session.pid;
        return work(tx, watch);
      }) as Promise<T>;
      return await Promise.race([done, watch.ended]);
    } catch (error) {
      if (signal?.aborted) throw brokenOff(signal);
      if (!isLockTimeout(error) && !isLockTimeout((error as Error).cause)) throw error;
      const words = wordsOf(watch.blocker);
      if (monotonic() - began > patience)
        throw new AppError('conflict', `the schema was not migrated: ${words}`, { cause: error });
      onStep(`${words}; the migration is tried again in ${rest / 1_000} s, and holds up nothing until then`);
    } finally {
      watch.end();
    }
    await delay(rest, null, { signal }).catch(() => null);
    if (signal?.aborted) throw brokenOff(signal);
  }
}

/** Limits the waits for locks of a transaction, and nothing else: an index over a large table may take hours. */
export async function limitLockWaits(tx: Queries): Promise<void> {
  // A role or a pool may limit statements to seconds. While an index is built beside writers, the transaction is idle.
  await tx`
    select set_config('statement_timeout', '0', true), set_config('lock_timeout', ${`${LOCK_WITHIN}`}, true),
      set_config('idle_in_transaction_session_timeout', '0', true)`;
}

export type Watch = ReturnType<typeof watchSession>;

/** Looks every moment who is in the way of a session, and cancels its statement after the signal. */
function watchSession(sql: Sql, { signal, onStep }: Trying) {
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  let isAsking = false;
  let abortedAt: Milliseconds | null = null;
  let lookedAt = 0;
  const look = async (): Promise<void> => {
    if (signal?.aborted) abortedAt ??= monotonic();
    if (abortedAt !== null && monotonic() - abortedAt > END_WITHIN) ended.reject(signal?.reason);
    const isTooSoon = watch.isPatient && abortedAt === null && monotonic() - lookedAt < LOOK_SELDOM;
    if (isAsking || isTooSoon || watch.pid === null) return;
    isAsking = true;
    lookedAt = monotonic();
    try {
      // Again and again: a session that is between two statements is not cancelled.
      if (signal?.aborted) await sql`select pg_cancel_backend(${watch.pid})`;
      else {
        const blocker = await blockerOf(sql, watch.pid);
        if (watch.isPatient && blocker !== null && blocker.pid !== watch.blocker?.pid)
          onStep(`waiting, and holding up nothing: ${wordsOf(blocker)}`);
        watch.blocker = blocker ?? watch.blocker;
      }
    } catch {
      // The migration's own connection says what is wrong with the database.
    } finally {
      isAsking = false;
    }
  };
  const timer = startInterval(look, LOOK_EVERY);
  const onAbort = (): void => void look();
  signal?.addEventListener('abort', onAbort, { once: true });
  const watch = {
    /** The process of the session that is watched. */
    pid: null as number | null,
    /** Whether the session may wait for as long as it takes: then `onStep` names each session in its way. */
    isPatient: false,
    /** The session that was last seen in its way. */
    blocker: null as LockHolder | null,
    /** Rejects some time after the signal, if the session has not ended by then. */
    ended: ended.promise,
    end: (): void => {
      clearInterval(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
  return watch;
}

function wordsOf(blocker: LockHolder | null): string {
  if (blocker === null) return 'another session holds a lock on a table that the migration changes';
  return `${sessionText(blocker)} holds a lock on a table that the migration changes: ${endText(blocker)}`;
}

function brokenOff(signal: AbortSignal): AppError {
  const by = typeof signal.reason === 'string' ? ` by ${signal.reason}` : '';
  return new AppError(
    'unavailable',
    `the migration was broken off${by}; it can be run again, and goes on with the file that was under way`,
  );
}
