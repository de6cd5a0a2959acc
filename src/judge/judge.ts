/** Judges what is wrong now: opens incidents, says what has to be said, and ends them. One replica at a time does it. */
import { ulid } from 'ulid';
import type { EventDraft, IncidentEventType } from '../core/events.ts';
import { isoTime, isoTimeOrNull } from '../core/events.ts';
import type { JsonValue } from '../core/exact-json.ts';
import {
  type AlertPolicy,
  type Incident,
  judgeIncident,
  openIncident,
  type Symptom,
  silencedUntil,
  type Verdict,
} from '../core/incident.ts';
import { type PollPolicy, policyOf } from '../core/poll-plan.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import { namedState } from '../core/states.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Meters } from '../runtime/meters.ts';
import type { Sql } from '../store/database.ts';
import { type NewEvent, SITE_SHARD } from '../store/events.ts';
import { currentSymptoms, openIncidents, saveVerdicts, stuckDetails } from '../store/incidents.ts';
import { takeLease } from '../store/replicas.ts';
import { silencesAt } from '../store/silences.ts';
import { listSites } from '../store/sites.ts';
import { hearingChannels, subscriberCondition } from '../store/subscriber-symptoms.ts';
import { subscriberData, subscriberSentence } from './subscriber-incident.ts';

export interface JudgeOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly replica: string;
  readonly meters: Meters;
  readonly policy: AlertPolicy;
  readonly polling: PollPolicy;
  /** Something was said: the notifier has work. */
  onEvents(): void;
}

export interface Judge {
  /** Looks once; answers how long to rest. */
  tick(): Promise<Milliseconds>;
}

const SWEEP: Milliseconds = 5_000;
const LEASE = 'judge';
const ONLY_HERE = 'no channel for people takes messages, so this is said here only; see: purchase-watch subscribers';

/** What is written of a verdict: events, and for the log what they say in a sentence, where names and counts do not. */
interface Story {
  readonly events: readonly NewEvent[];
  readonly sentence: string | null;
}

