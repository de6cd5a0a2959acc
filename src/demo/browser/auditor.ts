/** Runs `audit` again and again while a page of the demo is open, for the panel of the receiver. */
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { audit } from '../../postgres/upkeep/audit.ts';
import { monotonic, wall } from '../../runtime/time.ts';

export interface AuditSummary {
  readonly at: Instant;
  /** Announced changes that were checked. */
  readonly events: number;
  readonly gaps: number;
  /** The first gap, in words. */
  readonly first: string | null;
}

const REST: Milliseconds = 5_000;
/** Audits take at most this share of the time, however much the database keeps. */
const SHARE = 1 / 20;

/** Audits all that the database holds; answers the last verdict, null before the first, and asks for another when that is old. */
export function createAuditor(sql: Sql): () => AuditSummary | null {
  let last: AuditSummary | null = null;
  let nextAt = 0;
  const run = async (): Promise<void> => {
    nextAt = Number.POSITIVE_INFINITY;
    const begun = monotonic();
    try {
      const result = await audit(sql, { site: null, since: null });
      const checks = Object.values(result);
      last = {
        at: wall(),
        events: result.announcements.checked,
        gaps: checks.reduce((sum, { gaps }) => sum + gaps, 0),
        first: checks.flatMap(({ first }) => first)[0]?.detail ?? null,
      };
    } catch {
      // The demo ends; the last verdict keeps its time.
    }
    const took = monotonic() - begun;
    nextAt = monotonic() + Math.max(REST, took / SHARE);
  };
  return () => {
    if (monotonic() >= nextAt) void run();
    return last;
  };
}
