/** A rehearsal as programs and people are shown it: what would have been sent, beside what was, and beside the present settings. */

import { eventDraft } from '../../channels/people/messages/message.ts';
import { unmarked } from '../../channels/people/messages/mrkdwn.ts';
import type { ChangedSetting, ShownAlertSettings } from '../../config/rehearsed.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import type { OrderCounts } from '../../domain/incidents/paid-twice.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { type NamedState, namedState } from '../../domain/purchases/states.ts';
import { type ComparedIncident, type Comparison, compareIncidents } from '../../domain/rehearsal/comparison.ts';
import type { RehearsedIncident } from '../../domain/rehearsal/rehearsal-result.ts';
import { workingText } from '../../domain/stays/dwell.ts';
import { DAY, type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { rehearsedBody, rehearsedCheckoutsBody, rehearsedPaidTwiceBody } from './message.ts';
import type { Rehearsed, RehearsedRules } from './rehearse.ts';
import { summaryOf } from './summary.ts';

/** The stages of messages, in the order in which they are counted. */
export const STAGES = ['opened', 'reopened', 'grew', 'reminder', 'ended', 'checkouts', 'paid_twice'] as const;
type Stage = (typeof STAGES)[number];

/** A message as it is shown, whether it was sent or not. */
export interface ShownMessage {
  readonly at: string;
  readonly stage: Stage;
  readonly channels: string[];
  readonly incidentId: string | null;
  readonly kind: IncidentKind | 'checkouts' | 'paid_twice';
  readonly headline: string;
}

/** An incident that would have been open; its id is that of the messages about it, and of no incident that was. */
export interface ShownIncident {
  readonly incidentId: string;
  readonly kind: IncidentKind;
  readonly site: string | null;
  readonly state: NamedState | null;
  readonly severity: 'warning' | 'critical';
  readonly peak: number;
  readonly openedAt: string;
  readonly endedAt: string | null;
  /** The first message of the time that said that it began or came back. */
  readonly alertedAt: string | null;
}

export interface MessageSums {
  readonly messages: number;
  /** Null where the time is shorter than a day. */
  readonly perDay: number | null;
  readonly stages: Readonly<Record<Stage, number>>;
  readonly overdue: number;
  /** First to last; of very many the first ones. */
  readonly said: ShownMessage[];
}

/** What would have been under some settings. */
export interface RehearsedSide extends MessageSums {
  readonly incidents: number;
  readonly unsaid: number;
  readonly openBefore: number;
  readonly openAfter: number;
  /** In the order in which they opened. */
  readonly timeline: ShownIncident[];
}

/** What is shown, as programs get it. */
export interface RehearsalBody {
  readonly from: string;
  readonly to: string;
  readonly site: string | null;
  /** The file that was tried. */
  readonly config: string | null;
  readonly silencesIgnored: boolean;
  /** Whether no channel is configured, and one was made up. */
  readonly channelInvented: boolean;
  readonly taughtSince: string | null;
  readonly stays: number;
  /** The result in a sentence or two. */
  readonly summary: string;
  readonly settings: ShownAlertSettings;
  readonly changed: ChangedSetting[];
  readonly rehearsed: RehearsedSide;
  /** The same under the present settings; null where no others are tried. */
  readonly present: RehearsedSide | null;
  readonly compared: Comparison | null;
  /** Sites where an order that was paid twice is no news, because they reuse references by design. */
  readonly reusing: ({ readonly site: string } & OrderCounts)[];
  readonly really: MessageSums;
  readonly limits: { readonly site: string; readonly state: NamedState; readonly text: string }[];
}

/** What was rehearsed. */
export interface RehearsalAsked {
  readonly from: Instant;
  readonly to: Instant;
  readonly site: string | null;
  readonly config: string | null;
  readonly ignoreSilences: boolean;
  readonly invented: boolean;
  readonly settings: ShownAlertSettings;
  readonly changed: readonly ChangedSetting[];
  /** Messages of each list that are shown; all by default. */
  readonly most?: number;
}

/** A rehearsal as programs get it. */
export function rehearsalBody(rehearsed: Rehearsed, asked: RehearsalAsked): RehearsalBody {
  const { from, to, site, config, ignoreSilences, invented, settings, changed } = asked;
  const tried = sideOf(rehearsed, asked);
  const present = rehearsed.present === null ? null : sideOf(rehearsed.present, asked);
  const compared =
    rehearsed.present === null
      ? null
      : compareIncidents(comparable(rehearsed.incidents), comparable(rehearsed.present.incidents));
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
    summary: summaryOf({ tried, present, compared, changes: changed.length, length: to - from }),
    settings,
    changed: [...changed],
    rehearsed: tried,
    present,
    compared,
    reusing: [...rehearsed.reusing],
    really: sums(really, rehearsed.really.overdue, asked),
    limits: rehearsed.limits.map((each) => ({
      site: each.site,
      state: namedState(each.state),
      text: workingText(each.limit, null),
    })),
  };
}

