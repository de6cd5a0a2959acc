import { describe, expect, test } from 'vitest';
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
  test('finds nothing else where one of both times Postgres did not reveal its timeline', () => {
    const same = { isOther: false, note: null };
    expect(compareDatabase({ ...known, origin: null }, seen)).toEqual(same);
    expect(compareDatabase(known, { ...seen, origin: null })).toEqual(same);
  });
  test('finds a note once: of what was noted before the last renewal, memory knows', () => {
    expect(compareDatabase({ origin: '7/2', change: 'b' }, { ...seen, origin: '7/2', change: moved })).toEqual({
      isOther: false,
      note: null,
    });
    // Memory knows of no note at all.
    const change: NotedChange = { id: '01KA', kind: 'went_back', origin: '7/1' };
    expect(compareDatabase({ ...known, change: null }, { ...seen, change })).toEqual({ isOther: true, note: 'moved' });
    expect(compareDatabase(known, { ...seen, change: null })).toEqual({ isOther: false, note: 'first' });
  });
  test('finds another timeline at a start: nothing is in memory, and it is noted once', () => {
    expect(compareDatabase(null, { ...seen, origin: '7/2' })).toEqual({ isOther: false, note: 'moved' });
    expect(compareDatabase(null, { ...seen, origin: '7/2', change: moved })).toEqual({ isOther: false, note: null });
  });
});
