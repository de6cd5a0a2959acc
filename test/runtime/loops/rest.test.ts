import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRest, type Rest } from '../../../src/runtime/loops/rest.ts';

let rest: Rest;
/** When each rest of the loop ended, in milliseconds since the test began. */
let ended: number[];
beforeEach(() => {
  vi.useFakeTimers();
  ended = [];
  const begun = performance.now();
  rest = createRest({ monotonic: () => performance.now() - begun });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A loop that rests so long in each round. */
async function loop(...waits: readonly number[]): Promise<void> {
  const begun = performance.now();
  for (const wait of waits) {
    await rest.take(wait);
    ended.push(performance.now() - begun);
  }
}

test('ends after the longest wait', async () => {
  void loop(100, 30);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual([100, 130]);
});

test('ends with a wake-up, and the next one begins then', async () => {
  void loop(Number.POSITIVE_INFINITY, 50);
  await vi.advanceTimersByTimeAsync(20);
  expect(ended).toEqual([]);
  rest.wake();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual([20, 70]);
});

test('does not begin after wake-ups during a round, however many came', async () => {
  for (let n = 0; n < 3; n++) rest.wake();
  void loop(100, 100);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual([0, 100]);
});

test('keeps a timer that rings early enough, and sets one that rings earlier', async () => {
  let timers = 0;
  const { setTimeout } = globalThis;
  // No spy of vitest: vitest restores after a file what was there when the spy came, here the faked timers.
  globalThis.setTimeout = Object.assign((...timer: Parameters<typeof setTimeout>) => {
    timers += 1;
    return setTimeout(...timer);
  }, setTimeout);
  void loop(100, 200, 40);
  await vi.advanceTimersByTimeAsync(10);
  rest.wake();
  await vi.advanceTimersByTimeAsync(10);
  expect(timers).toBe(1);
  rest.wake();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(timers).toBe(2);
  expect(ended).toEqual([10, 20, 60]);
  globalThis.setTimeout = setTimeout;
});

test('is at least a millisecond, so that a loop without rest lets others run', async () => {
  void loop(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual([1]);
});

test('rests that are taken at the same time end together', async () => {
  void loop(100);
  void loop(40);
  void loop(Number.POSITIVE_INFINITY);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual([40, 40, 40]);
});
