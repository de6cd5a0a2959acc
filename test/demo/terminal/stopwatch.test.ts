import { expect, test } from 'vitest';
import { createStopwatch } from '../../../src/demo/terminal/stopwatch.ts';

test('a time in which the demo is paused does not count', () => {
  let now = 100;
  const watch = createStopwatch(() => now);
  now += 5;
  watch.toggle();
  now += 50;
  expect([watch.elapsed(), watch.isPaused()]).toEqual([5, true]);
  watch.toggle();
  now += 2;
  expect([watch.elapsed(), watch.isPaused()]).toEqual([7, false]);
});
