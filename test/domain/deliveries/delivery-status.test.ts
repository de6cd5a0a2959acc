import { expect, test } from 'vitest';
import { shownStatus } from '../../../src/domain/deliveries/delivery-status.ts';

const NOW = Date.UTC(2026, 10, 20, 9, 15);
const PAUSED = { failures: 4, failingSince: NOW, pausedUntil: NOW + 1, lastError: null };
const subscriber = { configured: true, status: 'active', statusReason: null, health: null };
const WAITS = { stored: 'pending' as const, inFlightSince: null, subscriber, lastError: null };

test.each<[string, Partial<Parameters<typeof shownStatus>[0]>, object]>([
  ['waits for its turn', {}, { status: 'pending', reason: null }],
  ['is being sent', { inFlightSince: NOW }, { status: 'in_flight', reason: null }],
  [
    'waits for a subscriber that is paused',
    { subscriber: { ...subscriber, health: PAUSED } },
    { status: 'parked', reason: 'paused until 2026-11-20T09:15:00Z after 4 failures in a row' },
  ],
  ['was sent', { stored: 'delivered', lastError: 'No answer.' }, { status: 'delivered', reason: null }],
  ['was given up', { stored: 'exhausted', inFlightSince: NOW, lastError: 'No answer.' }, { status: 'exhausted', reason: null }],
  ['was not wanted', { stored: 'suppressed', lastError: 'It was erased.' }, { status: 'suppressed', reason: 'It was erased.' }],
  [
    'was not wanted, before reasons were kept',
    { stored: 'suppressed' },
    { status: 'suppressed', reason: 'The subscriber was switched off when the event was made.' },
  ],
])('a delivery that %s', (_, delivery, shown) => {
  expect(shownStatus({ ...WAITS, ...delivery }, NOW)).toEqual(shown);
});
