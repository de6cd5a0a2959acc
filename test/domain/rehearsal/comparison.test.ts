import { expect, test } from 'vitest';
import { type ComparedIncident, compareIncidents } from '../../../src/domain/rehearsal/comparison.ts';

const incident = (openedAt: number, differs: Partial<ComparedIncident> = {}): ComparedIncident => ({
  ...{ site: 'se', state: 6, openedAt, endedAt: openedAt + 100, alertedAt: openedAt + 10 },
  ...differs,
});

test('of two that are the same, nothing is earlier', () => {
  const some = [incident(0), incident(500)];
  expect(compareIncidents(some, some)).toEqual({ both: 2, onlyTried: 0, onlyPresent: 0, earlierMs: 0 });
  expect(compareIncidents([], [])).toEqual({ both: 0, onlyTried: 0, onlyPresent: 0, earlierMs: null });
});

test('incidents at one place at one time are counterparts, each of one at most', () => {
  expect(compareIncidents([incident(0), incident(50)], [incident(60)])).toEqual({
    ...{ both: 1, onlyTried: 1, onlyPresent: 0 },
    earlierMs: 60,
  });
  for (const differs of [{ site: 'no' }, { state: 4 }]) {
    expect(compareIncidents([incident(0)], [incident(0, differs)]), JSON.stringify(differs)).toMatchObject({
      both: 0,
      onlyPresent: 1,
    });
  }
  expect(compareIncidents([incident(0)], [incident(100)])).toMatchObject({ both: 1 });
  expect(compareIncidents([incident(0)], [incident(101)])).toMatchObject({ both: 0, onlyTried: 1, onlyPresent: 1 });
  expect(compareIncidents([incident(0, { endedAt: null })], [incident(101)])).toMatchObject({ both: 1 });
});

test('one of several sites or states is the counterpart of one in any of them', () => {
  const several = incident(0, { site: null, state: null });
  expect(compareIncidents([several], [incident(0)])).toMatchObject({ both: 1 });
  expect(compareIncidents([incident(0)], [several])).toMatchObject({ both: 1 });
});

test('how much earlier is the median of those that both alert of', () => {
  const tried = [0, 1_000, 2_000, 3_000].map((at) => incident(at));
  const present = [incident(20), incident(1_040), incident(1_990), incident(3_000, { alertedAt: null })];
  expect(compareIncidents(tried, present).earlierMs).toBe(20);
  expect(compareIncidents(present, tried).earlierMs).toBe(-20);
  expect(compareIncidents(tried.slice(0, 2), present.slice(0, 2)).earlierMs).toBe(30);
});
