import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWakeUps } from '../../../src/runtime/loops/wake-ups.ts';

let woken: string[];
const start = () => createWakeUps((hint, loop) => woken.push(`${hint} ${loop}`));
beforeEach(() => {
  vi.useFakeTimers();
  woken = [];
});
afterEach(() => {
  vi.useRealTimers();
});

test('the first hint passes at once, and those that follow pass together', () => {
  const { take } = start();
  take('purchases');
  expect(woken).toEqual(['purchases poller']);
  for (let count = 0; count < 10_000; count++) take('purchases');
  take('judge');
  expect(woken).toEqual(['purchases poller', 'judge judge']);
  vi.advanceTimersByTime(1_000);
  expect(woken).toEqual(['purchases poller', 'judge judge', 'purchases poller']);
  take('purchases');
  expect(woken).toHaveLength(4);
});

test('however many come, a loop looks a few times a second', () => {
  const { take } = start();
  for (let ms = 0; ms < 1_000; ms++) {
    for (let count = 0; count < 10; count++)
      for (const hint of ['purchases', 'judge', `forgotten ${ms * 10 + count}`]) take(hint);
    vi.advanceTimersByTime(1);
  }
  const counts = Map.groupBy(woken, (each) => each);
  expect(counts.get('purchases poller')!.length).toBeLessThanOrEqual(21);
  expect(counts.get('judge judge')!.length).toBeLessThanOrEqual(5);
  expect(counts.get('forgotten erasures')!.length).toBeLessThanOrEqual(5);
});

test('what is no hint wakes nobody', () => {
  const { take } = start();
  for (const payload of ['', ' ', 'purchase', 'toString', 'PURCHASES', 'x'.repeat(7_999), 'evt_1']) take(payload);
  vi.advanceTimersByTime(1_000);
  expect(woken).toEqual([]);
});
