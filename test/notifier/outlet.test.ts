import { expect, test } from 'vitest';
import { createOutlet, type Outlet } from '../../src/notifier/outlet.ts';
import type { DueDelivery } from '../../src/store/deliveries.ts';

function outlet(): Outlet {
  const channel = { send: () => Promise.reject(new Error('not sent here')), close: async () => {} };
  return createOutlet({ id: 1, name: 'shop', channel, concurrency: 4, spacing: 0, timeout: 1_000, schedule: [] });
}

function delivery(lane: number, position: number): DueDelivery {
  const event = { id: `evt_${position}`, type: 'purchase.stuck', body: '{}', createdAt: 0 };
  return { id: position, subscriber: 1, lane, position, shard: 0, attempts: 0, attemptsBefore: 0, event, behind: null };
}

/** What comes out when each is done at once. */
function rest(of: Outlet): number[] {
  const positions: number[] = [];
  for (let next = of.next(); next; next = of.next()) {
    positions.push(next.position);
    of.done(next);
  }
  return positions;
}

test('a lane goes in the order of events, however its deliveries come in', () => {
  const of = outlet();
  for (const position of [5, 7, 3, 6, 1]) of.add(delivery(1, position));
  expect(rest(of)).toEqual([1, 3, 5, 6, 7]);
});

test('what is being sent is not overtaken by an older one that is sent again', () => {
  const of = outlet();
  of.add(delivery(1, 5));
  of.add(delivery(1, 7));
  const sending = of.next()!;
  expect(sending.position).toBe(5);
  of.add(delivery(1, 3));
  expect(of.next()).toBeNull();
  of.done(sending);
  expect(rest(of)).toEqual([3, 7]);
});

test('lanes do not wait for each other', () => {
  const of = outlet();
  of.add(delivery(1, 1));
  of.add(delivery(1, 3));
  of.add(delivery(2, 2));
  expect([of.next()!.position, of.next()!.position, of.next()]).toEqual([1, 2, null]);
});
