/** Waiting for what another process writes to the database. */
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic } from '../time.ts';

/** Between two looks, growing: most of what is waited for is there after the first. */
const FIRST_LOOK: Milliseconds = 50;
const LAST_LOOK: Milliseconds = 500;

/** Waits until something is there; false when the time is over, or the signal comes, before that. */
export async function waitUntil(
  isThere: () => Promise<boolean>,
  { within, signal = new AbortController().signal }: { readonly within: Milliseconds; readonly signal?: AbortSignal },
): Promise<boolean> {
  const until = monotonic() + within;
  for (let rest = FIRST_LOOK; !signal.aborted; rest = Math.min(rest * 1.5, LAST_LOOK)) {
    const left = until - monotonic();
    if (left <= 0) return false;
    await delay(Math.min(rest, left), undefined, { signal }).catch(() => undefined);
    if (await isThere()) return true;
  }
  return false;
}
