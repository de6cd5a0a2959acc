/** What is wrong now, before it is an incident. */
import type { Instant } from '../values/time.ts';
import type { Alarm } from './detection.ts';

export type IncidentKind = 'stuck' | 'unreachable' | 'subscriber' | 'replica';

/** What is wrong now with one (kind, site, state), or with one subscriber. */
export interface Symptom {
  readonly kind: IncidentKind;
  readonly site: string | null;
  readonly state: number | null;
  readonly subscriber: string | null;
  /** 0 where there are no degrees. */
  readonly severity: number;
  readonly count: number;
  readonly since: Instant;
  /** What it rests on, where it rests on a count. */
  readonly alarm?: Alarm | null;
  /** Of those who were overdue, how many got on after all so far. */
  readonly movedOn?: number;
  /** When the alarm ends if nothing goes wrong again; null or absent while that is not known. */
  readonly clearsAt?: Instant | null;
}

/** What keeps an incident that is quiet from its end. */
export const ENDS_UNLESS: Readonly<Record<IncidentKind, string>> = {
  stuck: 'unless another customer gets stuck',
  unreachable: 'unless calls fail again',
  subscriber: 'unless deliveries fail again',
  replica: 'unless a replica fails again',
};