export function createJudge({ sql, clock, log, replica, meters, policy, polling, onEvents }: JudgeOptions): Judge {
  const look = async (epoch: number): Promise<{ said: number; lookAgainAt: Instant | null }> => {
    const now = clock.now();
    const symptoms = await currentSymptoms(sql, now);
    const open = await openIncidents(sql);
    const silences = await silencesAt(sql, now);
    const opened = symptoms
      .filter((symptom) => !open.some((incident) => isAbout(incident, symptom)))
      .map((symptom) => openIncident(`inc_${ulid(now)}`, symptom, now));
    const verdicts = [...open, ...opened].map((incident) =>
      judgeIncident(
        incident,
        symptoms.find((symptom) => isAbout(incident, symptom)) ?? null,
        now,
        policy,
        silencedUntil(incident, silences, now),
      ),
    );
    // An incident that merely goes on is not written again.
    const before = new Map(open.map((incident) => [incident.id, JSON.stringify(incident)]));
    const changed = verdicts.filter(({ incident }) => before.get(incident.id) !== JSON.stringify({ ...incident }));
    const next = verdicts.flatMap(({ lookAgainAt }) => (lookAgainAt === null ? [] : [lookAgainAt]));
    const lookAgainAt = next.length === 0 ? null : Math.min(...next);
    if (changed.length === 0) return { said: 0, lookAgainAt };

    const stories = await Promise.all(changed.map((verdict) => storyOf(verdict, now)));
    const events = stories.flatMap((story) => story.events);
    const hearing = events.length === 0 ? [] : await hearingChannels(sql, now);
    const incidents = changed.map(({ incident }) => incident);
    // Somebody else judges now, from the same rows.
    if (!(await saveVerdicts(sql, { incidents, events, lease: { name: LEASE, replica, epoch } })))
      return { said: 0, lookAgainAt: null };
    for (const { draft } of events) meters.told(draft.type);
    for (const [index, verdict] of changed.entries()) report(verdict, stories[index]?.sentence ?? null, hearing);
    return { said: events.length, lookAgainAt };
  };

  const storyOf = async (verdict: Verdict, now: Instant): Promise<Story> => {
    const { incident, announce, say } = verdict;
    if (say === null && announce === null) return { events: [], sentence: null };
    if (incident.subscriber !== null) return subscriberStory(verdict, incident.subscriber, now);
    const data = incident.kind === 'stuck' ? await stuckData(incident) : await unreachableData(incident);
    const drafts: EventDraft[] = [];
    if (announce !== null && incident.kind === 'unreachable')
      drafts.push(siteEvent(incident, announce, data.lastError ?? null, now));
    if (say !== null) {
      const type: IncidentEventType = `incident.${say}`;
      drafts.push({ type, sequence: null, at: now, state: incident.state, data });
    }
    const site = incident.site ?? '';
    return { events: drafts.map((draft) => ({ site, purchase: null, shard: SITE_SHARD, draft })), sentence: null };
  };

  /** For people alone; whom it is about is not told, for that is who does not listen. */
  const subscriberStory = async ({ incident, say }: Verdict, name: string, now: Instant): Promise<Story> => {
    const condition = await subscriberCondition(sql, { name, since: incident.since });
    const sentence = subscriberSentence(incident, condition);
    if (say === null) return { events: [], sentence };
    const data = { ...head(incident), ...subscriberData(incident, condition) };
    const draft: EventDraft = { type: `incident.${say}`, sequence: null, at: now, state: null, data };
    return { events: [{ site: '', purchase: null, shard: SITE_SHARD, about: condition?.id ?? null, draft }], sentence };
  };

  const report = ({ say, announce, incident }: Verdict, sentence: string | null, hearing: readonly string[]): void => {
    if (say === null && announce === null) return;
    const { id, kind, site, state, subscriber, count } = incident;
    const place = subscriber === null ? { site, state: state === null ? null : namedState(state).name } : { subscriber };
    const about = { incident: id, kind, ...place, count, ...(sentence === null ? {} : { said: sentence }) };
    const isHeard = hearing.some((channel) => channel !== subscriber);
    if (say === null) log.info(about, `incident.${announce}_silenced`);
    else if (isHeard || say === 'ended') log.warn(about, `incident.${say}`);
    else log.error({ ...about, advice: ONLY_HERE }, `incident.${say}`);
  };

  const stuckData = async (incident: Incident): Promise<Record<string, JsonValue>> => {
    const state = incident.state ?? 0;
    const { purchases, waiting } = await stuckDetails(sql, { site: incident.site ?? '', state });
    return {
      ...head(incident),
      state: { ...namedState(state) },
      count: incident.count,
      peak: incident.peak,
      limitMs: policyOf(polling, state).stuckAfter,
      purchases,
      waiting,
    };
  };

  const unreachableData = async (incident: Incident): Promise<Record<string, JsonValue>> => {
    const site = (await listSites(sql)).find(({ name }) => name === incident.site);
    return { ...head(incident), lastError: site?.lastError ?? null };
  };

  return {
    tick: async () => {
      const epoch = await takeLease(sql, { name: LEASE, replica });
      if (epoch === null) return SWEEP;
      const { said, lookAgainAt } = await look(epoch);
      if (said > 0) onEvents();
      return lookAgainAt === null ? SWEEP : Math.min(Math.max(lookAgainAt - clock.now(), 10), SWEEP);
    },
  };
}

function isAbout(incident: Incident, symptom: Symptom): boolean {
  return (
    incident.kind === symptom.kind &&
    incident.site === symptom.site &&
    incident.state === symptom.state &&
    incident.subscriber === symptom.subscriber
  );
}

function head(incident: Incident): Record<string, JsonValue> {
  return {
    incidentId: incident.id,
    kind: incident.kind,
    site: incident.site,
    openedAt: isoTime(incident.openedAt),
    endedAt: isoTimeOrNull(incident.endedAt),
    since: isoTime(incident.since),
  };
}

/** What the merchant's own systems hear of a site that does not answer: once when it lasts, once when it is over. */
function siteEvent(incident: Incident, announce: 'opened' | 'ended', lastError: JsonValue, now: Instant): EventDraft {
  const { site, since } = incident;
  return announce === 'opened'
    ? { type: 'site.unreachable', sequence: null, at: now, state: null, data: { site, since: isoTime(since), lastError } }
    : {
        type: 'site.reachable',
        state: null,
        sequence: null,
        at: now,
        data: { site, since: isoTime(since), until: isoTimeOrNull(incident.quietSince) },
      };
}
