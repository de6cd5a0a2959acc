import { expect, test } from 'vitest';
import { type Circumstances, type DirectAlert, directAlert, posted } from '../../../src/domain/replicas/direct-alert.ts';

const SECOND = 1_000;
const WELL = { isTroubled: false, isBlind: false, mayAlert: true };
const BLIND = { isTroubled: true, isBlind: true, mayAlert: true };

/** Goes through moments five seconds apart; answers what was posted and when. */
function live(moments: readonly Omit<Circumstances, 'now'>[], isTaken: (second: number) => boolean = () => true): string[] {
  const said: string[] = [];
  let alert: DirectAlert | null = null;
  for (const [index, moment] of moments.entries()) {
    const next = directAlert(alert, { ...moment, now: index * 5 * SECOND });
    alert = next.after;
    if (next.post === null || !isTaken(index * 5)) continue;
    said.push(`${next.post} at ${index * 5}`);
    alert = posted(alert!, next.post);
  }
  return said;
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('a blindness is posted once, when it was seen twice, and its end once it has been over for half a minute', () => {
  expect(live([...times(20, BLIND), ...times(10, WELL)])).toEqual(['opened at 5', 'ended at 130']);
});

test('what is over before it was posted is not posted', () => {
  expect(live([BLIND, ...times(10, WELL)])).toEqual([]);
});

test('a blindness that comes back within half a minute is the same one', () => {
  expect(live([...times(3, BLIND), ...times(5, WELL), ...times(3, BLIND), ...times(8, WELL)])).toEqual([
    'opened at 5',
    'ended at 85',
  ]);
});

test('it is over when nothing is wrong any more, not when alerts can be stored again', () => {
  const stored = { ...BLIND, isBlind: false };
  expect(live([...times(3, BLIND), ...times(20, stored), ...times(7, WELL)])).toEqual(['opened at 5', 'ended at 145']);
});

test('what no channel takes is posted again', () => {
  expect(live([...times(6, BLIND), ...times(9, WELL)], (second) => second >= 20 && second !== 60)).toEqual([
    'opened at 20',
    'ended at 65',
  ]);
});

test('a replica that did not hold the judge’s lease posts nothing', () => {
  expect(live(times(30, { ...BLIND, mayAlert: false }))).toEqual([]);
});
