/** What every event about an incident says, whatever it is about. */
import type { Instant } from '../../../domain/values/time.ts';
import { type Fields, fields, instant, text } from './event-fields.ts';

const STAGES = ['opened', 'reopened', 'grew', 'reminder', 'ended'] as const;
/** What an event says of its incident. */
export type IncidentStage = (typeof STAGES)[number];

/** Who looks after an incident. */
export interface Acknowledged {
  readonly by: string;
  readonly note: string | null;
  readonly at: Instant | null;
}

export interface IncidentHead {
  readonly incidentId: string;
  readonly stage: IncidentStage;
  /** When the event was made. */
  readonly at: Instant;
  readonly openedAt: Instant;
  readonly endedAt: Instant | null;
  /** When it came back last; null while it never did. */
  readonly reopenedAt: Instant | null;
  /** The first symptom: when the oldest customer who waits came, or the first call without an answer. */
  readonly since: Instant;
  /** Null in events of before there were levels. */
  readonly severity: 'warning' | 'critical' | null;
  readonly acknowledged: Acknowledged | null;
  /** Nothing is wrong: somebody wants to see how messages look. */
  readonly isTest: boolean;
}

/** Whether somebody looks after it: whoever did before it came back may think that it is over. */
export function isLookedAfter({ acknowledged, reopenedAt }: Pick<IncidentHead, 'acknowledged' | 'reopenedAt'>): boolean {
  if (acknowledged === null) return false;
  return acknowledged.at === null || reopenedAt === null || acknowledged.at >= reopenedAt;
}

/** Reads what an event about an incident begins with; null when it is none or lacks what no message can do without. */
export function readHead(event: Fields, data: Fields): IncidentHead | null {
  const stage = STAGES.find((word) => event.type === `incident.${word}`);
  const at = instant(event.timestamp);
  const since = instant(data.since);
  if (stage === undefined || at === null || since === null) return null;
  const acknowledged = fields(data.acknowledged);
  const by = text(acknowledged.by);
  return {
    incidentId: text(data.incidentId) ?? '',
    stage,
    at,
    openedAt: instant(data.openedAt) ?? since,
    endedAt: instant(data.endedAt),
    reopenedAt: instant(data.reopenedAt),
    since,
    severity: data.severity === 'warning' || data.severity === 'critical' ? data.severity : null,
    acknowledged: by === null ? null : { by, note: text(acknowledged.note), at: instant(acknowledged.at) },
    isTest: data.test === true,
  };
}
