/** Waiting for a database that a start does not reach, as long as that may pass by itself. */
import { AppError } from '../domain/values/errors.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { unlessAborted } from '../runtime/process/shutdown.ts';
import { delay, monotonic } from '../runtime/time.ts';
import { describeConnectionError, mayPass } from './address/database-url.ts';
import { connect } from './connection/database.ts';

const FIRST_REST: Milliseconds = 250;
const LONGEST_REST: Milliseconds = 5_000;
/** The same trouble is said again after so long. */
const SAY_EVERY: Milliseconds = 60_000;

/**
 * Resolves when the database answers a query; until then it is tried again after growing rests. `onWait` gets a sentence for
 * people at first, with each other trouble, and now and then. Rejects with AppError `unavailable` for what a person must mend,
 * and as soon as the signal is aborted.
 */
export async function reachDatabase(url: string, onWait: (why: string) => void, signal?: AbortSignal): Promise<void> {
  let said = { why: '', at: 0 };
  for (let rest = FIRST_REST; ; rest = Math.min(2 * rest, LONGEST_REST)) {
    const sql = connect(url, { max: 1, name: 'start', bare: true });
    try {
      await unlessAborted(sql`select 1`, signal);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const why = describeConnectionError(url, error);
      if (!mayPass(error)) throw new AppError('unavailable', why, { cause: error });
      const now = monotonic();
      if (why !== said.why || now - said.at >= SAY_EVERY) {
        said = { why, at: now };
        onWait(why);
      }
    } finally {
      await sql.end({ timeout: 0 });
    }
    await delay(rest, undefined, { signal });
  }
}
