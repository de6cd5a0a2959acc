/** The events that announce a verdict, with all that people need to know of it. */

import { draftOf, type EventDraft } from '../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../domain/events/people-event-types.ts';
import type { Detection } from '../../domain/incidents/detection.ts';
import { type Incident, levelOf } from '../../domain/incidents/incident.ts';
import type { IncidentVerdict, StuckCount } from '../../domain/incidents/judgement.ts';
import { type ReplicaTrouble, reasonsOf, replicaData, replicaSentence } from '../../domain/incidents/replica-trouble.ts';
import { isUnpolled } from '../../domain/polling/unpolled.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type NewEvent, SITE_SHARD } from '../../postgres/events/events.ts';
import { findIncident, type IncidentRow } from '../../postgres/incidents/list.ts';
import { lastMessage } from '../../postgres/incidents/messages.ts';
import { readStory } from '../../postgres/incidents/story.ts';
import { listSites, type SiteRow } from '../../postgres/polling/sites.ts';
import { alertedTroubles } from '../../postgres/shards/replica-troubles.ts';
import type { UsualReader } from '../../postgres/stays/usual.ts';
import { subscriberCondition } from '../../postgres/subscribers/symptoms.ts';
import type { Deps } from '../deps.ts';
import { insteadOfSingles, replacesSingles } from './instead-of-singles.ts';
import { alertedData, placesOf, stuckData } from './stuck-incident.ts';
import { subscriberData, subscriberSentence } from './subscriber-incident.ts';

/** Events, and for the log what they say in a sentence, where names and counts do not, and what the incident rests on in a word. */
export interface IncidentMessage {
  readonly events: readonly NewEvent[];
  readonly sentence: string | null;
  /** Why a site cannot be read, what is wrong with a subscriber, or the rule that found stuck customers; null where none is known any more. */
  readonly reason: string | null;
  /** Row ids of the last single alerts at places where an incident says that it takes over. */
  readonly takenOver?: readonly number[];
}

interface MessageContext {
  readonly overdue: readonly StuckCount[];
  readonly detections: readonly Detection[];
  /** The row ids of a channel's subscriber: one, or none while it is not there. */
  idsOf(channel: string): number[];
}

export interface IncidentMessagesOptions extends Pick<Deps, 'sql' | 'limits' | 'sessionLength' | 'channels'> {
  readonly usual: UsualReader;
}

export function createIncidentMessages({ sql, limits, sessionLength, channels: rules, usual }: IncidentMessagesOptions) {
  const unreachableStory = async (verdict: IncidentVerdict, now: Instant, context: MessageContext): Promise<IncidentMessage> => {
    const { incident, announce } = verdict;
    const site = (await listSites(sql)).find(({ name }) => name === incident.site);
    const said = incident.endedAt === null ? null : await reasonAlerted(sql, incident.id);
    const reason = isUnpolled(said) ? said : (site?.failingReason ?? null);
    const trouble = { reason, lastError: site?.lastError ?? null };
    const about = { kind: 'unreachable', site: incident.site ?? '' } as const;
    const data = {
      ...headOf(incident, await findIncident(sql, incident.id)),
      ...about,
      ...trouble,
      lastReadAt: isoTimeOrNull(site?.lastReadAt ?? null),
    };
    const forMachines: NewEvent[] =
      announce === null
        ? []
        : [
            {
              draft: siteEvent(incident, announce, trouble, now),
              site: incident.site ?? '',
              purchase: null,
              shard: SITE_SHARD,
            },
          ];
    return { events: [...forMachines, ...events(verdict, now, data, context)], sentence: null, reason: trouble.reason };
  };

  /** For people alone; the subscriber that the incident is about does not get it, because nothing reaches that subscriber. */
  const subscriberStory = async (
    verdict: IncidentVerdict,
    name: string,
    now: Instant,
    context: MessageContext,
  ): Promise<IncidentMessage> => {
    const { incident } = verdict;
    const condition = await subscriberCondition(sql, { name, since: incident.since });
    const sentence = subscriberSentence(incident, condition);
    const data = {
      ...headOf(incident, await findIncident(sql, incident.id)),
      kind: 'subscriber',
      ...subscriberData(incident, condition),
    } as const;
    return { events: events(verdict, now, data, context, condition?.id ?? null), sentence, reason: data.trouble };
  };

  /** For people alone. At the end it names the troubles that people were alerted of last. */
  const replicaStory = async (verdict: IncidentVerdict, now: Instant, context: MessageContext): Promise<IncidentMessage> => {
    const { incident } = verdict;
    const troubles = incident.endedAt === null ? await alertedTroubles(sql) : await troublesAlerted(sql, incident.id);
    const data = {
      ...headOf(incident, await findIncident(sql, incident.id)),
      kind: 'replica',
      ...replicaData(troubles),
      postedBy: null,
    } as const;
    const sentence = replicaSentence(troubles, incident.endedAt !== null);
    return { events: events(verdict, now, data, context), sentence, reason: reasonsOf(troubles)[0] ?? null };
  };

  return {
    storyOf: async (verdict: IncidentVerdict, now: Instant, context: MessageContext): Promise<IncidentMessage> => {
      const { incident, announce, alert } = verdict;
      if (alert === null && (announce === null || incident.kind === 'stuck')) return { events: [], sentence: null, reason: null };
      if (incident.subscriber !== null) return subscriberStory(verdict, incident.subscriber, now, context);
      if (incident.kind === 'unreachable') return unreachableStory(verdict, now, context);
      if (incident.kind === 'replica') return replicaStory(verdict, now, context);
      const replaced = replacesSingles(verdict, rules) ? usual : null;
      const story = await readStory(sql, { incident, places: placesOf(verdict), limits, usual: replaced, now });
      const { singles, takenOver } = insteadOfSingles(verdict, story.singles, usual.of);
      const stuck = stuckData(verdict, story, { ...context, sessionLength });
      const data = { ...headOf(incident, story.row), kind: 'stuck', ...stuck, singles } as const;
      return { events: events(verdict, now, data, context), sentence: null, reason: data.alarm?.rule ?? null, takenOver };
    },
  };
}

