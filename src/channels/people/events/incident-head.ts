/** What every event about an incident has, whatever it is about. */
import type { IncidentData, IncidentStage } from '../../../domain/events/people-event-types.ts';
import type { Instant } from '../../../domain/values/time.ts';

/** Who looks after an incident. */
interface Acknowledged {
  readonly by: string;
  readonly note: string | null;
  readonly at: Instant | null;
}

/** Data of an event about an incident, with what the envelope and the type of the event say. */
export type WithHead<Data> = Data extends unknown
  ? Readonly<Omit<Data, 'acknowledged' | 'test'>> & {
      readonly stage: IncidentStage;
      /** When the event was made. */
      readonly at: Instant;
      readonly acknowledged: Acknowledged | null;
      /** Nothing is wrong: a person wants to see how messages look. */
      readonly isTest: boolean;
    }
  : never;

export type IncidentHead = WithHead<Omit<IncidentData<'replica'>, 'kind' | 'troubles' | 'postedBy'>>;

/** Adds the head to the data of an event. */
export function withHead<Data extends IncidentData>(
  { stage, at }: Pick<IncidentHead, 'stage' | 'at'>,
  data: Data,
): WithHead<Data> {
  const { acknowledged: given, test, ...rest } = data;
  const openedAt = Number.isNaN(data.openedAt) ? data.since : data.openedAt;
  const acknowledged = given === null || given.by === null ? null : { ...given, by: given.by };
  return { ...rest, stage, at, openedAt, acknowledged, isTest: test === true } as unknown as WithHead<Data>;
}

/** Whether a person looks after it: who did before it came back may think that it is over. */
export function isLookedAfter({ acknowledged, reopenedAt }: Pick<IncidentHead, 'acknowledged' | 'reopenedAt'>): boolean {
  if (acknowledged === null) return false;
  return acknowledged.at === null || reopenedAt === null || acknowledged.at >= reopenedAt;
}
