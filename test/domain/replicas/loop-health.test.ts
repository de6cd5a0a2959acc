import { describe, expect, test } from 'vitest';
import {
  type Failing,
  failedAgain,
  hangingLoops,
  LONG_BESIDE,
  longFailure,
  troublesSeen,
} from '../../../src/domain/replicas/loop-health.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Failures at these seconds. */
const failures = (...at: number[]): Failing =>
  at.reduce<Failing | undefined>((before, second) => failedAgain(before, `at ${second}`, second * SECOND), undefined)!;

describe('work that fails', () => {
  test.each([
    ['once', [0], 70, null],
    ['for less than a minute', [0, 30, 59], 61, null],
    ['for a minute', [0, 1, 3, 7, 15, 31, 61], 61, 0],
    ['for a minute to the moment', [0, 60], 60, 0],
    ['for a minute, and not any more for two', [0, 31, 61], 182, null],
    ['for a minute, and last two minutes ago', [0, 31, 61], 181, 0],
    ['again after two minutes', [0, 120], 120, 0],
    ['again after long', [0, 1, 300, 301], 302, null],
  ])('%s', (_when, at, now, since) => {
    const long = longFailure([failures(...at)], now * SECOND);
    expect(long?.since ?? null).toBe(since);
  });

  test('counts after half a minute beside another loop whose work fails', () => {
    const beside = (last: number) => longFailure([failures(0, last)], last * SECOND, LONG_BESIDE)?.since;
    expect([beside(29), beside(30)]).toEqual([undefined, 0]);
  });

  test('of several kinds counts by the oldest that goes on', () => {
    const long = longFailure([failures(10, 60, 120), failures(0, 60, 119), failures(130)], 130 * SECOND);
    expect(long).toMatchObject({ since: 0, error: 'at 119' });
  });
});

describe('what keeps a replica from its work', () => {
  const loop = (name: string, failing: number | null = null, goodAgo: number | null = 0) => ({
    name,
    goodAgo,
    failing: failing === null ? null : { for: failing, error: 'full' },
  });

  test('is nothing while loops do their work, or others fail', () => {
    expect(troublesSeen([loop('poller'), loop('upkeep', 5 * MINUTE), loop('judge', null, null)])).toEqual([]);
  });

  test('is each reason once, with the longest failure', () => {
    const seen = troublesSeen([
      loop('ownership', MINUTE),
      loop('poller', 2 * MINUTE),
      loop('notifier', MINUTE),
      loop('judge', MINUTE),
    ]);
    expect(seen).toEqual([
      { reason: 'not_recording', for: 2 * MINUTE, error: 'full' },
      { reason: 'not_settling', for: MINUTE, error: 'full' },
      { reason: 'not_judging', for: MINUTE, error: 'full' },
    ]);
  });

  test('is a failure to renew the lease alone, and of one reason the longest in whichever order', () => {
    const notRecording = (duration: number) => [{ reason: 'not_recording', for: duration, error: 'full' }];
    expect(troublesSeen([loop('ownership', MINUTE)])).toEqual(notRecording(MINUTE));
    expect(troublesSeen([loop('ownership', 2 * MINUTE), loop('poller', MINUTE)])).toEqual(notRecording(2 * MINUTE));
  });

  test('is a loop that hangs', () => {
    expect(troublesSeen([loop('judge', null, 2 * MINUTE)])).toEqual([]);
    expect(troublesSeen([loop('judge', null, 2 * MINUTE + 1)])).toEqual([
      { reason: 'not_judging', for: 2 * MINUTE + 1, error: null },
    ]);
  });

  test('hangs only while nothing of it fails: another process would find the same database away', () => {
    const long = 2 * MINUTE + 1;
    const loops = [loop('judge', null, long), loop('poller', MINUTE, long), loop('ownership'), loop('notifier', null, null)];
    expect(hangingLoops([...loops, loop('upkeep', null, long)])).toEqual(['judge']);
    expect(hangingLoops([loop('judge', null, long - 1)])).toEqual([]);
  });
});
