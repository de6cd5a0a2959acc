/**
 * One look at what is wrong: reads stays, incidents and symptoms, weighs the stays, judges, and writes the verdicts with their
 * events. Nothing is kept in memory from one look to the next.
 */

import { ulid } from 'ulid';
import { modeOf } from '../../domain/incidents/audience.ts';
import { calm, type Detection } from '../../domain/incidents/detection.ts';
import { levelOf, type Silence } from '../../domain/incidents/incident.ts';
import { type IncidentVerdict, judge, weigh } from '../../domain/incidents/judgement.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { placeKey } from '../../domain/stays/stay.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { saveVerdicts } from '../../postgres/incidents/incidents.ts';
import { readLook, readSurroundings } from '../../postgres/incidents/look.ts';
import type { Lease } from '../../postgres/shards/leases.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Deps } from '../deps.ts';
import type { Outcome } from './first-look.ts';
import { createIncidentMessages, type IncidentMessage, type IncidentMessagesOptions } from './incident-messages.ts';
import { idsIn, type PeopleChannels, withDeafness } from './people.ts';

export interface LookOptions extends IncidentMessagesOptions, Pick<Deps, 'clock' | 'log' | 'meters' | 'policy' | 'sites'> {
  /** Whether this replica alerted people of its own trouble by itself: they need no second alert of it. */
  isReplicaPosted(): boolean;
}

export interface Look extends Outcome {
  /** There are more stays to be added up. */
  readonly isMore: boolean;
}

const ONLY_HERE = 'no channel for people takes messages, so only the log has this; see: purchase-watch subscribers';
/** Stays added up in one statement. */
const STAYS_AT_ONCE = 2_000;
/** While a post of this replica stands, looked at again after this. */
const POSTED_FOR: Milliseconds = 60_000;
export const NOTHING: Look = { written: 0, lookAgainAt: null, isMore: false };

/** Answers a function that looks once under a lease. */
export function createLook(options: LookOptions): (lease: Lease) => Promise<Look> {
  const { sql, clock, log, meters, policy, limits, channels, usual, isReplicaPosted } = options;
  const sites = new Set(options.sites.map(({ name }) => name));
  const isWatched = ({ site, state }: Detection): boolean => sites.has(site) && limits.limitOf(site, state).ms !== null;
  const isSingleWanted = channels.some((channel) => modeOf(channel) !== 'incidents');
  const { storyOf } = createIncidentMessages(options);
  return async (lease) => {
    const now = clock.now();
    const { stays: taken, incidents, symptoms, ...read } = await readLook(sql, { now, most: STAYS_AT_ONCE, usual });
    const open = incidents.filter(({ endedAt }) => endedAt === null);
    const weighed = weigh(read.detections, taken, { open, usual: usual.of });
    const alarmed = weighed.detections.filter(({ alarm }) => alarm !== null);
    // Nearly always: then no further statement is needed.
    if (taken.length + incidents.length + symptoms.length + alarmed.length === 0) return NOTHING;

    const detections = weighed.detections.filter(isWatched);
    // Of sites that are polled no more and states without a limit nothing more is known.
    const unwatched = alarmed.filter((each) => !isWatched(each)).map(calm);
    const alarms = detections.flatMap(({ site, state, alarm }) => (alarm === null ? [] : [{ site, state, since: alarm.since }]));
    const { overdue, silences, people, alerted } = await readSurroundings(sql, { now, alarms, incidents });
    const judgement = judge({
      now,
      detections,
      overdue,
      symptoms,
      incidents,
      silences: isReplicaPosted() ? [...silences, whilePosted(now)] : silences,
      channels: withDeafness(channels, people),
      alertedChannels: (incident) => alerted.get(incident) ?? [],
      policy,
      newId: () => `inc_${ulid(now)}`,
    });
    const { verdicts, lookAgainAt } = judgement;
    const isMore = taken.length === STAYS_AT_ONCE;
    const remembered = [...weighed.changed, ...judgement.detections, ...unwatched];
    if (verdicts.length + taken.length + remembered.length === 0) return { written: 0, lookAgainAt, isMore };

    const messages: IncidentMessage[] = [];
    for (const verdict of verdicts) messages.push(await storyOf(verdict, now, { overdue, detections, idsOf: idsIn(people) }));
    const events = messages.flatMap((message) => message.events);
    const isOurs = await saveVerdicts(sql, {
      incidents: verdicts.map(({ incident }) => incident),
      events,
      stays: { ...weighed, taken, detections: [...new Map(remembered.map((each) => [placeKey(each), each])).values()] },
      stuck: isSingleWanted ? taken : [],
      takenOver: messages.flatMap((message) => message.takenOver ?? []),
      lease,
    });
    // Another replica judges now, from the same rows.
    if (!isOurs) return NOTHING;
    for (const { draft } of events) meters.committed(draft.type);
    for (const [index, verdict] of verdicts.entries()) report(log, verdict, messages[index], people);
    return { written: events.length, lookAgainAt, isMore };
  };
}

/** Logs a verdict: as an error when no channel for people takes messages. */
function report(
  log: Logger,
  { alert, announce, incident, parts, messages }: IncidentVerdict,
  message: IncidentMessage | undefined,
  people: PeopleChannels,
): void {
  if (incident.parent !== null) return;
  const { id, kind, site, state, subscriber, count } = incident;
  const places = parts.map((part) => `${part.site} ${namedState(part.state!).name}`);
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
