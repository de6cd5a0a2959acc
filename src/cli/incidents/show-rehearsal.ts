/** How `rehearse` shows which alerts would have been sent, and which were. */

import { rehearsedBody, rehearsedCheckoutsBody } from '../../actions/rehearse/message.ts';
import type { Rehearsed } from '../../actions/rehearse/rehearse.ts';
import { eventDraft } from '../../channels/people/messages/message.ts';
import { unmarked } from '../../channels/people/messages/mrkdwn.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { workingText } from '../../domain/stays/dwell.ts';
import { DAY, type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printLine, printTable, styled } from '../terminal/output.ts';

/** A message as it is shown, whether it was sent or not. */
interface ShownMessage {
  readonly at: string;
  readonly stage: string;
  readonly channels: readonly string[];
  readonly incidentId: string | null;
  readonly kind: IncidentKind | 'checkouts';
  readonly headline: string;
}

interface Sums {
  readonly messages: number;
  /** Null where the time is shorter than a day. */
  readonly perDay: number | null;
  readonly stages: { readonly [stage: string]: number };
  readonly overdue: number;
}

/** What is shown, as programs get it. */
export interface RehearsalBody {
  readonly from: string;
  readonly to: string;
  readonly site: string | null;
  readonly config: string | null;
  readonly silencesIgnored: boolean;
  /** Whether no channel is configured, and one was made up. */
  readonly channelInvented: boolean;
  readonly taughtSince: string | null;
  readonly stays: number;
  readonly rehearsed: Sums & {
    readonly incidents: number;
    readonly unsaid: number;
    readonly openBefore: number;
    readonly openAfter: number;
    readonly said: readonly ShownMessage[];
  };
  readonly really: Sums & { readonly said: readonly ShownMessage[] };
  readonly limits: readonly { readonly site: string; readonly state: { value: number; name: string }; readonly text: string }[];
}

interface Asked {
  readonly from: Instant;
  readonly to: Instant;
  readonly site: string | null;
  readonly config: string | null;
  readonly ignoreSilences: boolean;
  readonly invented: boolean;
}

/** A rehearsal as programs get it. */
export function rehearsalBody(rehearsed: Rehearsed, { from, to, site, config, ignoreSilences, invented }: Asked): RehearsalBody {
  const incidentMessages = rehearsed.messages.map((message) => shown(rehearsedBody(message), message.at, message.channels));
  const singles = rehearsed.checkouts.map((message) => shown(rehearsedCheckoutsBody(message), message.at, message.channels));
  const said = [...incidentMessages, ...singles].toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  // With channels, an alert that none of them got was not sent; without any, every alert is shown.
  const told = rehearsed.really.messages.filter(({ channels }) => invented || channels.length > 0);
  const really = told.map(({ at, channels, body }) => shown(body, at, channels));
  const sums = (messages: readonly ShownMessage[], overdue: number): Sums => ({
    messages: messages.length,
    perDay: to - from < DAY ? null : Math.round((messages.length / ((to - from) / DAY)) * 100) / 100,
    stages: Object.fromEntries(STAGES.map((stage) => [stage, messages.filter((each) => each.stage === stage).length])),
    overdue,
  });
  const { opened, unsaid, openBefore, openAfter, overdue, limits, stays, taughtSince } = rehearsed;
  return {
    from: isoTime(from),
    to: isoTime(to),
    site,
    config,
    silencesIgnored: ignoreSilences,
    channelInvented: invented,
    taughtSince: isoTimeOrNull(taughtSince),
    stays,
    rehearsed: { ...sums(said, overdue), incidents: opened, unsaid, openBefore, openAfter, said },
    really: { ...sums(really, rehearsed.really.overdue), said: really },
    limits: limits.map((each) => ({ site: each.site, state: namedState(each.state), text: workingText(each.limit, null) })),
  };
}

const STAGES = ['opened', 'reopened', 'grew', 'reminder', 'ended', 'checkouts'] as const;

/** The headline is the one that all channels show, without markup. */
function shown(body: string, at: Instant, channels: readonly string[]): ShownMessage {
  const { type, data } = JSON.parse(body) as { type: string; data: { incidentId?: string; kind: ShownMessage['kind'] } };
  const headline = unmarked(eventDraft(body, { consoleUrl: null }).headline);
  const stage = type.replace(/^incident\./, '');
  return { at: isoTime(at), stage, channels, incidentId: data.incidentId ?? null, kind: data.kind, headline };
}

/** Writes it for people: first the messages, then the numbers, then those that were really sent. */
export function showRehearsal(context: CliContext, body: RehearsalBody): void {
  const { from, to, site, config, rehearsed, really, taughtSince, limits } = body;
  const where = site === null ? '' : ` at ${site}`;
  printLine(context, `${day(from)} to ${day(to)} UTC${where}, under ${config ?? 'the default settings'}`);
  const remark = (text: string): void => printLine(context, styled(context, 'gray', text));
  remark(
    taughtSince === null
      ? 'Nothing was recorded before: what is usual had to be learned from the time itself.'
      : `What is usual was learned from the time since ${day(taughtSince)}.`,
  );
  if (body.channelInvented) remark('No channel for people is configured: shown as for one Slack channel that gets every alert.');
  if (body.silencesIgnored) remark('Silences are ignored.');

  messages(context, 'Would have been sent', rehearsed.said);
  printLine(context);
  printTable(
    context,
    ['', 'under these settings', 'really'],
    [
      ['messages', rate(rehearsed), rate(really)],
      ...STAGES.filter((stage) => rehearsed.stages[stage] !== 0 || really.stages[stage] !== 0).map((stage) => [
        `  ${stage}`,
        String(rehearsed.stages[stage]),
        String(really.stages[stage]),
      ]),
      ['purchases flagged as overdue', String(rehearsed.overdue), String(really.overdue)],
    ],
  );
  printLine(context);
  const { incidents, unsaid, openBefore, openAfter } = rehearsed;
  printLine(
    context,
    `${counted(incidents, 'incident')}${unsaid === 0 ? '' : `, ${unsaid} of them without an alert`}; open at the beginning ${openBefore}, at the end ${openAfter}`,
  );
  for (const { site: its, state, text } of limits) remark(`${its} ${state.name}: ${text}`);
  messages(context, 'Was really sent', really.said);
}

const rate = ({ messages: said, perDay }: Sums): string => (perDay === null ? String(said) : `${said} (${perDay} a day)`);

function messages(context: CliContext, title: string, said: readonly ShownMessage[]): void {
  printLine(context);
  if (said.length === 0) return void printLine(context, `${title}: nothing`);
  printLine(context, styled(context, 'bold', `${title}:`));
  printTable(
    context,
    ['at (UTC)', 'channels', 'stage', 'headline'],
    said.map(({ at, channels, stage, headline }) => [day(at), channels.join(', ') || 'none', stage, headline]),
  );
}

/** `2026-11-20 09:15:02` */
function day(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}
