/**
 * Sends open incidents again, every minute, to channels that show what is wrong at present: such a channel keeps an alert in memory, and
 * ends the alert when nothing repeats it. Every replica does so, as every Prometheus of a pair does: the same alert twice is one alert.
 */

import type { Channel } from '../../channels/outgoing/channel.ts';
import type { ConfiguredSubscriber } from '../../channels/outgoing/channel-kind.ts';
import { HOUR, MINUTE, type Milliseconds } from '../../domain/values/time.ts';
import { retryDelivery } from '../../postgres/deliveries/deliveries-again.ts';
import { type PresentAlert, presentAlerts } from '../../postgres/incidents/present.ts';
import type { Deps } from '../deps.ts';

interface PresentAlertsOptions extends Pick<Deps, 'sql' | 'clock' | 'log'> {
  /** The channels that show what is wrong at present. */
  readonly channels: readonly ConfiguredSubscriber[];
}

/** An incident's end is repeated for as long as an alert without repetition stays. */
const ENDED_WITHIN: Milliseconds = HOUR;

export function createPresentAlerts({ sql, clock, log, channels }: PresentAlertsOptions) {
  const opened = channels.map(({ definition: { name }, open }) => ({ name, channel: open().channel }));
  const failing = new Set<string>();
  const ended = new AbortController();

  /** Null when it was taken. */
  const repeat = async (channel: Channel, { id, type, body, isOver }: PresentAlert): Promise<string | null> => {
    const event = { id, type: isOver ? 'incident.ended' : type, body };
    const result = await channel.send(event, { attempt: 1, now: clock.now(), signal: ended.signal });
    return result.kind === 'delivered' ? null : result.detail;
  };

  /** Stops at the first alert that a channel does not take: the channel does not take the others either. */
  const repeatAll = async (name: string, channel: Channel): Promise<void> => {
    for (const alert of await presentAlerts(sql, name, ENDED_WITHIN)) {
      const detail = await repeat(channel, alert);
      if (ended.signal.aborted) return;
      if (detail === null) {
        failing.delete(name);
        continue;
      }
      if (!failing.has(name)) log.warn({ subscriber: name, detail }, 'alert.not_repeated');
      failing.add(name);
      // As a delivery it is tried again soon, and the channel's trouble becomes an incident, of which other channels get the message.
      if (alert.isDelivered && !alert.isOver) await retryDelivery(sql, alert.delivery);
      return;
    }
  };

  return {
    tick: async (): Promise<Milliseconds> => {
      for (const { name, channel } of opened) await repeatAll(name, channel);
      return MINUTE;
    },
    /** Breaks off what is under way. */
    close: async (): Promise<void> => {
      ended.abort();
      await Promise.all(opened.map(({ channel }) => channel.close()));
    },
  };
}
