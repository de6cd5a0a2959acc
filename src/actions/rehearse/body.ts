/** A rehearsal as programs and people are shown it: what would have been sent, beside what was, and beside the present settings. */

import { eventDraft } from '../../channels/people/messages/message.ts';
import { unmarked } from '../../channels/people/messages/mrkdwn.ts';
import type { ChangedSetting, ShownAlertSettings } from '../../config/rehearsed.ts';
import { stateOrNull } from '../../domain/events/make-event.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { type ComparedIncident, compareIncidents } from '../../domain/rehearsal/comparison.ts';
import type { RehearsedIncident } from '../../domain/rehearsal/rehearsal-result.ts';
import { workingText } from '../../domain/stays/dwell.ts';
import { DAY, type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { rehearsedBody, rehearsedCheckoutsBody, rehearsedPaidTwiceBody } from './message.ts';
import type { Rehearsed, RehearsedRules } from './rehearse.ts';
import { summaryOf } from './summary.ts';

/** The stages of messages, in the order in which they are counted. */
export const STAGES = ['opened', 'reopened', 'grew', 'reminder', 'ended', 'checkouts', 'paid_twice'] as const;
type Stage = (typeof STAGES)[number];

/** The time and the settings that were rehearsed. */
export interface RehearsalAsked {
  readonly from: Instant;
  readonly to: Instant;
  readonly site: string | null;
  /** The file that was tried. */
  readonly config: string | null;
  readonly ignoreSilences: boolean;
  /** Whether no channel is configured, and one was made up. */
  readonly invented: boolean;
  readonly settings: ShownAlertSettings;
  readonly changed: readonly ChangedSetting[];
  /** Messages of each list that are shown; all by default. */
  readonly most?: number;
}

/** A rehearsal as programs get it. */
export function rehearsalBody(rehearsed: Rehearsed, asked: RehearsalAsked) {
  const { from, to, site, config, ignoreSilences, invented, settings, changed } = asked;
  const tried = sideOf(rehearsed, asked);
  const present = rehearsed.present === null ? null : sideOf(rehearsed.present, asked);
  const compared = rehearsed.present && compareIncidents(comparable(rehearsed), comparable(rehearsed.present));
  // With channels, an alert that none of them got was not sent; without any, every alert is shown.
  const sent = rehearsed.really.messages.filter(({ channels }) => invented || channels.length > 0);
  const really = sent.map(({ at, channels, body }) => shown(body, at, channels));
  return {
    from: isoTime(from),
    to: isoTime(to),
    site,
    config,
    silencesIgnored: ignoreSilences,
    channelInvented: invented,
    taughtSince: isoTimeOrNull(rehearsed.taughtSince),
    stays: rehearsed.stays,
    /** The result in a sentence or two. */
    summary: summaryOf({ tried, present, compared, changes: changed.length, length: to - from }),
    settings,
    changed: [...changed],
    rehearsed: tried,
    /** The same under the present settings; null where no others are tried. */
    present,
    compared,
    /** Sites where an order that was paid twice is no news, because they reuse references by design. */
    reusing: [...rehearsed.reusing],
    really: sums(really, rehearsed.really.overdue, asked),
    limits: rehearsed.limits.map(({ site, state, limit }) => ({
      site,
      state: namedState(state),
      text: workingText(limit, null),
    })),
  };
}

export type RehearsalBody = ReturnType<typeof rehearsalBody>;

/** Alerts and incidents that there would have been under some settings; incidents in the order in which they opened. */
function sideOf(result: RehearsedRules, asked: RehearsalAsked) {
  const { messages, checkouts, paidTwice, overdue, atRisk, opened, unsaid, openBefore, openAfter, incidents } = result;
  const ofIncidents = messages.map((message) => shown(rehearsedBody(message), message.at, message.channels));
  const singles = checkouts.map((message) => shown(rehearsedCheckoutsBody(message), message.at, message.channels));
  const ofOrders = paidTwice.map((message) => shown(rehearsedPaidTwiceBody(message), message.at, message.channels));
  const said = [...ofIncidents, ...singles, ...ofOrders].toSorted((one, other) =>
    one.at < other.at ? -1 : one.at > other.at ? 1 : 0,
  );
  const timeline = incidents.map(shownIncident);
  return { ...sums(said, overdue, asked), atRisk, incidents: opened, unsaid, openBefore, openAfter, timeline };
}

/** Numbers of messages; `perDay` is null where the time is shorter than a day, and of very many messages `said` has the first ones. */
function sums(said: readonly ShownAlert[], overdue: number, { from, to, most = said.length }: RehearsalAsked) {
  const days = (to - from) / DAY;
  const stages = STAGES.map((stage) => [stage, said.filter((each) => each.stage === stage).length] as const);
  return {
    messages: said.length,
    perDay: days < 1 ? null : Math.round((said.length / days) * 100) / 100,
    stages: Object.fromEntries(stages) as Readonly<Record<Stage, number>>,
    overdue,
    said: said.slice(0, most),
  };
}

export type MessageSums = ReturnType<typeof sums>;

/** A message, whether it was sent or not. The headline is the one that all channels show, without markup. */
function shown(body: string, at: Instant, channels: readonly string[]) {
  const { type, data } = JSON.parse(body) as { type: string; data: { incidentId?: string; kind: MessageKind } };
  const headline = unmarked(eventDraft(body, { consoleUrl: null }).headline);
  const stage = type.replace(/^incident\./, '') as Stage;
  return { at: isoTime(at), stage, channels: [...channels], incidentId: data.incidentId ?? null, kind: data.kind, headline };
}

export type ShownAlert = ReturnType<typeof shown>;
type MessageKind = IncidentKind | 'checkouts' | 'paid_twice';

/** An incident that would have been open; its id is that of the messages about it, and of no incident that was. */
function shownIncident({ incident, alertedAt }: RehearsedIncident) {
  const { id, kind, site, state, peak, openedAt, endedAt } = incident;
  const is = { incidentId: id, kind, site, state: stateOrNull(state), severity: levelOf(incident), peak };
  return { ...is, openedAt: isoTime(openedAt), endedAt: isoTimeOrNull(endedAt), alertedAt: isoTimeOrNull(alertedAt) };
}

export type ShownIncident = ReturnType<typeof shownIncident>;

/** Incidents of stuck purchases: sites that do not answer are repeated as they were recorded, whatever the settings. */
function comparable({ incidents }: RehearsedRules): ComparedIncident[] {
  return incidents.flatMap(({ incident, alertedAt }) => (incident.kind === 'stuck' ? [{ ...incident, alertedAt }] : []));
}
