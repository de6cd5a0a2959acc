import { expect, test } from 'vitest';
import {
  afterFailures,
  healthStatus,
  parkedBecause,
  type SubscriberState,
} from '../../../src/domain/deliveries/subscriber-state.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const failing = { failures: 2, failingSince: NOW, pausedUntil: null, lastError: null };
const paused = { ...failing, failures: 4, pausedUntil: NOW + 1, lastError: 'No answer.' };
const unreached = { failures: 4, since: NOW, error: 'No route.' };
const a = (differs: Partial<SubscriberState> = {}): SubscriberState => ({
  ...{ configured: true, status: 'active', statusReason: null, health: null, unreached: null },
  ...differs,
});

test.each<[string, Partial<SubscriberState>, string]>([
  ['ok', {}, 'ok'],
  ['failing', { health: failing }, 'failing'],
  ['failing, and not reached', { health: failing, unreached }, 'unreached'],
  ['paused, and not reached', { health: paused, unreached }, 'paused'],
  ['paused, and its time is over', { health: { ...paused, pausedUntil: NOW - 1 } }, 'paused'],
  ['off, and paused', { status: 'off', health: paused }, 'off'],
])('a subscriber that is %s', (_, state, status) => expect(healthStatus(a(state))).toBe(status));

test.each<[string, Partial<SubscriberState>, string | null]>([
  ['is well', {}, null],
  ['fails, and is not paused', { health: failing }, null],
  ['is not reached', { unreached }, null],
  ['is paused', { health: paused }, 'paused until 2026-11-20T09:15:00Z after 4 failures in a row: No answer.'],
  [
    'is being tried',
    { health: { ...paused, pausedUntil: NOW, failures: 1, lastError: null } },
    'paused until one delivery gets through, after one failure',
  ],
  ['was switched off', { status: 'off', statusReason: 'It answered 410.', health: paused }, 'switched off: It answered 410.'],
  ['was switched off for nothing known', { status: 'off' }, 'switched off: no reason is known'],
  ['was removed', { configured: false, status: 'off' }, 'not in the configuration any more'],
])('what waits for a subscriber that %s', (_, state, reason) => expect(parkedBecause(a(state), NOW)).toBe(reason));

test('failures are counted in words', () => {
  expect([1, 4].map(afterFailures)).toEqual(['after one failure', 'after 4 failures in a row']);
});
