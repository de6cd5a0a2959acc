import { expect, test } from 'vitest';
import {
  beginAgain,
  endOwnFailures,
  forget,
  grow,
  mayStart,
  newHealth,
  noteOwnFailure,
  noteOwnSaved,
  pause,
  pausedUntil,
  setHealth,
  setTrying,
  shrink,
  storedIn,
  takeOver,
} from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';

const NOW = 1_800_000_000_000;
const failing = { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW, lastError: 'No.' };
const may = (health: ReturnType<typeof newHealth>, inFlight = 0) => mayStart(health, { now: NOW, inFlight, concurrency: 4 });
/** So many failures on this side, each begun after the one before had ended. */
function ours(count: number) {
  const health = newHealth(4);
  const begun = Array.from({ length: count }, (_, at) => noteOwnFailure(health, NOW + at, NOW + at, 'No route.'));
  return { health, begun };
}

test('one that is well gets as many at once as it may', () => {
  expect([0, 3, 4].map((inFlight) => may(newHealth(4), inFlight))).toEqual(['yes', 'yes', 'no']);
  expect([may(newHealth(2), 2), may(newHealth(9), 4), newHealth(4).trying]).toEqual(['no', 'no', 'no']);
});

test('a failure halves what may be in flight, a success adds one, and a pause begins with one', () => {
  const health = newHealth(8);
  const allowances = [1, 2, 3, 4].map(() => {
    shrink(health);
    return health.allowance;
  });
  expect(allowances).toEqual([4, 2, 1, 1]);
  for (let taken = 0; taken < 9; taken++) grow(health, 4);
  expect(health.allowance).toBe(4);
  pause(health);
  expect(health).toMatchObject({ allowance: 1, trying: 'no' });
});

test('after a pause the right to try is asked for, and then one delivery leaves', () => {
  const health = newHealth(4);
  setHealth(health, { ...failing, pausedUntil: NOW + 1 });
  expect([pausedUntil(health, NOW), may(health)]).toEqual([NOW + 1, 'no']);
  setHealth(health, failing);
  expect([pausedUntil(health, NOW), may(health)]).toEqual([null, 'ask']);
  setTrying(health, 'asking');
  expect(may(health)).toBe('no');
  setTrying(health, 'yes');
  expect([may(health), may(health, 1)]).toEqual(['yes', 'no']);
});

test('the fourth failure of ours in a row begins a wait, which grows up to five minutes', () => {
  const { health, begun } = ours(4);
  expect(begun).toEqual([false, false, false, true]);
  expect([may(ours(3).health), ours(5).begun.at(-1)]).toEqual(['yes', false]);
  expect(health.own).toMatchObject({ failures: 4, since: NOW, error: 'No route.', until: NOW + 3 + 5_000 });
  expect(may(health)).toBe('no');
  expect(ours(5).health.own.until).toBe(NOW + 4 + 10_000);
  expect(ours(40).health.own.until).toBe(NOW + 39 + 300_000);
});

test('failures of ours at the same time count once, and after the wait one tries', () => {
  const health = newHealth(4);
  expect([noteOwnFailure(health, NOW - 9, NOW, 'x'), noteOwnFailure(health, NOW - 1, NOW + 1, 'x')]).toEqual([false, false]);
  expect(health.own.failures).toBe(1);
  noteOwnFailure(health, NOW, NOW + 2, 'x');
  expect(health.own.failures, 'it began as the one before ended').toBe(2);
  const waited = ours(4).health;
  const later = { now: NOW + 60_000, concurrency: 4 };
  expect([0, 1].map((inFlight) => mayStart(waited, { ...later, inFlight }))).toEqual(['yes', 'no']);
  endOwnFailures(waited);
  expect([may(waited, 3), waited.own.failures, waited.own.since]).toEqual(['yes', 0, null]);
});

test.each<[string, (health: ReturnType<typeof newHealth>) => unknown]>([
  ['a failure of ours', (health) => noteOwnFailure(health, NOW, NOW, 'No route.')],
  ['a success', (health) => grow(health, 4)],
  ['the end of a subscriber that is switched off', forget],
])('after %s this replica asks anew whether it may try', (_, happens) => {
  const health = newHealth(4);
  setTrying(health, 'yes');
  happens(health);
  expect(health.trying).toBe('no');
});

test('what another replica wrote is taken over, as of now', () => {
  const health = newHealth(4);
  takeOver(health, failing, NOW + 5);
  const known = { ...failing, failedAt: NOW + 5 };
  expect(health).toMatchObject({ saved: known, current: known, allowance: 1, trying: 'no' });
  takeOver(health, null, NOW);
  expect(health).toMatchObject({ saved: null, current: null });
});

test('a new address begins without failures, and one that was switched off with one delivery', () => {
  const { health } = ours(4);
  const unreached = { failures: 4, since: NOW, error: null };
  noteOwnSaved(health, unreached);
  expect(storedIn(health)).toEqual({ health: null, unreached });
  setHealth(health, failing);
  forget(health);
  expect(health).toMatchObject({ current: null, saved: null, allowance: 1 });
  beginAgain(health, 4);
  expect(health).toEqual(newHealth(4));
});
