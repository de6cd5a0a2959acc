import { expect, test } from 'vitest';
import { asksForComparison, changeText, isStartKnown, lostSince } from '../../../src/domain/incidents/database-loss.ts';

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
  expect(changeText({ ...change, kind: 'went_back', knownUntil: null })).toBe(
    'the database came back as of 1970-01-01T00:00:50Z (noticed at 1970-01-01T00:01:00Z)',
  );
  expect(changeText({ ...change, kind: 'moved' })).toMatch(
    /^another server or timeline answers as the database since 1970-01-01T00:01:00Z; no daemon misses a renewal/,
  );
  expect(asksForComparison({ kind: 'first', knownUntil: null })).toBe(false);
  expect(asksForComparison({ ...change, kind: 'went_back' })).toBe(true);
  expect(asksForComparison({ ...change, kind: 'moved' })).toBe(false);
  expect(asksForComparison({ ...change, kind: 'moved', knownUntil: null })).toBe(true);
  expect(changeText({ ...change, kind: 'moved', knownUntil: null })).toContain('whether it lost writes is not known');
});

test('something may be missing from where the database came back to, from its last known write, or from when that was noticed', () => {
  const change = { id: 'b', kind: 'went_back', replica: 'r', host: 'h', noticedAt: 3, cameBackTo: 1, knownUntil: 2 } as const;
  const unknown = { ...change, cameBackTo: null };
  expect([change, unknown, { ...unknown, knownUntil: null }].map(lostSince)).toEqual([1, 2, 3]);
});
