/**
 * What leaves now for a channel for people: one message, all that waits in one, or nothing yet because the hour has had
 * enough of them. What counts is in the database, so that a restart and another replica know it.
 */

import { type Fields, fields, parsed, text } from '../../channels/slack/events/event-fields.ts';
import {
  allowedFrom,
  isLastOfTheHour,
  isLate,
  restAfter,
  type TogetherReason,
  togetherBecause,
} from '../../domain/deliveries/channel-pace.ts';
import { isAhead } from '../../domain/values/clock-ahead.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { messagesTaken, waitingInLane } from '../../postgres/deliveries/channel-lane.ts';
import type { DueDelivery } from '../../postgres/deliveries/deliveries.ts';
import { type IncidentNow, incidentsNow } from '../../postgres/incidents/current.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SubscriberQueue } from './subscriber-queue.ts';

/** In one message at most. */
const MOST_TOGETHER = 500;
const HOUR: Milliseconds = 60 * 60_000;
/** While it is held, look this often whether something urgent came. */
const LOOK_AGAIN: Milliseconds = 5_000;
/** What is news to whoever must act. */
const NEWS: readonly string[] = ['incident.opened', 'incident.reopened', 'incident.grew'];

export type BatchPlan =
  /** Leaves, with these, told together or as what comes late; null: new and by itself. */
  | { readonly kind: 'go'; readonly along: readonly DueDelivery[]; readonly together: Together | null }
  /** The hour has had enough messages. */
  | { readonly kind: 'wait'; readonly until: Instant }
  /** Somebody else has just told this channel something. */
  | { readonly kind: 'rest'; readonly wait: Milliseconds }
  /** The database does not say; it is asked again soon. */
  | { readonly kind: 'unknown' };

interface Together {
  readonly reason: TogetherReason;
  readonly incidents: ReadonlyMap<string, IncidentNow>;
}

export interface MessageBatching {
  /** Decides about a delivery that was taken from its lane. Never rejects. */
  plan(queue: SubscriberQueue, head: DueDelivery): Promise<BatchPlan>;
}

/** Whether the hour has had enough messages for this subscriber, as far as was found lately. A hold from before the clock was set back is over. */
export function isHeldBack({ heldUntil }: Pick<SubscriberQueue, 'heldUntil'>, now: Instant): boolean {
  return heldUntil !== null && heldUntil > now && !isAhead(heldUntil, now);
}

export interface MessageBatchingOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads between other readings of the outbox: what is read while another reading is under way could be read twice. */
  read<T>(work: () => Promise<T>): Promise<T>;
}

export function createMessageBatching({ sql, clock, log, read }: MessageBatchingOptions): MessageBatching {
  /** Brings all that waits in the head's lane into memory, as far as it goes into one message. */
  const gather = (queue: SubscriberQueue, head: DueDelivery): Promise<void> =>
    read(async () => {
      const waiting = await waitingInLane(sql, { ...head, most: MOST_TOGETHER });
      // Its lane was forgotten meanwhile: then it leaves alone, and the outbox tells the rest.
      if (!queue.has(head.id)) return;
      for (const delivery of waiting) if (!queue.has(delivery.id)) queue.add(delivery);
    });

  const plan = async (queue: SubscriberQueue, head: DueDelivery): Promise<BatchPlan> => {
    const { id, name, maxPerHour, spacing } = queue.recipient;
    const now = clock.now();
    let isLast = false;
    const messages = await messagesTaken(sql, { subscriber: id, since: now - HOUR, now, most: maxPerHour ?? 1 });
    const [last] = messages;
    // Not ours, and not waited out yet: from before a restart, or of a daemon that had the shard.
    if (last !== undefined && last > queue.takenAt) {
      queue.takenAt = last;
      const wait = restAfter(last, { spacing, now });
      if (wait > 0) return { kind: 'rest', wait };
    }
    if (maxPerHour !== undefined) {
      const spoken = { messages, maxPerHour };
      const from = allowedFrom(spoken, false);
      const hasUrgent = from > now && [head, ...queue.behind(head)].some(isUrgent);
      const urgentFrom = hasUrgent ? allowedFrom(spoken, true) : from;
      if (urgentFrom > now) {
        // Said once for as long as it lasts.
        if (queue.heldUntil === null) log.warn({ subscriber: name, maxPerHour, waitMs: urgentFrom - now }, 'channel.capped');
        return { kind: 'wait', until: Math.min(urgentFrom, now + LOOK_AGAIN) };
      }
      isLast = isLastOfTheHour(spoken, now);
    }
    const { attempts, attemptsBefore, event } = head;
    const behind = queue.behind(head).length;
    // A message that Slack asked to have later counts nowhere else.
    const refusals = queue.standing.health?.failures ?? 0;
    const reason = togetherBecause(
      { madeAt: event.createdAt, attempts, refused: Math.max(attempts - attemptsBefore, refusals), behind },
      { isHeld: queue.heldUntil !== null, isLast },
      now,
    );
    if (reason === null) return { kind: 'go', along: [], together: null };
    await gather(queue, head);
    const along = queue.takeAlong(head, MOST_TOGETHER - 1);
    if (along.length === 0 && !isLate(reason)) return { kind: 'go', along, together: null };
    const incidents = await incidentsNow(sql, [head, ...along].flatMap(incidentOf));
    return { kind: 'go', along, together: { reason, incidents } };
  };

  return {
    plan: (queue, head) =>
      plan(queue, head).catch((error: unknown) => {
        log.warn({ error, subscriber: queue.recipient.name }, 'delivery.not_planned');
        return { kind: 'unknown' };
      }),
  };
}

/** Whether it has news of something critical. */
function isUrgent({ event: { type, body } }: DueDelivery): boolean {
  if (!NEWS.includes(type) || !body.includes('"critical"')) return false;
  return dataOf(body).severity === 'critical';
}

/** The incident it tells of, if it tells of one. */
function incidentOf({ event: { body } }: DueDelivery): string[] {
  const id = text(dataOf(body).incidentId);
  return id === null ? [] : [id];
}

function dataOf(body: string): Fields {
  return fields(fields(parsed(body)).data);
}
