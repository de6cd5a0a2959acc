/**
 * Has people alerted when this replica cannot do its work: through rows that the judge reads, or, while the database keeps
 * no alert, by posting straight to the channels for people.
 */

import { hostname } from 'node:os';
import { levelOf } from '../../domain/incidents/incident.ts';
import { type ReplicaTrouble, replicaData, replicaSentence, replicaSymptoms } from '../../domain/incidents/replica-trouble.ts';
import { type DirectAlert, directAlert, posted } from '../../domain/replicas/direct-alert.ts';
import type { TroubleSeen } from '../../domain/replicas/loop-health.ts';
import type { JsonValue } from '../../domain/values/exact-json.ts';
import { type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { saveReplicaTroubles } from '../../postgres/shards/replica-troubles.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface TroublesOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly replica: string;
  /** What keeps this replica from its work now, by each part that can say so. */
  readonly sources: readonly (() => readonly TroubleSeen[])[];
  /** Whether this replica held the judge's lease last, or cannot know who did: one of several replicas posts. */
  mayAlert(): boolean;
  /** Written here alone. */
  readonly posted: PostedAlert;
  /** Posts to the channels for people; false when none took it. */
  post(stage: 'opened' | 'ended', data: { readonly [key: string]: JsonValue }): Promise<boolean>;
}

/** Whether people were alerted by a post of this replica, and it is not over: the judge need not alert them again. */
export interface PostedAlert {
  isPosted: boolean;
}

export interface Troubles {
  tick(): Promise<Milliseconds>;
}

const EVERY: Milliseconds = 5_000;
/** Rests between posts that no channel took. */
const FIRST_REST: Milliseconds = 10_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
/** Rows count as stored for so long after they were written. */
const STORED_FOR: Milliseconds = 3 * EVERY;
/** The reasons for which an alert that is stored does not reach people. */
const SILENT: readonly string[] = ['not_judging', 'not_settling'];

export function createTroubles(options: TroublesOptions): Troubles {
  const { sql, clock, log, replica, sources, mayAlert, post, posted: shared } = options;
  const host = `${hostname()} (process ${process.pid})`;
  /** Rows of this replica may be there. */
  let hasRows = false;
  let storedAt: Milliseconds = Number.NEGATIVE_INFINITY;
  let saving: Promise<void> | null = null;
  let alert: DirectAlert | null = null;
  /** What was posted to people last. */
  let alerted: readonly ReplicaTrouble[] = [];
  let notBefore: Milliseconds = Number.NEGATIVE_INFINITY;
  let rest: Milliseconds = FIRST_REST;
  /** The reasons that were logged last. */
  let logged = '';

  const save = (troubles: readonly ReplicaTrouble[]): void => {
    if (saving !== null || (troubles.length === 0 && !hasRows)) return;
    // Even a write whose answer is lost may have been made.
    hasRows = true;
    saving = saveReplicaTroubles(sql, { replica, host }, troubles)
      .then(
        () => {
          storedAt = clock.monotonic();
          hasRows = troubles.length > 0;
        },
        (error: unknown) => log.debug({ error }, 'replica.troubles_not_stored'),
      )
      .finally(() => {
        saving = null;
      });
  };

  const report = (troubles: readonly ReplicaTrouble[]): void => {
    const reasons = troubles.map(({ reason }) => reason).join();
    if (reasons === logged) return;
    if (troubles.length === 0) log.info('replica.recovered');
    else log.error({ reasons, since: isoTime(earliest(troubles)), detail: replicaSentence(troubles, false) }, 'replica.troubled');
    logged = reasons;
  };

  const alertDirectly = async (troubles: readonly ReplicaTrouble[]): Promise<void> => {
    const now = clock.monotonic();
    const isStored = now - storedAt <= STORED_FOR;
    const isBlind = troubles.some(({ reason }) => SILENT.includes(reason)) || (troubles.length > 0 && !isStored);
    const next = directAlert(alert, { isTroubled: troubles.length > 0, isBlind, mayAlert: mayAlert(), now });
    alert = next.after;
    if (next.post === null || alert === null || now < notBefore) return;
    const named = next.post === 'opened' ? troubles : alerted;
    if (await post(next.post, dataOf(named, next.post, clock.now()))) {
      alert = posted(alert, next.post);
      alerted = named;
      rest = FIRST_REST;
      log.warn({ stage: next.post, detail: replicaSentence(named, next.post === 'ended') }, 'replica.posted');
      return;
    }
    notBefore = clock.monotonic() + rest;
    rest = Math.min(2 * rest, LONGEST_REST);
  };

  return {
    tick: async () => {
      const now = clock.now();
      const seen = sources.flatMap((source) => source());
      const troubles = seen.map(({ reason, error, ...each }) => ({ replica, host, reason, error, since: now - each.for }));
      report(troubles);
      save(troubles);
      // Not longer than a moment: a database that does not answer is what people must know of.
      if (saving !== null) await Promise.race([saving, clock.sleep(EVERY / 2, new AbortController().signal)]);
      await alertDirectly(troubles);
      shared.isPosted = alert?.isAlerted === true;
      return EVERY;
    },
  };
}

function earliest(troubles: readonly ReplicaTrouble[]): Instant {
  return Math.min(...troubles.map(({ since }) => since));
}

/** What an event holds that no incident in the database stands behind. */
function dataOf(
  troubles: readonly ReplicaTrouble[],
  stage: 'opened' | 'ended',
  now: Instant,
): { readonly [key: string]: JsonValue } {
  const since = isoTime(earliest(troubles));
  const [symptom] = replicaSymptoms(troubles);
  return {
    ...{ incidentId: null, kind: 'replica', site: null, openedAt: since, endedAt: stage === 'ended' ? isoTime(now) : null },
    ...{ reopenedAt: null, since, severity: levelOf(symptom!), acknowledged: null, answer: null },
    ...replicaData(troubles),
  };
}
