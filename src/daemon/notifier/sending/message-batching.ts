/**
 * Decides what a channel for people gets now: one message, all waiting events in one message, or nothing yet because the
 * channel has had its messages of this hour. The counts are in the database, so that a restart and another replica know them.
 */

import { readIncidentEvent } from '../../../channels/people/events/incident-event.ts';
import {
  allowedFrom,
  isLastOfTheHour,
  isLate,
  restAfter,
  type TogetherReason,
  togetherBecause,
} from '../../../domain/deliveries/channel-pace.ts';
import { HOUR, type Instant, type Milliseconds } from '../../../domain/values/time.ts';
import { messagesTaken, waitingInLane } from '../../../postgres/deliveries/channel-lane.ts';
import type { DueDelivery } from '../../../postgres/deliveries/deliveries.ts';
import { type IncidentNow, incidentsNow } from '../../../postgres/incidents/current.ts';
import type { Deps } from '../../deps.ts';
import { noteMessage } from '../subscribers/pace.ts';
import type { Subscriber } from '../subscribers/subscriber.ts';

/** Events in one message at most. */
const MOST_TOGETHER = 500;
/** While a channel is held back, look this often for something urgent. */
const LOOK_AGAIN: Milliseconds = 5_000;
/** Event types that need a person to act. */
const NEWS: readonly string[] = ['incident.opened', 'incident.reopened', 'incident.grew'];

export type BatchPlan =
  /** Send now; `along` in the same message. `together`: why it is one message for several or late events; null: one new event. */
  | { readonly kind: 'go'; readonly along: readonly DueDelivery[]; readonly together: Together | null }
  /** The channel has had its messages of this hour. */
  | { readonly kind: 'wait'; readonly until: Instant }
  /** Another replica has just sent a message to this channel. */
  | { readonly kind: 'rest'; readonly wait: Milliseconds }
  /** The database did not answer; the notifier asks again soon. */
  | { readonly kind: 'unknown' };

interface Together {
  readonly reason: TogetherReason;
  readonly incidents: ReadonlyMap<string, IncidentNow>;
}

export type MessageBatching = ReturnType<typeof createMessageBatching>;

interface MessageBatchingOptions extends Pick<Deps, 'sql' | 'clock' | 'log'> {
  /** Runs between other reads of the outbox: two reads at the same time could load a delivery twice. */
  read<T>(work: () => Promise<T>): Promise<T>;
}

/** The room that the hour and the last message leave: no message may be sent yet, or one, which may be the last of the hour. */
type Room = Exclude<BatchPlan, { kind: 'go' | 'unknown' }> | { readonly kind: 'room'; readonly isLast: boolean };

export function createMessageBatching({ sql, clock, log, read }: MessageBatchingOptions) {
  /** Loads all waiting deliveries of the head's lane into memory, up to the size of one message. */
  const gather = ({ queue }: Subscriber, head: DueDelivery): Promise<void> =>
    read(async () => {
      const waiting = await waitingInLane(sql, { ...head, most: MOST_TOGETHER });
      // The lane left memory meanwhile: the delivery is sent alone, and a later load finds the rest.
      if (queue.get(head.id) !== head) return;
      for (const delivery of waiting) if (queue.get(delivery.id) === undefined) queue.add(delivery);
    });

  const roomFor = async ({ recipient, queue, pace }: Subscriber, head: DueDelivery, now: Instant): Promise<Room> => {
    const { id, name, maxPerHour, spacing } = recipient;
    const messages = await messagesTaken(sql, { subscriber: id, since: now - HOUR, now, most: maxPerHour ?? 1 });
    const [last] = messages;
    // The last message was sent by another daemon, or by this one before a restart, and its spacing is not over yet.
    if (last !== undefined && last > pace.takenAt) {
      noteMessage(pace, last);
      const wait = restAfter(last, { spacing, now });
      if (wait > 0) return { kind: 'rest', wait };
    }
    if (maxPerHour === undefined) return { kind: 'room', isLast: false };
    const sent = { messages, maxPerHour };
    const from = allowedFrom(sent, false);
    const hasUrgent = from > now && [head, ...queue.behind(head)].some(isUrgent);
    const urgentFrom = hasUrgent ? allowedFrom(sent, true) : from;
    if (urgentFrom <= now) return { kind: 'room', isLast: isLastOfTheHour(sent, now) };
    // Logged once for each hold.
    if (pace.heldUntil === null) log.warn({ subscriber: name, maxPerHour, waitMs: urgentFrom - now }, 'channel.capped');
    return { kind: 'wait', until: Math.min(urgentFrom, now + LOOK_AGAIN) };
  };

  const plan = async (subscriber: Subscriber, head: DueDelivery): Promise<BatchPlan> => {
    const { queue, pace, health } = subscriber;
    const now = clock.now();
    const room = await roomFor(subscriber, head, now);
    if (room.kind !== 'room') return room;
    const { attempts, attemptsBefore, event } = head;
    // A message that Slack asked to have later is counted here alone.
    const refused = Math.max(attempts - attemptsBefore, health.current?.failures ?? 0);
    const reason = togetherBecause(
      { madeAt: event.createdAt, attempts, refused, behind: queue.behind(head).length },
      { isHeld: pace.heldUntil !== null, isLast: room.isLast },
      now,
    );
    if (reason === null) return { kind: 'go', along: [], together: null };
    await gather(subscriber, head);
    const along = queue.takeAlong(head, MOST_TOGETHER - 1);
    if (along.length === 0 && !isLate(reason)) return { kind: 'go', along, together: null };
    const incidents = await incidentsNow(sql, [head, ...along].flatMap(incidentOf));
    return { kind: 'go', along, together: { reason, incidents } };
  };

  return {
    /** Decides about the first delivery of a lane. Never rejects. */
    plan: (subscriber: Subscriber, head: DueDelivery): Promise<BatchPlan> =>
      plan(subscriber, head).catch((error: unknown) => {
        log.warn({ error, subscriber: subscriber.recipient.name }, 'delivery.not_planned');
        return { kind: 'unknown' };
      }),
  };
}

/** Whether the event is news of something critical. */
function isUrgent({ event: { type, body } }: DueDelivery): boolean {
  if (!NEWS.includes(type) || !body.includes('"critical"')) return false;
  const event = readIncidentEvent(body);
  return 'severity' in event && event.severity === 'critical';
}

/** The id of the event's incident; none when the event is about none. */
function incidentOf({ event: { body } }: DueDelivery): string[] {
  const event = readIncidentEvent(body);
  return 'incidentId' in event ? [event.incidentId] : [];
}
