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
  subscriber.reading.begin()(NOW, false);
  const { log, logged } = aLog();
  const found = (is: object, was: object) =>
    takeOverHealth({ subscriber, is: { ...WELL, ...is }, was: { ...WELL, ...was } }, { clock: testClock(), log });
  return { subscriber, found, logged };
}

test('a pause that another replica wrote holds here, too, and its deliveries leave memory', () => {
  const { subscriber, found, logged } = known();
  restUntil(subscriber.pace, 70);
  found({ health: PAUSED }, {});
  expect(subscriber.health.current).toMatchObject(PAUSED);
  expect([subscriber.queue.size, subscriber.reading.mayHoldMore]).toEqual([0, true]);
  expect([logged, subscriber.pace.notBefore]).toEqual([[], 70]);
});

test('a pause that was ended elsewhere ends here, and nothing is waited for', () => {
  const { subscriber, found, logged } = known(PAUSED);
  restUntil(subscriber.pace, 1e12);
  found({}, { health: PAUSED });
  expect(subscriber.health.current).toBeNull();
  expect(subscriber.pace.notBefore).toBe(Number.NEGATIVE_INFINITY);
  expect(logged).toEqual([
    expect.objectContaining({ event: 'subscriber.resumed', subscriber: 'shop', detail: expect.stringContaining('by hand') }),
  ]);
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

test('failures that are no pause leave its deliveries in memory', () => {
  const { subscriber, found } = known();
  found({ health: { ...PAUSED, failures: 2, pausedUntil: null } }, {});
  expect([subscriber.health.current?.failures, subscriber.queue.size]).toEqual([2, 1]);
});

test.each([
  ['a longer pause', { ...PAUSED, pausedUntil: NOW + 90_000 }],
  ['more failures', { ...PAUSED, failures: 5 }],
])('%s that another replica wrote is taken over', (_, health) => {
  const { subscriber, found } = known(PAUSED);
  found({ health }, { health: PAUSED });
  expect(subscriber.health.current).toMatchObject(health);
});

test('failures of ours go on where nobody resumed the subscriber, or this replica wrote them since the read began', () => {
  const { subscriber, found } = known();
  const { health } = subscriber;
  noteOwnFailure(health, NOW, NOW, 'No route.');
  found({}, {});
  expect(health.own).toMatchObject({ failures: 1, saved: null });
  noteOwnSaved(health, UNREACHED);
  found({}, {});
  expect(health.own).toMatchObject({ failures: 1, saved: UNREACHED });
  const more = { ...UNREACHED, failures: 5 };
  found({ unreached: more }, { unreached: UNREACHED });
  expect(health.own).toMatchObject({ failures: 1, saved: more });
  expect(subscriber.reading.mayHoldMore).toBe(false);
});

test('failures of ours end where a person resumed the subscriber, and go on where none did', () => {
  const { subscriber, found } = known();
  const { health } = subscriber;
  noteOwnFailure(health, NOW, NOW, 'No route.');
  found({ unreached: UNREACHED }, {});
  expect([health.own.failures, health.own.saved]).toEqual([1, UNREACHED]);
  noteOwnSaved(health, UNREACHED);
  found({}, { unreached: UNREACHED });
  expect([health.own.failures, health.own.saved, subscriber.reading.mayHoldMore]).toEqual([0, null, true]);
});
