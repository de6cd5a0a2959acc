/** The fields of every event about an incident, whatever its kind. */
import type { IncidentData, IncidentStage } from '../../../domain/events/people-event-types.ts';
import type { Instant } from '../../../domain/values/time.ts';

/** Data of an event about an incident, with what the envelope and the type of the event say. */
export type WithHead<Data> = Readonly<Data> & {
  readonly stage: IncidentStage;
  /** When the event was made. */
  readonly at: Instant;
};

export type IncidentHead = WithHead<Omit<IncidentData<'replica'>, 'kind' | 'troubles' | 'postedBy'>>;

/** The person who looks after the incident, or did before it came back; null without one, or when the event names none. */
export function ownerOf({ acknowledged }: Pick<IncidentHead, 'acknowledged'>) {
  if (acknowledged === null || acknowledged.by === null) return null;
  return { ...acknowledged, by: acknowledged.by };
}

/** Whether a person looks after it: who did before it came back may think that it is over. */
export function isLookedAfter({ acknowledged, reopenedAt }: Pick<IncidentHead, 'acknowledged' | 'reopenedAt'>): boolean {
  const owner = ownerOf({ acknowledged });
  return owner !== null && (owner.at === null || reopenedAt === null || owner.at >= reopenedAt);
}
