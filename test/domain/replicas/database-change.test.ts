import { describe, expect, test } from 'vitest';
import { asksForComparison, changeText, isStartKnown } from '../../../src/domain/incidents/database-loss.ts';
import { compareDatabase, type DatabaseSeen, type NotedChange } from '../../../src/domain/replicas/database-change.ts';

const first: NotedChange = { id: 'a', kind: 'first', origin: '7/1' };
const moved: NotedChange = { id: 'b', kind: 'moved', origin: '7/2' };
const known = { origin: '7/1', change: 'a' };
const seen: DatabaseSeen = { number: 5, origin: '7/1', change: first };

describe('a renewal of the lease', () => {
  test('finds the database of before', () => {
    expect(compareDatabase(known, seen)).toEqual({ isOther: false, note: null });
  });
  test('has the very first start noted, and where Postgres reveals its timeline from now on', () => {
    expect(compareDatabase(null, { ...seen, change: null })).toEqual({ isOther: false, note: 'first' });
    expect(compareDatabase(null, { ...seen, change: { ...first, origin: null } })).toEqual({ isOther: false, note: 'first' });
    expect(compareDatabase(null, { ...seen, origin: null, change: { ...first, origin: null } }).note).toBe(null);
  });
  test('finds fewer renewals than memory knows: the database went back, on whatever timeline, noted or not', () => {
    for (const change of [first, moved, null])
      expect(compareDatabase(known, { number: null, origin: '7/1', change })).toEqual({ isOther: true, note: 'went_back' });
  });
  test('finds another timeline and misses nothing: memory goes, and nothing is called lost', () => {
    expect(compareDatabase(known, { ...seen, origin: '7/2' })).toEqual({ isOther: true, note: 'moved' });
  });
  test('finds what another replica noted, also where the timeline is the same', () => {
    const change: NotedChange = { id: 'b', kind: 'went_back', origin: '7/1' };
    expect(compareDatabase(known, { ...seen, change })).toEqual({ isOther: true, note: 'moved' });
    // What the other one noted was the first start.
    expect(compareDatabase({ ...known, change: null }, seen)).toEqual({ isOther: false, note: null });
  });
  test('finds another timeline at a start: nothing is in memory, and it is noted once', () => {
    expect(compareDatabase(null, { ...seen, origin: '7/2' })).toEqual({ isOther: false, note: 'moved' });
    expect(compareDatabase(null, { ...seen, origin: '7/2', change: moved })).toEqual({ isOther: false, note: null });
  });
});

test('people are asked to compare when writes are missing, and when no daemon ran that could miss them', () => {
  const change = { id: 'b', replica: 'r', host: 'h', noticedAt: 60_000, cameBackTo: 50_000, knownUntil: 55_000 };
  expect(changeText({ ...change, kind: 'went_back' })).toBe(
    'the database came back as of 1970-01-01T00:00:50Z (noticed at 1970-01-01T00:01:00Z); what daemons wrote up to 1970-01-01T00:00:55Z, at least, is gone',
  );
  const unknown = changeText({ ...change, kind: 'went_back', cameBackTo: null });
  expect(unknown).toBe(
    'the database came back without its last writes (noticed at 1970-01-01T00:01:00Z), and the times in it do not show from when on they are missing; what daemons wrote up to 1970-01-01T00:00:55Z, at least, is gone',
  );
  expect(isStartKnown(unknown)).toBe(false);
  expect(asksForComparison({ ...change, kind: 'went_back' })).toBe(true);
  expect(asksForComparison({ ...change, kind: 'moved' })).toBe(false);
  expect(asksForComparison({ ...change, kind: 'moved', knownUntil: null })).toBe(true);
  expect(changeText({ ...change, kind: 'moved', knownUntil: null })).toContain('whether it lost writes is not known');
});
