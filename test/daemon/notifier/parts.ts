/** Deliveries and subscribers as tests of the notifier's parts need them: ordinary, and different only in what is named. */
import type { Recipient, Subscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { createSubscriber } from '../../../src/daemon/notifier/subscribers/subscriber.ts';
import { WITH_SYSTEMS } from '../../../src/domain/deliveries/subscriber-health.ts';
import type { DueDelivery } from '../../../src/postgres/deliveries/deliveries.ts';
import { createLogger, type Logger } from '../../../src/runtime/logger.ts';

export const NOW = Date.UTC(2026, 10, 20, 9, 15);

export function aDelivery(id: number, differs: Partial<DueDelivery> = {}): DueDelivery {
  return {
    ...{ id, mark: null, subscriber: 1, lane: id, position: id, shard: 0, rank: 0, dueAt: NOW, attempts: 0, attemptsBefore: 0 },
    ...{ event: { id: `evt_${id}`, type: 'purchase.stuck', body: '{}', createdAt: NOW }, behind: null },
    ...differs,
  };
}

/** Nothing is sent over its channel here. */
export function aSubscriber(differs: Partial<Recipient> = {}): Subscriber {
  const recipient = {
    ...{ id: 1, name: 'shop', addressHash: 'x', schedule: [5_000, 60_000, 600_000], patience: WITH_SYSTEMS, concurrency: 4 },
    ...{ timeout: 10_000, channel: {} },
    ...differs,
  };
  return createSubscriber(recipient as unknown as Recipient);
}

/** A log, and its events with their fields. */
export function aLog(): { readonly log: Logger; readonly logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => logged.push(JSON.parse(line)) } as unknown as NodeJS.WritableStream;
  return { log: createLogger({ level: 'debug', destination }), logged };
}
