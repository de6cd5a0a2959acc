import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAlarm } from '../../../src/runtime/loops/alarm.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An alarm on the faked clock, with the moments at which it rang. */
function rung(onRing: (alarm: ReturnType<typeof createAlarm>) => void = () => undefined) {
  const begun = performance.now();
  const at: number[] = [];
  const alarm = createAlarm({ monotonic: () => performance.now() }, () => {
    at.push(performance.now() - begun);
    onRing(alarm);
  });
  return { alarm, at };
}

test('rings once, at the earliest of the moments asked for', () => {
  const { alarm, at } = rung();
  alarm.within(100);
  alarm.within(30);
  alarm.within(200);
  vi.advanceTimersByTime(1_000);
  expect(at).toEqual([30]);
});

test('measures each moment from when it is asked for', () => {
  const { alarm, at } = rung();
  alarm.within(100);
  vi.advanceTimersByTime(50);
  alarm.within(60);
  vi.advanceTimersByTime(1_000);
  expect(at).toEqual([100]);
});

test('keeps its timer as long as that rings early enough', () => {
  const { alarm } = rung();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  for (let n = 0; n < 5; n++) alarm.within(100 + n);
  expect(timers).toHaveBeenCalledTimes(1);
  timers.mockRestore();
});

test('can be set again by what it rings for', () => {
  const { alarm, at } = rung((each) => {
    if (at.length < 3) each.within(10);
  });
  alarm.within(10);
  vi.advanceTimersByTime(1_000);
  expect(at).toEqual([10, 20, 30]);
});

test('does not ring once it is cancelled, and rings again when it is set again', () => {
  const { alarm, at } = rung();
  alarm.cancel();
  alarm.within(10);
  alarm.cancel();
  vi.advanceTimersByTime(100);
  expect(at).toEqual([]);
  alarm.within(10);
  vi.advanceTimersByTime(100);
  expect(at).toEqual([110]);
});
