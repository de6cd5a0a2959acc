import { expect, test } from 'vitest';
import type { Channel } from '../../../src/channels/outgoing/channel.ts';
import type { Ladder } from '../../../src/daemon/notifier/ladder.ts';
import { createOutlet } from '../../../src/daemon/notifier/outlet.ts';
import type { Roster } from '../../../src/daemon/notifier/roster.ts';
import { createSender } from '../../../src/daemon/notifier/sender.ts';
import type { UnderWayNotes } from '../../../src/daemon/notifier/under-way.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/health.ts';
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
  const outlet = createOutlet({
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
    roster: { count: () => 1, mayTell: () => true } as unknown as Roster,
    ladder: { mayBegin: ({ inFlight }: { inFlight: number }) => inFlight < 4 } as unknown as Ladder,
    notes: { began: () => {}, ended: () => {} } as unknown as UnderWayNotes,
    departures: { plan: () => Promise.reject(new Error('not for webhooks')) },
    onStayed: () => {
      lease.stayed += 1;
    },
    onEnded: () => {},
  });
  return { sender, outlet, left, lease };
}

function delivery(id: number, shard: number): DueDelivery {
  const event = { id: `evt_${id}`, type: 'purchase.stuck', body: '{}', createdAt: 0 };
  const common = { subscriber: 1, rank: 0 as const, dueAt: 0, attempts: 0, attemptsBefore: 0, behind: null };
  return { ...common, id, lane: id, position: id, shard, event };
}

test('what lies in a shard that is given away is passed over, and the rest does not wait for it', () => {
  const { sender, outlet, left } = sending();
  for (const [id, shard] of [
    [1, LEAVING],
    [2, 1],
    [3, LEAVING],
    [4, 2],
  ] as const)
    outlet.add(delivery(id, shard));
  sender.pump(outlet);
  expect(left).toEqual(['evt_2', 'evt_4']);
  expect(outlet.has(1)).toBe(false);
});

test('while it is held nothing leaves, and afterwards everything does', () => {
  const { sender, outlet, left } = sending();
  outlet.add(delivery(1, 1));
  sender.hold(true);
  sender.pump(outlet);
  expect(left).toEqual([]);
  sender.hold(false);
  sender.pump(outlet);
  expect(left).toEqual(['evt_1']);
});

test('what was on its way when the lease ended does not leave, costs no attempt, and waits where it was', async () => {
  const { sender, outlet, left, lease } = sending();
  outlet.add(delivery(1, 1));
  lease.isValid = false;
  sender.pump(outlet);
  await expect.poll(() => lease.stayed).toBe(1);
  expect([left, outlet.has(1), outlet.inFlight]).toEqual([[], true, 0]);
  lease.isValid = true;
  await expect.poll(() => left).toEqual(['evt_1']);
});
