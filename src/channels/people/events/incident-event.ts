/** Events for people, which only channels for people receive, read back from their body. */

import { SUBSCRIBER_TROUBLES, type SubscriberTrouble } from '../../../domain/incidents/incident.ts';
import { type ReplicaTrouble, readReplicaData } from '../../../domain/incidents/replica-trouble.ts';
import type { NamedState } from '../../../domain/purchases/states.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { type Checkouts, readCheckouts } from './checkouts-event.ts';
import { count, type Fields, fields, instant, list, parsed, state, text, whole } from './event-fields.ts';
import { type IncidentHead, readHead } from './incident-head.ts';
import { readStuck, type StuckIncident } from './stuck-event.ts';

/** A site of which no purchase can be read. */
export interface UnreachableIncident extends IncidentHead {
  readonly kind: 'unreachable';
  readonly site: string;
  /** See SiteTrouble; null in events from before it was kept. */
  readonly reason: string | null;
  readonly lastError: string | null;
  /** When an answer last showed a purchase: some may be read while too few are. Null: never, or not known. */
  readonly lastReadAt: Instant | null;
}

/** A subscriber that takes nothing, does not take everything, or was switched off. */
export interface SubscriberIncident extends IncidentHead {
  readonly kind: 'subscriber';
  readonly subscriber: string;
  /** What kind of receiver it is: webhook, slack, … */
  readonly channel: string | null;
  /** Whether it is for people; those of before it was noted are known by their kind. */
  readonly audience: string;
  readonly origin: string | null;
  /** Null at the end. */
  readonly trouble: SubscriberTrouble | null;
  /** How it came to an end; null before. */
  readonly outcome: string | null;
  /** In a row. */
  readonly failures: number;
  readonly failingSince: Instant | null;
  /** Since when nothing gets through to it for a reason of ours. */
  readonly ourFailingSince: Instant | null;
  /** Nothing is even tried: what is stored of it cannot be used. */
  readonly untried: boolean;
  readonly lastError: string | null;
  readonly nextTryAt: Instant | null;
  readonly offSince: Instant | null;
  /** Deliveries that wait, and that were given up since it began; counted up to `countedTo`. */
  readonly waiting: number;
  readonly givenUp: number;
  readonly countedTo: number | null;
  /** When the first event of those given up was made. */
  readonly givenUpFrom: Instant | null;
}

/** Replicas of the daemon that cannot do their work. */
export interface ReplicaIncident extends IncidentHead {
  readonly kind: 'replica';
  /** At the end, those that people were told last. */
  readonly troubles: readonly ReplicaTrouble[];
}

/** Purchases that had been waiting before anybody watched them. */
export interface FirstLook {
  readonly kind: 'first_look';
  readonly site: string;
  readonly at: Instant;
  readonly count: number;
  readonly parts: readonly { readonly state: NamedState; readonly count: number }[];
  /** Purchases registered at the site, and those of them that nobody has asked about yet. */
  readonly registered: number | null;
  readonly unseen: number | null;
  /** When the one came that has waited longest. */
  readonly since: Instant | null;
}

/** What has happened since the last one. */
export interface Digest {
  readonly kind: 'digest';
  readonly at: Instant;
  /** Of a shape that whoever made it knows. */
  readonly data: Fields;
}

/** An event that is not about an incident, or whose shape nobody here knows. */
export interface OtherEvent {
  readonly kind: 'other';
  readonly id: string;
  readonly type: string;
}

/** What an event for people is about. */
export type PeopleEvent =
  | StuckIncident
  | UnreachableIncident
  | SubscriberIncident
  | ReplicaIncident
  | FirstLook
  | Digest
  | Checkouts
  | OtherEvent;

/** Reads an event's body. An alarm in an unknown shape is still an alarm: it comes back as `other`, never as an error. */
export function readIncidentEvent(body: string): PeopleEvent {
  const event = fields(parsed(body));
  const data = fields(event.data);
  const type = text(event.type) ?? '';
  const known = readFirstLook(event, data) ?? readDigest(event, data) ?? readCheckouts(event, data) ?? readIncident(event, data);
  return known ?? { kind: 'other', id: text(event.id) ?? '', type };
}

function readIncident(
  event: Fields,
  data: Fields,
): StuckIncident | UnreachableIncident | SubscriberIncident | ReplicaIncident | null {
  const head = readHead(event, data);
  if (head === null) return null;
  if (data.kind === 'subscriber') return subscriberIncident(head, data);
  if (data.kind === 'stuck') return readStuck(head, data);
  if (data.kind === 'replica') return { ...head, kind: 'replica', troubles: readReplicaData(data) };
  const site = text(data.site);
  if (data.kind !== 'unreachable' || site === null) return null;
  const [reason, lastError, lastReadAt] = [text(data.reason), text(data.lastError), instant(data.lastReadAt)];
  return { ...head, kind: 'unreachable', site, reason, lastError, lastReadAt };
}

function readFirstLook(event: Fields, data: Fields): FirstLook | null {
  const at = instant(event.timestamp);
  const site = text(data.site);
  const total = count(data.count);
  if (event.type !== 'incident.first_look' || at === null || site === null || total === null) return null;
  const parts = list(data.parts).flatMap((part) => {
    const [itsState, itsCount] = [state(fields(part).state), count(fields(part).count)];
    return itsState === null || itsCount === null ? [] : [{ state: itsState, count: itsCount }];
  });
  const [registered, unseen, since] = [count(data.registered), count(data.unseen), instant(data.since)];
  return { kind: 'first_look', site, at, count: total, parts, registered, unseen, since };
}

function readDigest(event: Fields, data: Fields): Digest | null {
  const at = instant(event.timestamp);
  return event.type === 'incident.digest' && at !== null ? { kind: 'digest', at, data } : null;
}

function subscriberIncident(head: IncidentHead, data: Fields): SubscriberIncident | null {
  const subscriber = text(data.subscriber);
  const trouble = SUBSCRIBER_TROUBLES.find((word) => word === data.trouble) ?? null;
  if (subscriber === null || (trouble === null && head.stage !== 'ended')) return null;
  return {
    ...head,
    kind: 'subscriber',
    subscriber,
    channel: text(data.channel),
    audience: text(data.audience) ?? (data.channel === 'slack' ? 'people' : 'systems'),
    origin: text(data.origin),
    trouble,
    outcome: text(data.outcome),
    failures: whole(data.failures) ?? 0,
    failingSince: instant(data.failingSince),
    ourFailingSince: instant(data.ourFailingSince),
    untried: data.untried === true,
    lastError: text(data.lastError),
    nextTryAt: instant(data.nextTryAt),
    offSince: instant(data.offSince),
    waiting: whole(data.waiting) ?? 0,
    givenUp: whole(data.givenUp) ?? 0,
    countedTo: whole(data.countedTo),
    givenUpFrom: instant(data.givenUpFrom),
  };
}
