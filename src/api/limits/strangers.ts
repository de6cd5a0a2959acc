/**
 * A budget of `aSecond` requests a second, of which `atOnce` (unless given, those of one second) may begin together after a rest. Answers
 * whether one more may begin. `now` is a monotonic clock in milliseconds.
 */
import { monotonic } from '../../runtime/time.ts';
export function createBudget(
  aSecond: number,
  { atOnce = aSecond, now = monotonic }: { readonly atOnce?: number; readonly now?: () => number } = {},
): () => boolean {
  let left = atOnce;
  let countedAt = now();
  return () => {
    const at = now();
    left = Math.min(left + ((at - countedAt) / 1_000) * aSecond, atOnce);
    countedAt = at;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
