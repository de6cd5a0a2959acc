/**
 * Has people alerted when this replica cannot do its work: through rows that the judge reads, or, while the database keeps
 * no alert, by posting straight to the channels for people. The post is recorded once the database can keep it.
 */

import { hostname } from 'node:os';
import { ulid } from 'ulid';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { type ReplicaTrouble, replicaData, replicaSentence, replicaSymptoms } from '../../domain/incidents/replica-trouble.ts';
import type { Symptom } from '../../domain/incidents/symptom.ts';
import { type DirectAlert, directAlert, posted } from '../../domain/replicas/direct-alert.ts';
import type { TroubleSeen } from '../../domain/replicas/loop-health.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { EventRow } from '../../postgres/events/events.ts';
import { recordPost } from '../../postgres/incidents/posted.ts';
import { saveReplicaTroubles } from '../../postgres/shards/replica-troubles.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Deps } from '../deps.ts';

interface TroublesOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'> {
  /** The troubles that keep this replica from its work now, by each part that can say so. */
  readonly sources: readonly (() => readonly TroubleSeen[])[];
  /** How many replicas post before this one. */
  rank(): number;
  /** Posts to the channels for people; null when none took it. */
  post(data: IncidentEventData<'incident.opened'>): Promise<Post | null>;
}

/** An event that was posted, and the names of the channels that took it. */
interface Post {
  readonly event: EventRow;
  readonly channels: readonly string[];
}

const EVERY: Milliseconds = 5_000;
/** Rests between posts that no channel took. */
const FIRST_REST: Milliseconds = 10_000;
const LONGEST_REST: Milliseconds = 5 * 60_000;
/** Rows count as stored for so long after they were written. */
const STORED_FOR: Milliseconds = 3 * EVERY;
/** The reasons for which an alert that is stored does not reach people. */
const SILENT: readonly string[] = ['not_judging', 'not_settling'];

export function createTroubles(options: TroublesOptions) {
  const { sql, clock, log, replica, sources, rank } = options;
  const host = `${hostname()} (process ${process.pid})`;
  /** Rows of this replica may be there. */
  let hasRows = false;
  let storedAt: Milliseconds = Number.NEGATIVE_INFINITY;
  const saving = createBackground(log, 'replica.troubles_not_stored');
  const recording = createBackground(log, 'replica.post_not_recorded');
  let alert: DirectAlert | null = null;
  /** Posted and not recorded yet. */
  let unrecorded: (Post & { readonly symptom: Symptom }) | null = null;
  let notBefore: Milliseconds = Number.NEGATIVE_INFINITY;
  let rest: Milliseconds = FIRST_REST;
  /** The reasons that were logged last. */
  let logged = '';

  const save = (troubles: readonly ReplicaTrouble[]): void => {
    if (troubles.length === 0 && !hasRows) return;
    saving.begin(async () => {
      // Even a write whose answer is lost may have been made.
      hasRows = true;
      await saveReplicaTroubles(sql, { replica, host }, troubles);
      storedAt = clock.monotonic();
      hasRows = troubles.length > 0;
    });
  };

  const record = (): void => {
    const post = unrecorded;
    if (post === null) return;
    recording.begin(async () => {
      await recordPost(sql, post);
      unrecorded = null;
    });
  };

  const report = (troubles: readonly ReplicaTrouble[]): void => {
    const reasons = troubles.map(({ reason }) => reason).join();
    if (reasons === logged) return;
    if (troubles.length === 0) log.info({}, 'replica.recovered');
    else
      log.error(
        { reasons, since: isoTime(Math.min(...troubles.map(({ since }) => since))), detail: replicaSentence(troubles, false) },
        'replica.troubled',
      );
    logged = reasons;
  };

  const alertDirectly = async (troubles: readonly ReplicaTrouble[]): Promise<void> => {
    const now = clock.monotonic();
    const isStored = now - storedAt <= STORED_FOR;
    const isBlind = troubles.some(({ reason }) => SILENT.includes(reason)) || (troubles.length > 0 && !isStored);
    const next = directAlert(alert, { isTroubled: troubles.length > 0, isBlind, rank: rank(), now });
    alert = next.after;
    const [symptom] = replicaSymptoms(troubles);
    if (!next.isDue || alert === null || symptom === undefined || now < notBefore) return;
    const post = await options.post(dataOf(troubles, symptom, { id: `inc_${ulid(clock.now())}`, host }));
    if (post !== null) {
      alert = posted(alert);
      unrecorded = { ...post, symptom };
      rest = FIRST_REST;
      log.warn({ channels: post.channels, detail: replicaSentence(troubles, false) }, 'replica.posted');
      return;
    }
    notBefore = clock.monotonic() + rest;
    rest = Math.min(2 * rest, LONGEST_REST);
  };

  return {
    /** Another database answers than before: it may hold old rows of this replica. */
    forget: (): void => {
      hasRows = true;
    },
    /** Whether people were alerted by a post of this replica that is not recorded yet: the judge need not alert them again. */
    isPosted: (): boolean => unrecorded !== null,
    tick: async (): Promise<Milliseconds> => {
      const now = clock.now();
      const seen = sources.flatMap((source) => source());
      const troubles = seen.map(({ reason, error, ...each }) => ({ replica, host, reason, error, since: now - each.for }));
      report(troubles);
      save(troubles);
      // Not longer than a moment: a database that does not answer is what people must know of.
      if (saving.running !== null) await Promise.race([saving.running, clock.sleep(EVERY / 2, new AbortController().signal)]);
      await alertDirectly(troubles);
      record();
      return EVERY;
    },
  };
}

/** Runs a piece of work in the background unless the one before still runs; a failure is logged. */
function createBackground(log: Logger, failed: 'replica.troubles_not_stored' | 'replica.post_not_recorded') {
  let running: Promise<void> | null = null;
  return {
    get running() {
      return running;
    },
    begin: (work: () => Promise<void>): void => {
      running ??= work()
        .catch((error: unknown) => log.debug({ error }, failed))
        .finally(() => {
          running = null;
        });
    },
  };
}

/** The data of an event that no incident in the database stands behind. */
function dataOf(
  troubles: readonly ReplicaTrouble[],
  symptom: Symptom,
  { id, host }: { id: string; host: string },
): IncidentEventData<'incident.opened'> {
  const since = isoTime(symptom.since);
  const head = {
    incidentId: id,
    kind: 'replica' as const,
    site: null,
    openedAt: since,
    endedAt: null,
    reopenedAt: null,
    since,
    severity: levelOf(symptom),
    acknowledged: null,
    answer: null,
  };
  return { ...head, ...replicaData(troubles), postedBy: host };
}
