/** Writes subscribers' changed health to the database, and ends the waits of deliveries that wait without a reason any more. */

import type { SubscriberHealth } from '../../../domain/deliveries/subscriber-health.ts';
import { FAILURES_TO_PAUSE } from '../../../domain/deliveries/subscriber-health.ts';
import { isAskedFor } from '../../../domain/deliveries/subscriber-state.ts';
import { bringForward, type Which } from '../../../postgres/deliveries/bring-forward.ts';
import {
  eraseFailures,
  eraseUnreached,
  hasTaken,
  savePause,
  saveUnreached,
} from '../../../postgres/deliveries/subscriber-health.ts';
import type { Deps } from '../../deps.ts';
import { noteOwnSaved, noteSaved, setHealth } from './health-in-memory.ts';
import type { Subscriber } from './subscriber.ts';

export type HealthWritesOptions = Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'>;

export function createHealthWrites({ sql, clock, log, replica }: HealthWritesOptions) {
  const freed = new Map<Subscriber, Which>();
  const freeing = new Set<Promise<void>>();
  const free = (subscriber: Subscriber, which: Which): void => void freed.set(subscriber, which);

  /** Runs beside the writing of results, which must not wait for it. After a failure the next attempt's end repeats it. */
  const endWaits = (subscriber: Subscriber, which: Which): void => {
    const { name, id } = subscriber.recipient;
    const done = bringForward(sql, id, which, clock.now())
      .then((count) => {
        if (count === 0) return;
        subscriber.reading.restart();
        log.info({ subscriber: name, deliveries: count }, 'delivery.brought_forward');
      })
      .catch((error: unknown) => {
        if (!freed.has(subscriber)) free(subscriber, which);
        log.warn({ error, subscriber: name }, 'delivery.not_brought_forward');
      })
      .finally(() => freeing.delete(done));
    freeing.add(done);
  };

  const saveOwn = async (subscriber: Subscriber): Promise<void> => {
    const { recipient, health } = subscriber;
    const { failures, since, error, saved } = health.own;
    if (failures >= FAILURES_TO_PAUSE && failures !== saved?.failures) {
      const unreached = { failures, since: since!, error };
      await saveUnreached(sql, recipient.id, { ...unreached, replica });
      noteOwnSaved(health, unreached);
    } else if (failures === 0 && saved !== null) {
      const wasOwn = await eraseUnreached(sql, recipient.id, replica);
      noteOwnSaved(health, null);
      if (wasOwn && health.current === null && !freed.has(subscriber)) free(subscriber, { kind: 'ours' });
    }
  };

  /** Ends a pause: the replica does not see other replicas' successes, so its failures may come from one event alone. */
  const endPause = ({ recipient, health, reading }: Subscriber, current: SubscriberHealth): void => {
    if (health.current !== current) return;
    setHealth(health, null);
    reading.restart();
    const detail = 'Another replica got through meanwhile: only some of its events fail.';
    log.info({ subscriber: recipient.name, failures: current.failures, detail }, 'subscriber.resumed');
  };

  const saveHealth = async (subscriber: Subscriber): Promise<void> => {
    const { recipient, health } = subscriber;
    const { current, saved } = health;
    if (current === saved) return;
    if (current === null) await eraseFailures(sql, recipient.id);
    else if (isNewPause(current, saved) && (await hasTaken(sql, recipient.id, current.failingSince!))) {
      endPause(subscriber, current);
      return;
    } else if (current.pausedUntil !== null && current.pausedUntil !== saved?.pausedUntil)
      await savePause(sql, recipient.id, current, recipient.allowed ?? null);
    // The first failures are kept in memory only.
    else return;
    noteSaved(health, current);
  };

  return {
    /** Notes that some of the subscriber's deliveries wait without a reason any more; the next `save` ends their waits. */
    free,
    /** Writes the subscriber's changed health, and then ends the waits noted with `free`. */
    save: async (subscriber: Subscriber): Promise<void> => {
      await saveHealth(subscriber);
      await saveOwn(subscriber);
      const which = freed.get(subscriber);
      if (which === undefined) return;
      freed.delete(subscriber);
      endWaits(subscriber, which);
    },
    /** Resolves when no waits of deliveries are being ended. */
    quiet: async (): Promise<void> => {
      while (freeing.size > 0) await Promise.all(freeing);
    },
  };
}

/** Whether the subscriber is paused for failures and the pause was not alerted yet. */
function isNewPause(health: SubscriberHealth, saved: SubscriberHealth | null): boolean {
  return saved === null && health.pausedUntil !== null && !isAskedFor(health);
}
