/** Judges what is wrong now: opens incidents, says what has to be said, and ends them. One replica at a time does it. */

import { ulid } from 'ulid';
import { audienceOf, type ChannelRule, modeOf } from '../../domain/incidents/audience.ts';
import { calm, type Detection } from '../../domain/incidents/detection.ts';
import type { AlertPolicy, Silence } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import { judge, type Told, weigh } from '../../domain/incidents/judgement.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { countOverdue, currentSymptoms, heardBy, openIncidents, saveVerdicts } from '../../postgres/incidents/incidents.ts';
import { silencesAt } from '../../postgres/incidents/silences.ts';
import { endFailuresWithoutPurchases } from '../../postgres/polling/sites.ts';
import { raiseLease, takeLease } from '../../postgres/shards/replicas.ts';
import type { Limits } from '../../postgres/stays/limits.ts';
import { loadDetections, loadStays } from '../../postgres/stays/stays.ts';
import { peopleChannels } from '../../postgres/subscribers/subscribers.ts';
import { hearingChannels } from '../../postgres/subscribers/symptoms.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Meters } from '../../runtime/meters.ts';
import { createDigests } from './digest.ts';
import { type Outcome, type RecipientsOf, type Telling, tellFirstLooks } from './first-look.ts';
import { createIncidentMessages, type IncidentMessage } from './incident-messages.ts';
import { createCheckoutAlerts } from './stuck-checkouts.ts';
import { createUsualReader } from './usual.ts';

export interface JudgeOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly replica: string;
  readonly meters: Meters;
  readonly policy: AlertPolicy;
  readonly sessionLength: Milliseconds;
  readonly limits: Limits;
  /** The sites that are polled. */
  readonly sites: readonly { readonly name: string; readonly timeZone: string }[];
  /** When digests are told, as a cron expression; null: never. */
  readonly digest: string | null;
  /** What the channels for people want to hear, by the names of their subscribers. */
  readonly channels: readonly ChannelRule[];
  /** This replica alerted people of its own trouble by itself: they need no second alert of it. */
  isReplicaPosted(): boolean;
  /** Something was said: the notifier has work. */
  onEvents(): void;
}

export interface Judge {
  /** Looks once; answers how long to rest. */
  tick(): Promise<Milliseconds>;
  /** Whether this replica had the judge's lease when the database last said who has it; null while it never did. */
  hadLease(): boolean | null;
}

const SWEEP: Milliseconds = 5_000;
const LEASE = 'judge';
const ONLY_HERE = 'no channel for people takes messages, so this is said here only; see: purchase-watch subscribers';
/** Stays added up in one statement. */
const STAYS_AT_ONCE = 2_000;
/** While a post of this replica stands, looked at again after this. */
const POSTED_FOR: Milliseconds = 60_000;

interface Look {
  readonly said: number;
  readonly lookAgainAt: Instant | null;
  /** There are more stays to be added up. */
  readonly isMore: boolean;
}

