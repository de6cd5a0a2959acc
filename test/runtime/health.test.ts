import { expect, test } from 'vitest';
import { createHealth } from '../../src/runtime/health.ts';

const at = (...moments: number[]) => createHealth(() => moments.shift()!);

test('with no loops nothing is wrong', () => {
  expect(at().ok()).toBe(true);
  expect(at().loops()).toEqual([]);
});

test('a loop that fails makes the whole bad until it succeeds again', () => {
  const health = at(1, 2, 3);
  health.good('poller');
  health.good('judge');
  health.bad('poller', new Error('connection refused'));
  expect(health.ok()).toBe(false);
  expect(health.loops()).toEqual([
    { name: 'poller', ok: false, lastGoodAt: 1, error: 'connection refused' },
    { name: 'judge', ok: true, lastGoodAt: 2, error: null },
  ]);
  health.good('poller');
  expect(health.ok()).toBe(true);
  expect(health.loops()[0]).toEqual({ name: 'poller', ok: true, lastGoodAt: 3, error: null });
});

test('a loop that never did its work says so', () => {
  const health = at();
  health.bad('notifier', 'no such table');
  health.bad('notifier', 'still none');
  expect(health.loops()).toEqual([{ name: 'notifier', ok: false, lastGoodAt: null, error: 'still none' }]);
});
