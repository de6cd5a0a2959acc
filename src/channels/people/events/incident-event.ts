/** Events for people, which only channels for people receive, read back from their body. */

import {
  type DigestData,
  type FirstLookData,
  INCIDENT_STAGES,
  type IncidentData,
  type PaidTwiceData,
  type PeopleEventBody,
  readPeopleEvent,
} from '../../../domain/events/people-event-types.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { type Checkouts, checkoutsOf } from './checkouts-event.ts';
import type { WithHead } from './incident-head.ts';
import { type StuckIncident, stuckIncident } from './stuck-event.ts';

/** A site of which no purchase is read. */
export type UnreachableIncident = WithHead<IncidentData<'unreachable'>>;
/** A subscriber that takes nothing, does not take everything, or was switched off. */
export type SubscriberIncident = Omit<WithHead<IncidentData<'subscriber'>>, 'audience'> & { readonly audience: string };
/** Replicas of the daemon that cannot do their work. */
export type ReplicaIncident = WithHead<IncidentData<'replica'>>;
/** Stuck purchases of a site's first load. */
export type FirstLook = Readonly<FirstLookData> & { readonly at: Instant };

/** A report of everything since the last digest. */
export interface Digest {
  readonly kind: 'digest';
  readonly at: Instant;
  readonly data: DigestData;
}

/** Orders of a site that were paid twice. */
export type PaidTwice = Readonly<PaidTwiceData>;

/** An event that is not about an incident, or has a shape that this version does not know. */
export interface OtherEvent {
  readonly kind: 'other';
  readonly id: string;
  readonly type: string;
}

/** An event for people, by its subject. */
export type PeopleEvent =
  | StuckIncident
  | UnreachableIncident
  | SubscriberIncident
  | ReplicaIncident
  | FirstLook
  | Digest
  | Checkouts
  | PaidTwice
  | OtherEvent;

/** Reads an event's body. An alarm in an unknown shape is still an alarm: it comes back as `other`, never as an error. */
export function readIncidentEvent(body: string): PeopleEvent {
  const event = readPeopleEvent(body);
  return (event === null ? null : known(event)) ?? other(body);
}

function known({ type, timestamp: at, data }: PeopleEventBody): PeopleEvent | null {
  switch (data.kind) {
    case 'first_look':
      return { ...data, at };
    case 'digest':
      return { kind: 'digest', at, data };
    case 'checkouts':
      return checkoutsOf(at, data);
    case 'paid_twice':
      return data.orders.some(({ payments }) => payments.length > 0) ? data : null;
    default: {
      const head = {
        stage: INCIDENT_STAGES.find((each) => type === `incident.${each}`)!,
        at,
        openedAt: Number.isNaN(data.openedAt) ? data.since : data.openedAt,
      };
      if (data.kind === 'stuck') return stuckIncident({ ...data, ...head });
      if (data.kind !== 'subscriber') return { ...data, ...head };
      if (data.trouble === null && head.stage !== 'ended') return null;
      // Older events name no audience: theirs follows from the kind of channel.
      return { ...data, ...head, audience: data.audience ?? (data.channel === 'slack' ? 'people' : 'systems') };
    }
  }
}

function other(body: string): OtherEvent {
  const { id, type } = (parsed(body) ?? {}) as { readonly id?: unknown; readonly type?: unknown };
  return { kind: 'other', id: typeof id === 'string' ? id : '', type: typeof type === 'string' ? type : '' };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
