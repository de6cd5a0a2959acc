import { expect, test } from 'vitest';
import { createHealth } from '../../../src/runtime/loops/health.ts';

const at = (...moments: number[]) =>
  createHealth(
    () => moments.shift()!,
    () => 0,
  );

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

test('a loop whose rounds end well but whose writes fail for a minute is bad until they succeed', () => {
  let now = 0;
  const health = createHealth(() => now);
  const writes = health.writesOf('poller');
  const full = Object.assign(new Error('No space left on device'), { code: '53100' });
  for (const second of [0, 1, 3, 7, 15, 31]) {
    now = second * 1_000;
    writes.failed('polls', full);
    health.good('poller');
  }
  expect([health.ok(), health.loops()[0]?.lastGoodAt]).toEqual([true, 31_000]);
  now = 61_000;
  writes.failed('polls', full);
  // Another kind of its work says nothing of this one.
  writes.done('changes');
  health.good('poller');
  expect(health.loops()).toEqual([{ name: 'poller', ok: false, lastGoodAt: 31_000, error: 'No space left on device (53100)' }]);
  expect(health.seen()).toEqual([
    { name: 'poller', goodAgo: 30_000, failing: { for: 61_000, error: 'No space left on device (53100)' } },
  ]);
  writes.failed('changes', full);
  writes.done('polls');
  writes.forget();
  health.good('poller');
  expect([health.ok(), health.seen()]).toEqual([true, [{ name: 'poller', goodAgo: 0, failing: null }]]);
});

test('an error of the database that may cite data is shown by its code alone', () => {
  const health = createHealth(() => 0);
  health.bad('poller', Object.assign(new Error('invalid input syntax: "secret"'), { code: '22P02' }));
  expect(health.loops()[0]?.error).toBe('The database refuses the data (22P02).');
});

test('beside a loop that has failed for a minute, one that has failed for half a minute is failing, too', () => {
  let now = 0;
  const health = createHealth(() => now);
  const fail = (seconds: number, ...loops: string[]): void => {
    now = seconds * 1000;
    for (const loop of loops) health.bad(loop, 'connection refused');
  };
  const failing = () => health.seen().flatMap(({ name, failing }) => (failing === null ? [] : [name]));
  fail(0, 'judge');
  fail(20, 'poller');
  fail(40, 'notifier');
  fail(55, 'judge', 'poller', 'notifier');
  expect(failing()).toEqual([]);
  fail(60, 'judge');
  expect(failing()).toEqual(['judge', 'poller']);
});
