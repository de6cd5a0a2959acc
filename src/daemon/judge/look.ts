/**
 * One look at what is wrong: reads stays, incidents and symptoms, weighs the stays, decides, and writes the verdicts with their
 * events. Nothing is kept in memory from one look to the next.
 */

import { ulid } from 'ulid';
import { modeOf } from '../../domain/incidents/audience.ts';
import { calm, type Detection } from '../../domain/incidents/detection.ts';
import { type Incident, levelOf, type Silence } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import {
  type IncidentVerdict,
  type Judgement,
  judge,
  type StuckCount,
  type Weighed,
  weigh,
} from '../../domain/incidents/judgement.ts';
import type { Symptom } from '../../domain/incidents/symptom.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { channelsAlerted, countStuck, currentSymptoms, openIncidents, saveVerdicts } from '../../postgres/incidents/incidents.ts';
import { silencesAt } from '../../postgres/incidents/silences.ts';
import { endFailuresWithoutPurchases } from '../../postgres/polling/sites.ts';
import type { Lease } from '../../postgres/shards/leases.ts';
import { loadDetections, loadStays, type StoredStay } from '../../postgres/stays/stays.ts';
import { peopleChannels } from '../../postgres/subscribers/symptoms.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Deps } from '../deps.ts';
import type { Outcome } from './first-look.ts';
import type { IncidentMessage, IncidentMessages } from './incident-messages.ts';
import { idsIn, type PeopleChannels, withDeafness } from './people.ts';
import type { UsualReader } from './usual.ts';

export interface LookOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'meters' | 'policy' | 'limits' | 'sites' | 'channels'> {
  /** Whether this replica alerted people of its own trouble by itself: they need no second alert of it. */
  isReplicaPosted(): boolean;
}

export interface Look extends Outcome {
  /** There are more stays to be added up. */
  readonly isMore: boolean;
}

/** The rows that a look has read, with the stays weighed. */
interface Read {
  readonly now: Instant;
  readonly taken: readonly StoredStay[];
  readonly known: Incident[];
  readonly weighed: Weighed;
  /** Of sites that are polled and states with a limit. */
  readonly detections: Detection[];
  /** Alarms of other sites and states, calmed: nothing more is known of those. */
  readonly unwatched: Detection[];
  readonly overdue: readonly StuckCount[];
  readonly symptoms: Symptom[];
}

const ONLY_HERE = 'no channel for people takes messages, so only the log has this; see: purchase-watch subscribers';
/** Stays added up in one statement. */
const STAYS_AT_ONCE = 2_000;
/** While a post of this replica stands, looked at again after this. */
const POSTED_FOR: Milliseconds = 60_000;
const NOTHING: Look = { written: 0, lookAgainAt: null, isMore: false };

/** Answers a function that looks once under a lease. */
export function createLook(
  options: LookOptions,
  parts: { readonly usual: UsualReader; readonly storyOf: IncidentMessages['storyOf'] },
): (lease: Lease) => Promise<Look> {
  const { sql, clock, log, meters } = options;
  const sites = new Set(options.sites.map(({ name }) => name));
  return async (lease) => {
    const read = await readAndWeigh(options, { sites, usual: parts.usual, now: clock.now() });
    if (isNothingToJudge(read)) return NOTHING;
    const people = await peopleChannels(sql, read.now);
    const judgement = await decide(options, read, people);
    const { lookAgainAt } = judgement;
    const isMore = read.taken.length === STAYS_AT_ONCE;
    if (isNothingToWrite(read, judgement)) return { written: 0, lookAgainAt, isMore };
    const messages = await write(options, parts.storyOf, { read, judgement, people, lease });
    // Another replica judges now, from the same rows.
    if (messages === null) return NOTHING;
    const events = messages.flatMap((story) => story.events);
    for (const { draft } of events) meters.committed(draft.type);
    for (const [index, verdict] of judgement.verdicts.entries()) report(log, verdict, messages[index], people);
    return { written: events.length, lookAgainAt, isMore };
  };
}

async function readAndWeigh(
  { sql, limits }: LookOptions,
  { sites, usual, now }: { sites: ReadonlySet<string>; usual: UsualReader; now: Instant },
): Promise<Read> {
  const taken = await loadStays(sql, STAYS_AT_ONCE);
  if (taken.length > 0) await usual.refresh(now);
  const known = await openIncidents(sql, now);
  const weighed = weigh(await loadDetections(sql), taken, {
    open: known.filter(({ endedAt }) => endedAt === null),
    usual: usual.of,
  });
  const isWatched = ({ site, state }: Detection): boolean => sites.has(site) && limits.limitOf(site, state).ms !== null;
  const unwatched = weighed.detections.filter((each) => each.alarm !== null && !isWatched(each)).map(calm);
  const detections = weighed.detections.filter(isWatched);
  const overdue = await countStuck(
    sql,
    detections.flatMap(({ site, state, alarm }) => (alarm === null ? [] : [{ site, state, since: alarm.since }])),
  );
  return { now, taken, known, weighed, detections, unwatched, overdue, symptoms: await presentSymptoms(sql, now) };
}

