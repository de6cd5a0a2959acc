/** An event about an incident, brought up to how the incident is when the message is sent. */

import { namedState } from '../../../domain/purchases/states.ts';
import type { Instant } from '../../../domain/values/time.ts';
import type { IncidentNow } from '../../../postgres/incidents/current.ts';
import type { ReplicaIncident, SubscriberIncident, UnreachableIncident } from './incident-event.ts';
import type { StuckIncident, StuckPart } from './stuck-event.ts';

export type IncidentEvent = StuckIncident | UnreachableIncident | SubscriberIncident | ReplicaIncident;

/**
 * The incident as it is now. One whose end was announced stays as it was announced. What is not counted again (the money, the purchases, the causes)
 * stays as of the event; what is counted only when it is judged is left out.
 */
export function broughtUpToDate(event: IncidentEvent, now: IncidentNow, at: Instant): IncidentEvent {
  if (event.stage === 'ended') return event;
  const { count, peak, since, endedAt, level, acknowledged, hasParent } = now;
  // The owner of its parent may look after it.
  const care = hasParent ? (acknowledged ?? event.acknowledged) : acknowledged;
  const stage = endedAt === null ? event.stage : 'ended';
  const common = { stage, since, endedAt, severity: level, acknowledged: care, at: Math.max(event.at, at) } as const;
  if (event.kind === 'unreachable' || event.kind === 'replica') return { ...event, ...common };
  if (event.kind === 'subscriber') {
    return event.trouble === 'given_up' ? { ...event, ...common, givenUp: count } : { ...event, ...common, waiting: count };
  }
  const most = Math.max(count, peak);
  return { ...event, ...common, count, peak: most, parts: partsOf(event, now), lately: null };
}

function partsOf({ parts, site, state, count }: StuckIncident, now: IncidentNow): StuckPart[] {
  if (now.parts.length > 0) return now.parts.map((part) => ({ ...part, state: namedState(part.state) }));
  const [only] = parts;
  if (site === null || state === null || parts.length !== 1 || only === undefined) return parts;
  return now.count === count ? parts : [{ ...only, count: now.count, peak: Math.max(now.peak, now.count) }];
}
