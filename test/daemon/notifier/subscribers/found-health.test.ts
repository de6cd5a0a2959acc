import { expect, test } from 'vitest';
import { takeOverHealth } from '../../../../src/daemon/notifier/subscribers/found-health.ts';
import {
  noteOwnFailure,
  noteOwnSaved,
  noteSaved,
  setHealth,
} from '../../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import { restUntil } from '../../../../src/daemon/notifier/subscribers/pace.ts';
import { testClock } from '../../../support/test-clock.ts';
import { aDelivery, aLog, aSubscriber, NOW } from '../parts.ts';

const PAUSED = { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + 60_000, lastError: 'No.' };
const UNREACHED = { failures: 4, since: NOW, error: 'No route.' };
const WELL = { health: null, unreached: null };

function known(saved: typeof PAUSED | null = null) {
  const subscriber = aSubscriber();
  setHealth(subscriber.health, saved);
  noteSaved(subscriber.health, saved);
  subscriber.queue.add(aDelivery(1));
  const { log, logged } = aLog();
  const found = (is: object, was: object) =>
    takeOverHealth({ subscriber, is: { ...WELL, ...is }, was: { ...WELL, ...was } }, { clock: testClock(), log });
  return { subscriber, found, logged };
}

test('a pause that another replica wrote holds here, too, and its deliveries leave memory', () => {
  const { subscriber, found } = known();
  found({ health: PAUSED }, {});
  expect(subscriber.health.current).toMatchObject(PAUSED);
  expect(subscriber.queue.size).toBe(0);
});

test('a pause that was ended elsewhere ends here, and nothing is waited for', () => {
  const { subscriber, found, logged } = known(PAUSED);
  restUntil(subscriber.pace, 1e12);
  found({}, { health: PAUSED });
  expect(subscriber.health.current).toBeNull();
  expect(subscriber.pace.notBefore).toBe(Number.NEGATIVE_INFINITY);
  expect(logged).toEqual([expect.objectContaining({ event: 'subscriber.resumed', subscriber: 'shop' })]);
});

test('what this replica wrote since the read began stays', () => {
  const { subscriber, found, logged } = known(PAUSED);
  found({}, {});
  expect([subscriber.health.current, logged]).toEqual([PAUSED, []]);
});

test('the same pause as is known changes nothing', () => {
  const { subscriber, found } = known(PAUSED);
  found({ health: { ...PAUSED } }, { health: PAUSED });
  expect([subscriber.health.current, subscriber.queue.size]).toEqual([PAUSED, 1]);
});

test('failures of ours end where a person resumed the subscriber, and go on where none did', () => {
  const { subscriber, found } = known();
  const { health } = subscriber;
  noteOwnFailure(health, NOW, NOW, 'No route.');
  found({ unreached: UNREACHED }, {});
  expect([health.own.failures, health.own.saved]).toEqual([1, UNREACHED]);
  noteOwnSaved(health, UNREACHED);
  found({}, { unreached: UNREACHED });
  expect([health.own.failures, health.own.saved]).toEqual([0, null]);
});
