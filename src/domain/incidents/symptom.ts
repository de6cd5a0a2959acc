/** Symptoms: troubles that exist now, before they are incidents. */
import type { Instant } from '../values/time.ts';
import type { Alarm } from './detection.ts';

export type IncidentKind = 'stuck' | 'unreachable' | 'subscriber' | 'replica';

/** The trouble that one (kind, site, state), or one subscriber, has now. */
export interface Symptom {
  readonly kind: IncidentKind;
  readonly site: string | null;
  readonly state: number | null;
  readonly subscriber: string | null;
  /** 0 where there are no degrees. */
  readonly severity: number;
  readonly count: number;
  readonly since: Instant;
  /** The alarm that the symptom rests on, where it rests on a count. */
  readonly alarm?: Alarm | null;
  /** Of those who were stuck, how many got on after all so far. */
  readonly movedOn?: number;
  /** When the alarm ends if nothing goes wrong again; null or absent while that is not known. */
  readonly clearsAt?: Instant | null;
}

/** The severity of a site whose purchases are not polled because no daemon names it, or have not moved to its present name; of a site that gives no usable answer it is 0. */
export const UNNAMED = 1;

/** Whether an incident of a site is about its name, by the incident's severity. */
export const isUnnamed = (severity: number): boolean => severity === UNNAMED;
