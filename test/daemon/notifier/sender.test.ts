import { expect, test } from 'vitest';
import type { Channel } from '../../../src/channels/outgoing/channel.ts';
import type { KnownSubscribers } from '../../../src/daemon/notifier/known-subscribers.ts';
import { createSender } from '../../../src/daemon/notifier/sender.ts';
import type { SubscriberPauses } from '../../../src/daemon/notifier/subscriber-pauses.ts';
import { createSubscriberQueue } from '../../../src/daemon/notifier/subscriber-queue.ts';
import type { UnderWayNotes } from '../../../src/daemon/notifier/under-way.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/subscriber-health.ts';
import type { Ownership } from '../../../src/domain/replicas/ownership.ts';
import type { DueDelivery } from '../../../src/postgres/deliveries/deliveries.ts';
import { realClock } from '../../../src/runtime/clock.ts';

const LEAVING = 5;

/** A sender whose shard 5 is ours and being given away; what leaves is noted and never answered. */
function sending() {
  const left: string[] = [];
  const lease = { isValid: true, stayed: 0 };
  const channel: Channel = {
    send: async ({ id }, { mayLeave }) => {
      // Connecting takes its time.
      if (!lease.isValid) await new Promise((resolve) => setImmediate(resolve));
      if (mayLeave?.() === false)
        return {
          kind: 'failed',
          reason: 'stopped',
          detail: '',
          httpStatus: null,
          retryAfter: null,
          fault: 'ours',
          tookMs: 0,
          excerpt: '',
        };
      left.push(id);
      return new Promise(() => {});
    },
    close: async () => {},
  };
  const queue = createSubscriberQueue({
    id: 1,
    name: 'shop',
    addressHash: 'x',
    channel,
    concurrency: 4,
    spacing: 0,
    timeout: 1_000,
    schedule: [],
    patience: WITH_SYSTEMS,
  });
  const ownership = {
    epochOf: () => 1,
    owned: () => [1, 2, 3],
    mayBegin: (shard: number) => shard !== LEAVING,
    mayGoOn: () => lease.isValid,
    end: () => {},
    begin: () => {},
  } as unknown as Ownership;
  const sender = createSender({
    clock: realClock(),
    ownership,
    knownSubscribers: { count: () => 1, mayTell: () => true } as unknown as KnownSubscribers,
    subscriberPauses: { mayBegin: ({ inFlight }: { inFlight: number }) => inFlight < 4 } as unknown as SubscriberPauses,
    notes: { began: () => {}, ended: () => {} } as unknown as UnderWayNotes,
    batching: { plan: () => Promise.reject(new Error('not for webhooks')) },
    onStayed: () => {
      lease.stayed += 1;
    },
    onEnded: () => {},
  });
  return { sender, queue, left, lease };
}

function delivery(id: number, shard: number): DueDelivery {
  const event = { id: `evt_${id}`, type: 'purchase.stuck', body: '{}', createdAt: 0 };
  const common = { subscriber: 1, rank: 0 as const, dueAt: 0, attempts: 0, attemptsBefore: 0, behind: null };
  return { ...common, id, lane: id, position: id, shard, event };
}

test('what lies in a shard that is given away is passed over, and the rest does not wait for it', () => {
  const { sender, queue, left } = sending();
  for (const [id, shard] of [
    [1, LEAVING],
    [2, 1],
    [3, LEAVING],
    [4, 2],
  ] as const)
    queue.add(delivery(id, shard));
  sender.pump(queue);
  expect(left).toEqual(['evt_2', 'evt_4']);
  expect(queue.has(1)).toBe(false);
});

test('while it is held nothing leaves, and afterwards everything does', () => {
  const { sender, queue, left } = sending();
  queue.add(delivery(1, 1));
  sender.hold(true);
  sender.pump(queue);
  expect(left).toEqual([]);
  sender.hold(false);
  sender.pump(queue);
  expect(left).toEqual(['evt_1']);
});

test('what was on its way when the lease ended does not leave, costs no attempt, and waits where it was', async () => {
  const { sender, queue, left, lease } = sending();
  queue.add(delivery(1, 1));
  lease.isValid = false;
  sender.pump(queue);
  await expect.poll(() => lease.stayed).toBe(1);
  expect([left, queue.has(1), queue.inFlight]).toEqual([[], true, 0]);
  lease.isValid = true;
  await expect.poll(() => left).toEqual(['evt_1']);
});