function sideOf(result: RehearsedRules, asked: RehearsalAsked): RehearsedSide {
  const { messages, checkouts, paidTwice, overdue, opened, unsaid, openBefore, openAfter, incidents } = result;
  const ofIncidents = messages.map((message) => shown(rehearsedBody(message), message.at, message.channels));
  const singles = checkouts.map((message) => shown(rehearsedCheckoutsBody(message), message.at, message.channels));
  const ofOrders = paidTwice.map((message) => shown(rehearsedPaidTwiceBody(message), message.at, message.channels));
  const said = [...ofIncidents, ...singles, ...ofOrders].toSorted((one, other) =>
    one.at < other.at ? -1 : one.at > other.at ? 1 : 0,
  );
  const timeline = incidents.map(shownIncident);
  return { ...sums(said, overdue, asked), incidents: opened, unsaid, openBefore, openAfter, timeline };
}

function sums(said: readonly ShownMessage[], overdue: number, { from, to, most = said.length }: RehearsalAsked): MessageSums {
  const days = (to - from) / DAY;
  return {
    messages: said.length,
    perDay: days < 1 ? null : Math.round((said.length / days) * 100) / 100,
    stages: Object.fromEntries(STAGES.map((stage) => [stage, said.filter((each) => each.stage === stage).length])) as Record<
      Stage,
      number
    >,
    overdue,
    said: said.slice(0, most),
  };
}

/** The headline is the one that all channels show, without markup. */
function shown(body: string, at: Instant, channels: readonly string[]): ShownMessage {
  const { type, data } = JSON.parse(body) as { type: string; data: { incidentId?: string; kind: ShownMessage['kind'] } };
  const headline = unmarked(eventDraft(body, { consoleUrl: null }).headline);
  const stage = type.replace(/^incident\./, '') as Stage;
  return { at: isoTime(at), stage, channels: [...channels], incidentId: data.incidentId ?? null, kind: data.kind, headline };
}

function shownIncident({ incident, alertedAt }: RehearsedIncident): ShownIncident {
  const { id, kind, site, state, peak, openedAt, endedAt } = incident;
  const times = { openedAt: isoTime(openedAt), endedAt: isoTimeOrNull(endedAt), alertedAt: isoTimeOrNull(alertedAt) };
  return {
    incidentId: id,
    kind,
    site,
    state: state === null ? null : namedState(state),
    severity: levelOf(incident),
    peak,
    ...times,
  };
}

/** Incidents of stuck purchases: sites that do not answer are repeated as they were recorded, whatever the settings. */
function comparable(incidents: readonly RehearsedIncident[]): ComparedIncident[] {
  return incidents.flatMap(({ incident, alertedAt }) => (incident.kind === 'stuck' ? [{ ...incident, alertedAt }] : []));
}
