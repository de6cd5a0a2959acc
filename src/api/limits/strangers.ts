/** A budget of `aSecond` requests a second; those of one second may begin at once. Answers whether one more may begin. `now` is a monotonic clock in milliseconds. */
export function createBudget(aSecond: number, now: () => number = () => performance.now()): () => boolean {
  let left = aSecond;
  let countedAt = now();
  return () => {
    const at = now();
    left = Math.min(left + ((at - countedAt) / 1_000) * aSecond, aSecond);
    countedAt = at;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
