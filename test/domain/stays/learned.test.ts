import { expect, test } from 'vitest';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import { bucketOf } from '../../../src/domain/stays/dwell.ts';
import { createLearned } from '../../../src/domain/stays/learned.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const T = Date.UTC(2026, 10, 20, 12);
const CARD = 6;

const states = new Map(DEFAULT_POLL_POLICY.states);
const AUTO: PollPolicy = {
  ...DEFAULT_POLL_POLICY,
  states: states.set(CARD, { ...policyOf(DEFAULT_POLL_POLICY, CARD), auto: true }),
};
const day = (at: number) => new Date(at).toISOString().slice(0, 10);

/** So many exits of a day after a time. */
function exits(site: string, at: number, count: number, dwell = 2 * MINUTE) {
  const where = { site, state: CARD, day: day(at) };
  return {
    dwell: [{ ...where, bucket: bucketOf(dwell), shortest: count, longest: count }],
    stays: [{ ...where, calm: true, well: count, overdue: 0, other: 0 }],
  };
}

test('a limit is learned from fifty exits, of the site or of all', () => {
  const learned = createLearned(AUTO);
  learned.add(exits('se', T, 30));
  learned.learn(T);
  expect(learned.limitOf('se', CARD)).toMatchObject({ source: 'default', ms: 15 * MINUTE });
  learned.add(exits('no', T, 20));
  expect(learned.limitOf('se', CARD).source).toBe('default');
  learned.learn(T);
  expect(learned.limitOf('se', CARD)).toMatchObject({ source: 'pooled', dwell: { purchases: 50 } });
  learned.add(exits('se', T - DAY, 20));
  learned.learn(T);
  expect(learned.limitOf('se', CARD)).toMatchObject({ source: 'learned', dwell: { purchases: 50 } });
  expect(learned.limitOf('no', CARD).source).toBe('pooled');
});

test('a state without a limit gets none, however many got on', () => {
  const withoutLimit = new Map(AUTO.states).set(CARD, { ...policyOf(AUTO, CARD), stuckAfter: null });
  const learned = createLearned({ ...AUTO, states: withoutLimit });
  learned.add(exits('se', T, 50));
  learned.learn(T);
  expect(learned.limitOf('se', CARD)).toMatchObject({ ms: null, source: 'configured' });
});

test('fourteen days count, today included', () => {
  const learned = createLearned(AUTO);
  learned.add(exits('se', T, 50));
  learned.learn(T + 13 * DAY);
  expect(learned.limitOf('se', CARD).source).toBe('learned');
  learned.learn(T + 14 * DAY);
  expect(learned.limitOf('se', CARD).source).toBe('default');
  expect(learned.usual('se', CARD, T + 14 * DAY)).toEqual({ share: null, perDay: null, counted: 0 });
});

test('what is usual is the share of calm times, and the number of all', () => {
  const learned = createLearned(AUTO);
  const where = { site: 'se', state: CARD, day: day(T - 9 * DAY), other: 0 };
  learned.add({ dwell: [], stays: [{ ...where, calm: true, well: 110, overdue: 15 }] });
  learned.add({ dwell: [], stays: [{ ...where, calm: false, well: 0, overdue: 65 }] });
  // Five of those that were taken for usual were the beginning of an incident.
  learned.add({
    dwell: [],
    stays: [
      { ...where, calm: true, well: 0, overdue: -5 },
      { ...where, calm: false, well: 0, overdue: 5 },
    ],
  });
  expect(learned.usual('se', CARD, T)).toEqual({ share: 10 / 120, perDay: 190 / 9.5, counted: 120 });
  expect(learned.usual('no', CARD, T)).toEqual({ share: null, perDay: null, counted: 0 });
});
