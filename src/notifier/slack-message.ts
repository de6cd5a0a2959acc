/**
 * What Slack shows of an incident. Read it as somebody who was just woken up: the headline says what, where and how bad;
 * then since when, why it may be, and what to do. Every value is shortened before it is put in, so that no message can
 * outgrow Slack's limits and nothing that matters is ever cut.
 */
import { humanDuration } from '../core/duration.ts';
import { advice, waitingFor } from './advice.ts';
import { type OtherEvent, readIncidentEvent, type StuckIncident, type UnreachableIncident } from './incident-event.ts';
import { code, link, moment, plain } from './mrkdwn.ts';
import { ALARM, type Draft, LONGEST_NAME, lasting, OVER } from './slack-draft.ts';
import { subscriberDraft } from './slack-subscriber.ts';

type PlainText = { type: 'plain_text'; text: string };
type Mrkdwn = { type: 'mrkdwn'; text: string };

/** The blocks used here; `section` has a text or fields. */
export type SlackBlock =
  | { type: 'header'; text: PlainText }
  | { type: 'section'; text: Mrkdwn }
  | { type: 'section'; fields: Mrkdwn[] }
  | { type: 'context'; elements: Mrkdwn[] };

/** A message as an incoming webhook takes it: `text` says everything, for notifications and for when blocks are refused. */
export interface SlackMessage {
  readonly text: string;
  readonly blocks: SlackBlock[];
}

/** Purchases and currencies named at most. */
const NAMED = 5;
/** Longer than any sensible console address; a longer one would crowd out the message. */
const LONGEST_URL = 500;

/** Lays out an event for Slack. Pure; never throws: an event of a shape nobody expected is announced by its type. */
export function slackMessage(body: string, { consoleUrl }: { consoleUrl: string | null }): SlackMessage {
  const event = readIncidentEvent(body);
  if (event.kind === 'other') return layOut(otherDraft(event), consoleLink(consoleUrl, ''));
  const draft =
    event.kind === 'stuck' ? stuckDraft(event) : event.kind === 'subscriber' ? subscriberDraft(event) : unreachableDraft(event);
  const page = event.incidentId === '' ? '' : `/incidents#${encodeURIComponent(event.incidentId.toWellFormed())}`;
  return layOut(draft, consoleLink(consoleUrl, page));
}

function stuckDraft(incident: StuckIncident): Draft {
  const { stage, site, state, count, peak, at, since, openedAt, endedAt, limitMs } = incident;
  const where = plain(site, LONGEST_NAME);
  const place = waitingFor(state);
  const named: [string, string] = ['State', `${code(state.name, 60)} (${state.value})`];
  if (stage === 'ended') {
    const lasted = lasting(openedAt, endedAt ?? at);
    return {
      headline: `${OVER} ${where}: no more purchases stuck ${place}, after ${lasted}`,
      facts: [
        ['Site', where],
        named,
        ['Began', moment(openedAt)],
        ['Over', moment(endedAt ?? at)],
        ['Stuck at the worst', purchases(peak)],
        ...(incident.movedOn === null ? [] : [['Moved on', purchases(incident.movedOn)] as const]),
      ],
      paragraphs: [],
    };
  }
  const { cause, remedy } = advice(state);
  const often = { opened: '', grew: 'now ', reminder: 'still ' }[stage];
  return {
    headline: `${ALARM} ${where}: ${often}${purchases(count)} stuck ${place}, the oldest for ${lasting(since, at)}`,
    facts: [
      ['Site', where],
      named,
      ['Stuck now', peak > count ? `${purchases(count)} (${peak} at the worst)` : purchases(count)],
      ['Oldest since', moment(since)],
      ...(limitMs === null ? [] : [['Counts as stuck after', humanDuration(limitMs)] as const]),
      ...(incident.waiting.length === 0 ? [] : [['Money waiting', money(incident.waiting)] as const]),
    ],
    paragraphs: [
      ['Likely cause', cause],
      ['What to do', remedy],
      ...(incident.purchases.length === 0 ? [] : [['Oldest purchases', ids(incident.purchases, count)] as const]),
    ],
  };
}

