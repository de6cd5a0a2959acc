import { describe, expect, test } from 'vitest';
import {
  type Circumstances,
  type DirectAlert,
  directAlert,
  posted,
  rankToPost,
} from '../../../src/domain/replicas/direct-alert.ts';

const SECOND = 1_000;
const WELL = { isTroubled: false, isBlind: false, rank: 0 };
const BLIND = { isTroubled: true, isBlind: true, rank: 0 };

/** Goes through moments five seconds apart; answers the seconds at which an alert was posted. */
function live(moments: readonly Omit<Circumstances, 'now'>[], isTaken: (second: number) => boolean = () => true): number[] {
  const said: number[] = [];
  let alert: DirectAlert | null = null;
  for (const [index, moment] of moments.entries()) {
    const { after, isDue } = directAlert(alert, { ...moment, now: index * 5 * SECOND });
    alert = after;
    if (!isDue || !isTaken(index * 5)) continue;
    said.push(index * 5);
    alert = posted(alert!);
  }
  return said;
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('a blindness is posted once, when it was seen twice', () => {
  expect(live([...times(20, BLIND), ...times(10, WELL)])).toEqual([5]);
});

test('what is over before it was posted is not posted', () => {
  expect(live([BLIND, ...times(10, WELL)])).toEqual([]);
});

test('a blindness that comes back within half a minute is the same one, and a later one is another', () => {
  expect(live([...times(3, BLIND), ...times(5, WELL), ...times(3, BLIND), ...times(8, WELL), ...times(3, BLIND)])).toEqual([
    5, 100,
  ]);
});

test('half a minute without trouble ends it, to the moment', () => {
  expect(live([...times(3, BLIND), ...times(7, WELL), ...times(2, BLIND)])).toEqual([5, 55]);
});

test('it is over when nothing is wrong any more, not when alerts can be stored again', () => {
  const stored = { ...BLIND, isBlind: false };
  expect(live([...times(3, BLIND), ...times(20, stored), ...times(6, BLIND)])).toEqual([5]);
});

test('what no channel takes is posted again', () => {
  expect(live(times(8, BLIND), (second) => second >= 20)).toEqual([20]);
});

describe('of several replicas', () => {
  test('each waits for those before it, four times as much longer as the one before, and posts only while the trouble lasts', () => {
    for (const [rank, seconds] of [
      [1, 65],
      [2, 5 * 60 + 5],
      [3, 21 * 60 + 5],
    ] as const)
      expect(live(times(300, { ...BLIND, rank }))).toEqual([seconds]);
    expect(live([...times(13, { ...BLIND, rank: 1 }), ...times(20, WELL)])).toEqual([]);
  });

  test('one moves up when a replica before it turns out to be gone', () => {
    expect(live([...times(4, { ...BLIND, rank: 1 }), ...times(4, BLIND)])).toEqual([20]);
  });

  const other = (id: string, { leaving = false } = {}) => ({ id, process: `process of ${id}`, leaving });
  const rank = (replica: string, judge: string | null, others: ReturnType<typeof other>[], gone: string[] = []) =>
    rankToPost(replica, { judge, others }, (process) => gone.some((id) => process.endsWith(id)));

  test('the judge’s replica is the first, and the others follow in the order of their starts', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((id) => other(id)) as [ReturnType<typeof other>, ...ReturnType<typeof other>[]];
    expect([rank('a', 'b', [b!, c!]), rank('b', 'b', [a, c!]), rank('c', 'b', [a, b!])]).toEqual([1, 0, 2]);
    expect([rank('a', null, [b!, c!]), rank('c', null, [a, b!])]).toEqual([0, 2]);
    expect(rank('a', null, [])).toBe(0);
  });

  test('nothing is expected of a replica that is leaving, or whose process is gone', () => {
    expect(rank('c', 'b', [other('a', { leaving: true }), other('b')])).toBe(1);
    expect(rank('c', 'b', [other('a'), other('b')], ['b'])).toBe(1);
    expect(rank('c', 'b', [other('a'), other('b')], ['a', 'b'])).toBe(0);
  });
});