export function createJudge(options: JudgeOptions): Judge {
  const { sql, clock, log, replica, meters, policy, limits, channels, onEvents } = options;
  const sites = new Set(options.sites.map(({ name }) => name));
  const usual = createUsualReader(sql);
  const { storyOf } = createIncidentMessages({ ...options, usual });
  const checkouts = createCheckoutAlerts({ ...options, usual });
  const isSingleWanted = channels.some((channel) => modeOf(channel) !== 'incidents');
  const digests = createDigests({
    ...options,
    expression: options.digest,
    limitOf: (site, state) => limits.limitOf(site, state).ms,
  });
  let hadLease: boolean | null = null;

  const look = async (epoch: number): Promise<Look> => {
    const now = clock.now();
    const taken = await loadStays(sql, STAYS_AT_ONCE);
    if (taken.length > 0) await usual.refresh(now);
    const known = await openIncidents(sql, now);
    const weighed = weigh(await loadDetections(sql), taken, {
      open: known.filter(({ endedAt }) => endedAt === null),
      usual: usual.of,
    });
    // Of a site that is not polled any more, or a state without a limit, nothing more is known: an alarm is no longer one.
    const isWatched = ({ site, state }: Detection): boolean => sites.has(site) && limits.limitOf(site, state).ms !== null;
    const unwatched = weighed.detections.filter((each) => each.alarm !== null && !isWatched(each)).map(calm);
    const detections = weighed.detections.filter(isWatched);
    const overdue = await countOverdue(
      sql,
      detections.flatMap(({ site, state, alarm }) => (alarm === null ? [] : [{ site, state, since: alarm.since }])),
    );
    await endFailuresWithoutPurchases(sql);
    const symptoms = await currentSymptoms(sql, now);
    const isCalm = detections.every(({ alarm }) => alarm === null) && unwatched.length === 0;
    // Nearly always: there is nothing to judge, and nobody has to be asked about it.
    if (isCalm && taken.length + known.length + symptoms.length === 0) return { said: 0, lookAgainAt: null, isMore: false };

    const hearing = await hearingChannels(sql, now);
    const heard = await heardBy(
      sql,
      known.map(({ id }) => id),
    );
    const judgement = judge({
      now,
      detections,
      overdue,
      symptoms,
      incidents: known,
      silences: [...(await silencesAt(sql, now)), ...(options.isReplicaPosted() ? [whilePosted(now)] : [])],
      channels: channels.map((channel) => ({ ...channel, isDeaf: !hearing.includes(channel.name) })),
      heard: (incident) => heard.get(incident) ?? [],
      policy,
      newId: () => `inc_${ulid(now)}`,
    });
    const { verdicts, lookAgainAt } = judgement;
    const isMore = taken.length === STAYS_AT_ONCE;
    if (verdicts.length === 0 && taken.length === 0 && judgement.detections.length === 0 && unwatched.length === 0)
      return { said: 0, lookAgainAt, isMore };

    const idsOf = verdicts.length === 0 ? () => [] : await channelIds();
    const context = { overdue, detections, idsOf };
    const messages: IncidentMessage[] = [];
    for (const told of verdicts) messages.push(await storyOf(told, now, context));
    const events = messages.flatMap((story) => story.events);
    const remembered = new Map(
      [...weighed.changed, ...judgement.detections, ...unwatched].map((each) => [`${each.site} ${each.state}`, each]),
    );
    const stays = { ...weighed, taken: taken.map(({ id }) => id), detections: [...remembered.values()] };
    const incidents = verdicts.map(({ incident }) => incident);
    const stuck = isSingleWanted ? taken.filter(({ outcome }) => outcome === 'overdue') : [];
    const takenOver = messages.flatMap((story) => story.takenOver ?? []);
    const lease = { name: LEASE, replica, epoch };
    const isOurs = await saveVerdicts(sql, { incidents, events, stays, stuck, takenOver, lease });
    // Somebody else judges now, from the same rows.
    if (!isOurs) return { said: 0, lookAgainAt: null, isMore: false };
    for (const { draft } of events) meters.told(draft.type);
    for (const [index, told] of verdicts.entries()) report(told, messages[index]?.sentence ?? null, hearing);
    return { said: events.length, lookAgainAt, isMore };
  };

  const channelIds = async (): Promise<(name: string) => number[]> => {
    const ids = await peopleChannels(sql);
    return (name) => ids.filter((row) => row.name === name).map(({ id }) => id);
  };

  const report = (
    { say, announce, incident, parts, messages }: Told,
    sentence: string | null,
    hearing: readonly string[],
  ): void => {
    if (say === null && (announce === null || incident.parent !== null)) return;
    const { id, kind, site, state, subscriber, count } = incident;
    const places = parts.filter(isLeaf).map((part) => `${part.site} ${namedState(part.state!).name}`);
    const place = subscriber === null ? { site, state: state === null ? null : namedState(state).name } : { subscriber };
    const said = sentence === null ? {} : { said: sentence };
    const about = { incident: id, kind, ...place, ...(places.length === 0 ? {} : { places }), count, ...said };
    const isHeard = messages.some(({ channels: told }) => told.some((channel) => hearing.includes(channel)));
    if (say === null) log.info(about, `incident.${announce}_silenced`);
    else if (isHeard || say === 'ended') log.warn(about, `incident.${say}`);
    else log.error({ ...about, advice: ONLY_HERE }, `incident.${say}`);
  };

  /** First looks and digests are no more urgent than a warning. */
  const recipients: Telling['recipients'] = async (isWanted = () => true): Promise<RecipientsOf> => {
    const idsOf = await channelIds();
    const wanted = channels.filter(isWanted);
    return (site) => audienceOf({ kind: 'stuck', severity: 0, subscriber: null }, [site], wanted).flatMap(idsOf);
  };
  const tellTheRest = async (epoch: number): Promise<Outcome[]> => {
    const telling: Telling = { now: clock.now(), lease: { name: LEASE, replica, epoch }, recipients };
    return [await checkouts.tell(telling), await tellFirstLooks(options, telling), await digests.tell(telling)];
  };

  /** A look failed, and the database may yet run a statement of it. */
  let isUnsure = false;

  return {
    hadLease: () => hadLease,
    tick: async () => {
      if (isUnsure) await raiseLease(sql, { name: LEASE, replica });
      const epoch = await takeLease(sql, { name: LEASE, replica });
      hadLease = epoch !== null;
      isUnsure = hadLease;
      if (epoch === null) return SWEEP;
      const { isMore, ...incidents } = await look(epoch);
      const outcomes = [incidents, ...(isMore ? [] : await tellTheRest(epoch))];
      isUnsure = false;
      if (outcomes.some(({ said }) => said > 0)) onEvents();
      if (isMore) return 0;
      const rests = outcomes.map(({ lookAgainAt }) => (lookAgainAt === null ? SWEEP : lookAgainAt - clock.now()));
      return Math.min(Math.max(Math.min(...rests), 10), SWEEP);
    },
  };
}

/** What was posted without an incident needs none of its own while it lasts. */
function whilePosted(now: Instant): Silence {
  return { kind: 'replica', site: null, state: null, subscriber: null, startsAt: now, endsAt: now + POSTED_FOR };
}