/** The fields that every incident's event begins with. `row`: people write beside the judge who looks after it and what it was. */
function headOf(incident: Incident, row: IncidentRow | null) {
  const { id, kind, site, openedAt, endedAt, reopenedAt, since, acknowledgedAt } = incident;
  const answer = row?.answer ?? null;
  return {
    incidentId: id,
    kind,
    site,
    openedAt: isoTime(openedAt),
    endedAt: isoTimeOrNull(endedAt),
    reopenedAt: isoTimeOrNull(reopenedAt),
    since: isoTime(since),
    severity: levelOf(incident),
    acknowledged:
      row === null || acknowledgedAt === null
        ? null
        : { by: row.acknowledgedBy, note: row.acknowledgedNote, at: isoTime(acknowledgedAt) },
    answer: answer === null ? null : { cause: answer.cause, note: answer.note, by: answer.by, at: isoTime(answer.at) },
  };
}

/** The data of an event about an incident. */
type AboutIncident = IncidentEventData<'incident.opened'>;

/** An event for each message of a verdict. `about`: id of the subscriber that the incident is about. */
function events(
  { incident, messages }: IncidentVerdict,
  now: Instant,
  data: AboutIncident,
  { idsOf }: MessageContext,
  about: number | null = null,
): NewEvent[] {
  const place = { site: incident.site ?? '', purchase: null, shard: SITE_SHARD, about, incident: incident.id };
  return messages.map(({ stage, channels }) => ({
    ...place,
    recipients: channels.flatMap(idsOf),
    draft: draftOf(`incident.${stage}`, { at: now, state: incident.state }, data),
  }));
}

/** The troubles of replicas that people were alerted of last. */
async function troublesAlerted(sql: Sql, incident: string): Promise<readonly ReplicaTrouble[]> {
  const data = alertedData(await lastMessage(sql, incident));
  return data?.kind === 'replica' ? data.troubles : [];
}

/** Why people were alerted of a site last: that no daemon names it, or that its purchases stay, does not show any more when it is over. */
async function reasonAlerted(sql: Sql, incident: string): Promise<string | null> {
  const data = alertedData(await lastMessage(sql, incident));
  return data?.kind === 'unreachable' ? data.reason : null;
}

/** The event about a site that does not answer, for the merchant's own systems: once when that lasts, once when it is over. */
function siteEvent(
  incident: Incident,
  announce: 'opened' | 'ended',
  { reason, lastError }: { readonly reason: SiteRow['failingReason']; readonly lastError: string | null },
  now: Instant,
): EventDraft {
  const { site, since } = incident;
  const common = { site: site ?? '', since: isoTime(since) };
  return announce === 'opened'
    ? draftOf('site.unreachable', { at: now }, { ...common, reason, lastError })
    : draftOf('site.reachable', { at: now }, { ...common, until: isoTimeOrNull(incident.quietSince), reason });
}
