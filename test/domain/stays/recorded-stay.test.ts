import { expect, test } from 'vitest';
import { DEFAULT_POLL_POLICY, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import {
  asLeft,
  asStuck,
  type RecordedOutage,
  type RecordedStay,
  rehearseStay,
} from '../../../src/domain/stays/recorded-stay.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T = Date.UTC(2026, 10, 20, 9);
const CARD = 6;
const COMPLETED = 2;
const TIMED_OUT = 5;

function aStay(differs: Partial<RecordedStay> = {}): RecordedStay {
  return {
    site: 'se',
    state: CARD,
    customer: '1',
    enteredAt: T,
    seenAt: T + 60 * SECOND,
    leftAt: T + 66 * SECOND,
    toState: COMPLETED,
    unwatchedAt: null,
    paidAt: null,
    firstSight: false,
    ...differs,
  };
}

const rehearsed = (stay: RecordedStay, limit = 15 * MINUTE, outages: RecordedOutage[] = []) =>
  rehearseStay(stay, { limit, policy: policyOf(DEFAULT_POLL_POLICY, CARD), outages });
const outage = (since: number, until: number | null): RecordedOutage => ({
  site: 'se',
  severity: 0,
  since,
  noticedAt: since,
  until,
});

test('a customer who gets on before the limit left well, by the polls around', () => {
  const stay = rehearsed(aStay());
  expect(stay).toMatchObject({ stuckAt: null, shortest: 60 * SECOND, longest: 66 * SECOND });
  expect(asLeft(stay)).toMatchObject({ outcome: 'well', at: T + 66 * SECOND, toState: COMPLETED });
  expect(asLeft(rehearsed(aStay({ toState: TIMED_OUT })))?.outcome).toBe('other');
  expect(asStuck(stay).at).toBe(T + 15 * MINUTE);
});

test('who is seen at the limit is stuck from then on, and leaves late', () => {
  const stay = rehearsed(aStay({ seenAt: T + 19 * MINUTE, leftAt: T + 20 * MINUTE }));
  expect(stay.stuckAt).toBe(T + 15 * MINUTE);
  expect(asStuck(stay)).toMatchObject({ outcome: 'overdue', toState: null, at: T + 15 * MINUTE, enteredAt: T });
  expect(asLeft(stay)).toMatchObject({ outcome: 'late', at: T + 20 * MINUTE });
});

test('who had left when the poll at the limit was answered was not overdue', () => {
  const limit = 15 * MINUTE;
  expect(rehearsed(aStay({ seenAt: T + limit - 50 * SECOND, leftAt: T + limit + 300 })).stuckAt).toBeNull();
  expect(rehearsed(aStay({ seenAt: T + limit, leftAt: T + limit + 90 * SECOND })).stuckAt).toBe(T + limit);
});

test('a limit between two polls was reached if it lies before the middle between them', () => {
  const between = aStay({ seenAt: T + 10 * MINUTE, leftAt: T + 11 * MINUTE });
  expect(rehearsed(between, 10 * MINUTE + 29 * SECOND).stuckAt).toBe(T + 10 * MINUTE + 29 * SECOND);
  expect(rehearsed(between, 10 * MINUTE + 31 * SECOND).stuckAt).toBeNull();
});

test('a customer who is still there is stuck only if the last poll was after the limit', () => {
  const open = { leftAt: null, toState: null };
  expect(rehearsed(aStay({ ...open, seenAt: T + 14 * MINUTE })).stuckAt).toBeNull();
  const stay = rehearsed(aStay({ ...open, seenAt: T + 15 * MINUTE }));
  expect(stay.stuckAt).toBe(T + 15 * MINUTE);
  expect(asLeft(stay)).toBeNull();
});

test('time in which the site could not be asked does not count', () => {
  const long = aStay({ seenAt: T + 29 * MINUTE, leftAt: T + 30 * MINUTE });
  const away = [outage(T + 2 * MINUTE, T + 9 * MINUTE), outage(T + 8 * MINUTE, T + 12 * MINUTE)];
  expect(rehearsed(long, 15 * MINUTE, away)).toMatchObject({
    stuckAt: T + 25 * MINUTE,
    shortest: 19 * MINUTE,
    longest: 20 * MINUTE,
  });
  expect(rehearsed(long, 21 * MINUTE, away).stuckAt).toBeNull();
  expect(asStuck(rehearsed(long, 15 * MINUTE, away)).at).toBe(T + 25 * MINUTE);
  // One within another counts once, and one from the limit on not at all.
  const within = [outage(T + 2 * MINUTE, T + 12 * MINUTE), outage(T + 3 * MINUTE, T + 5 * MINUTE)];
  expect(rehearsed(long, 15 * MINUTE, within).stuckAt).toBe(T + 25 * MINUTE);
  expect(rehearsed(long, 15 * MINUTE, [outage(T + 15 * MINUTE, T + 20 * MINUTE)]).stuckAt).toBe(T + 15 * MINUTE);
  // Before it came and after it left is no time of its own.
  expect(rehearsed(long, 15 * MINUTE, [outage(T - 9 * MINUTE, T), outage(T + 31 * MINUTE, null)]).stuckAt).toBe(T + 15 * MINUTE);
});

test('an outage without an end excuses all that follows', () => {
  const stay = aStay({ leftAt: null, toState: null, seenAt: T + 3 * MINUTE });
  expect(rehearsed(stay, 15 * MINUTE, [outage(T + 4 * MINUTE, null)]).stuckAt).toBeNull();
});

test('a gap between polls that no plan explains is nobody waiting', () => {
  // The daemon itself was away for an hour: the poll before was made after five minutes.
  const stay = rehearsed(aStay({ seenAt: T + 5 * MINUTE, leftAt: T + 65 * MINUTE }));
  expect(stay.stuckAt).toBeNull();
  expect(stay.longest).toBeLessThan(6 * MINUTE);
});
