/** Events about stuck purchases, as they are read back from their body. */

import type { IncidentData } from '../../../domain/events/people-event-types.ts';
import type { WithHead } from './incident-head.ts';

/** At least one part: one for each state of each site that the incident is about. */
export type StuckIncident = WithHead<IncidentData<'stuck'>>;
/** Customers who stay in one state of one site. */
export type StuckPart = StuckIncident['parts'][number];
/** How long customers take who get on, and where that is known from. */
export type Working = NonNullable<StuckIncident['dwell']>;
/** The evidence for the incident, as it was when the incident was noticed. */
export type EventAlarm = NonNullable<StuckIncident['alarm']>;
/** The cause of an incident, as a person named it. */
export type Answer = Omit<NonNullable<StuckIncident['earlier']>, 'site' | 'state'> &
  Partial<Pick<NonNullable<StuckIncident['earlier']>, 'site' | 'state'>>;

/** An event about stuck purchases with all that follows from its data; null when it does not say where. */
export function stuckIncident(data: StuckIncident): StuckIncident | null {
  const { site, state, count } = data;
  const peak = Math.max(count, data.peak);
  const only = site !== null && state !== null ? [{ site, state, count, peak, ended: false }] : [];
  const parts = data.parts.length === 0 ? only : data.parts.map((part) => ({ ...part, peak: Math.max(part.count, part.peak) }));
  if (parts.length === 0) return null;
  const isDwellKnown = data.dwell !== null && Object.values(data.dwell).some((value) => value !== null);
  return { ...data, peak, parts, dwell: isDwellKnown ? data.dwell : null };
}