async function presentSymptoms(sql: Sql, now: Instant): Promise<Symptom[]> {
  const symptoms = await currentSymptoms(sql, now);
  const isOver = symptoms.some(({ kind }) => kind === 'unreachable') && (await endFailuresWithoutPurchases(sql));
  return isOver ? currentSymptoms(sql, now) : symptoms;
}

/** Nearly always: then no further statement is needed. */
function isNothingToJudge({ detections, unwatched, taken, known, symptoms }: Read): boolean {
  const isCalm = detections.every(({ alarm }) => alarm === null) && unwatched.length === 0;
  return isCalm && taken.length + known.length + symptoms.length === 0;
}

async function decide(options: LookOptions, read: Read, people: PeopleChannels): Promise<Judgement> {
  const { sql, policy, channels } = options;
  const { now, detections, overdue, symptoms, known } = read;
  const alerted = await channelsAlerted(
    sql,
    known.map(({ id }) => id),
  );
  return judge({
    ...{ now, detections, overdue, symptoms, incidents: known, policy },
    silences: [...(await silencesAt(sql, now)), ...(options.isReplicaPosted() ? [whilePosted(now)] : [])],
    channels: withDeafness(channels, people),
    alertedChannels: (incident) => alerted.get(incident) ?? [],
    newId: () => `inc_${ulid(now)}`,
  });
}

function isNothingToWrite({ taken, unwatched }: Read, { verdicts, detections }: Judgement): boolean {
  return verdicts.length + taken.length + detections.length + unwatched.length === 0;
}

/** Writes verdicts, events and detections in one statement; null when another replica has the lease now. */
async function write(
  { sql, channels }: LookOptions,
  storyOf: IncidentMessages['storyOf'],
  { read, judgement, people, lease }: { read: Read; judgement: Judgement; people: PeopleChannels; lease: Lease },
): Promise<IncidentMessage[] | null> {
  const { now, taken, weighed, overdue, detections, unwatched } = read;
  const { verdicts } = judgement;
  const idsOf = idsIn(people);
  const messages: IncidentMessage[] = [];
  for (const verdict of verdicts) messages.push(await storyOf(verdict, now, { overdue, detections, idsOf }));
  const remembered = new Map(
    [...weighed.changed, ...judgement.detections, ...unwatched].map((each) => [`${each.site} ${each.state}`, each]),
  );
  const isSingleWanted = channels.some((channel) => modeOf(channel) !== 'incidents');
  const isOurs = await saveVerdicts(sql, {
    incidents: verdicts.map(({ incident }) => incident),
    events: messages.flatMap((story) => story.events),
    stays: { ...weighed, taken, detections: [...remembered.values()] },
    stuck: isSingleWanted ? taken.filter(({ outcome }) => outcome === 'overdue') : [],
    takenOver: messages.flatMap((story) => story.takenOver ?? []),
    lease,
  });
  return isOurs ? messages : null;
}

/** Logs a verdict: as an error when no channel for people takes messages. */
function report(
  log: Logger,
  { alert, announce, incident, parts, messages }: IncidentVerdict,
  message: IncidentMessage | undefined,
  people: PeopleChannels,
): void {
  if (alert === null && incident.parent !== null) return;
  const { id, kind, site, state, subscriber, count } = incident;
  const places = parts.filter(isLeaf).map((part) => `${part.site} ${namedState(part.state!).name}`);
  const place = subscriber === null ? { site, state: state === null ? null : namedState(state).name } : { subscriber };
  const { sentence = null, reason = null } = message ?? {};
  const why = {
    severity: levelOf(incident),
    ...(reason === null ? {} : { reason }),
    ...(sentence === null ? {} : { said: sentence }),
  };
  const about = { incident: id, kind, ...place, ...(places.length === 0 ? {} : { places }), count, ...why };
  const isTaken = messages.some(({ channels: alerted }) => people.some(({ name, isDeaf }) => !isDeaf && alerted.includes(name)));
  if (alert === null) {
    if (announce !== null) log.info(about, `incident.${announce}_silenced`);
  } else if (isTaken || alert === 'ended') log.warn(about, `incident.${alert}`);
  else log.error({ ...about, advice: ONLY_HERE }, `incident.${alert}`);
}

/** The silence about the trouble that this replica posted without an incident: it needs no second alert while the post stands. */
function whilePosted(now: Instant): Silence {
  return { kind: 'replica', site: null, state: null, subscriber: null, startsAt: now, endsAt: now + POSTED_FOR };
}