function unreachableDraft(incident: UnreachableIncident): Draft {
  const { stage, site, at, since, openedAt, endedAt, lastError, askedAgainEveryMs } = incident;
  const where = plain(site, LONGEST_NAME);
  if (stage === 'ended') {
    const end = endedAt ?? at;
    return {
      headline: `${OVER} ${where}: the checkout service answers again, after ${lasting(Math.min(since, openedAt), end)}`,
      facts: [
        ['Site', where],
        ['No answer since', moment(since)],
        ['Over', moment(end)],
      ],
      paragraphs: [
        ['What happens now', 'Every purchase that became due meanwhile is asked, the oldest first. Nothing needs to be done.'],
      ],
    };
  }
  const often = stage === 'opened' ? '' : 'still ';
  const again =
    askedAgainEveryMs === null ? 'It is asked again regularly' : `It is asked again every ${humanDuration(askedAgainEveryMs)}`;
  return {
    headline: `${ALARM} ${where}: ${often}no usable answer from the checkout service for ${lasting(since, at)}`,
    facts: [
      ['Site', where],
      ['No answer since', moment(since)],
    ],
    paragraphs: [
      [
        'Likely cause',
        lastError === null ? 'The service or the way to it is down.' : `The last call ended with: ${plain(lastError, 600)}`,
      ],
      [
        'What to do',
        'Ask the service whether it has trouble; run `purchase-watch doctor` to check address, credentials and network from here.',
      ],
      [
        'Meanwhile',
        `No state of this site's purchases is known, and none is called stuck for this time. ${again}; what is overdue then follows by itself.`,
      ],
    ],
  };
}

function otherDraft({ id, type }: OtherEvent): Draft {
  if (type === 'subscriber.test') {
    return {
      headline: `${OVER} This is a test: purchase-watch can post here`,
      facts: [],
      paragraphs: [['What to do', 'Nothing. Incidents will be told in this channel.']],
    };
  }
  return {
    headline: `purchase-watch: ${plain(type === '' ? 'an event without a type' : type, 80)}`,
    facts: [['Event', code(id, 80)]],
    paragraphs: [],
  };
}

function layOut({ headline, facts, paragraphs }: Draft, footer: string | null): SlackMessage {
  const blocks: SlackBlock[] = [{ type: 'header', text: { type: 'plain_text', text: headline } }];
  if (facts.length > 0) {
    blocks.push({ type: 'section', fields: facts.map(([label, value]) => ({ type: 'mrkdwn', text: `*${label}*\n${value}` })) });
  }
  for (const [title, text] of paragraphs) blocks.push({ type: 'section', text: { type: 'mrkdwn', text: `*${title}*\n${text}` } });
  if (footer !== null) blocks.push({ type: 'context', elements: [{ type: 'mrkdwn', text: footer }] });
  const lines = [
    `*${headline}*`,
    ...facts.map(([label, value]) => `${label}: ${value}`),
    ...paragraphs.map(([title, text]) => `*${title}*\n${text}`),
    ...(footer === null ? [] : [footer]),
  ];
  return { text: lines.join('\n'), blocks };
}

function consoleLink(consoleUrl: string | null, page: string): string | null {
  if (consoleUrl === null || consoleUrl.length + page.length > LONGEST_URL) return null;
  return link(consoleUrl.replace(/\/+$/, '') + page, 'Open in the console');
}

function purchases(count: number): string {
  return count === 1 ? '1 purchase' : `${count} purchases`;
}

function ids(oldest: readonly string[], count: number): string {
  const shown = oldest.slice(0, NAMED);
  const lines = shown.map((id) => code(id, 80));
  return (count > shown.length ? [...lines, `and ${count - shown.length} more`] : lines).join('\n');
}

function money(waiting: StuckIncident['waiting']): string {
  const shown = waiting.slice(0, NAMED).map(({ amount, currency }) => `${plain(grouped(amount), 40)} ${plain(currency, 10)}`);
  const more = waiting.length - shown.length;
  return (more > 0 ? [...shown, `and ${more} more currencies`] : shown).join('\n');
}

/** Thousands apart, digits untouched. */
function grouped(amount: string): string {
  const [, sign = '', integer = '', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(amount) ?? [];
  return integer === '' ? amount : `${sign}${integer.replace(/(?<=\d)(?=(\d{3})+$)/g, ' ')}${rest}`;
}
