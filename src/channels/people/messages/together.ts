/**
 * One message for all events that waited, because the service did not take them, the channel has had enough for now, or there
 * are many at once. Of each incident the message has only what is true by now; what came and went meanwhile stands there as past.
 */

import type { ReplicaTrouble } from '../../../domain/incidents/replica-trouble.ts';
import { counted, grouped } from '../../../domain/values/counts.ts';
import { type Instant, MINUTE } from '../../../domain/values/time.ts';
import type { TogetherOptions } from '../../outgoing/channel.ts';
import { joined } from '../events/checkouts-event.ts';
import { type PeopleEvent, type ReplicaIncident, readIncidentEvent } from '../events/incident-event.ts';
import { broughtUpToDate, type IncidentEvent } from '../events/incident-now.ts';
import type { StuckIncident } from '../events/stuck-event.ts';
import { causeTitle } from './cause-paragraphs.ts';
import { checkoutLines } from './checkouts.ts';
import { andMore, customers, type Draft, type Labelled, LONGEST_NAME, lasting, NEUTRAL, OVER, signOf } from './draft.ts';
import { draftOf, incidentPage, type MessageOptions, withPage } from './message.ts';
import { code, consolePage, linked, moment, plain } from './mrkdwn.ts';
import { paidTwiceBeside } from './paid-twice.ts';
import { wordsOfSite } from './site.ts';
import { beganAt, stuckPlace, stuckWhere } from './stuck-headline.ts';

/** `service` shows the message; an incident that `incidents` lacks is shown as of its last event. */
export type FoldOptions = MessageOptions &
  Pick<TogetherOptions, 'since' | 'until' | 'now' | 'reason' | 'incidents'> & { readonly service: string };

/** The events of one incident that waited. */
interface Thread {
  /** Whether the incident's beginning is among what waited: this channel was not alerted of it before. */
  readonly isNew: boolean;
  /** The latest of its events, and its place among all. */
  readonly last: IncidentEvent;
  readonly place: number;
  /** Losses of the database of which the channel was to be alerted: they ask for people whatever the incident became. */
  readonly losses: readonly ReplicaTrouble[];
  /** When the event was made, and whether the rest is known to be true by now. */
  readonly madeAt: Instant;
  readonly isKnown: boolean;
}

/** An event older than this is shown with its time. */
const FRESH = 60_000;

/** Lines of one kind at most. */
const MOST_LINES = 12;

/** Events, oldest first, as one message before it is laid out. Pure; never throws. */
export function foldedDraft(events: readonly string[], options: FoldOptions): Draft {
  const read = events.map(readIncidentEvent);
  const threads = threadsOf(read).map((thread) => current(thread, options));
  const checkouts = read.filter((event) => event.kind === 'checkouts');
  const others: PeopleEvent[] = [
    ...read.filter((event) => !isIncident(event) && event.kind !== 'checkouts'),
    ...(checkouts.length === 0 ? [] : [joined(checkouts)]),
  ];
  const draft = draftTogether(threads, others, events.length, options);
  return { ...draft, notes: [[whyOne(events.length, options)], ...(draft.notes ?? [])] };
}

function draftTogether(threads: readonly Thread[], others: readonly PeopleEvent[], total: number, options: FoldOptions): Draft {
  const { consoleUrl } = options;
  const open = threads.filter(({ last }) => last.stage !== 'ended').sort((one, other) => weight(other) - weight(one));
  const ended = threads.filter(({ last }) => last.stage === 'ended');
  if (threads.length + others.length === 1) {
    const [thread] = threads;
    return thread === undefined ? draftOf(others[0]!, consoleUrl) : aloneDraft(thread, options);
  }

  const rest = [
    ...lines(
      'Over',
      20,
      ended.filter(({ isNew }) => !isNew).map(({ last }) => headlineOf(last)),
    ),
    ...lines(
      'Came and went meanwhile',
      15,
      ended.filter(({ isNew }) => isNew).map(({ last }) => pastLine(last)),
    ),
    ...lines('Besides', 10, others.filter(({ kind }) => kind !== 'checkouts' && kind !== 'paid_twice').map(headlineOf)),
    ...others.flatMap((event) => (event.kind === 'checkouts' ? checkoutLines(event, 25, consoleUrl) : [])),
    ...others.flatMap((event) => (event.kind === 'paid_twice' ? paidTwiceBeside(event, consoleUrl) : [])),
  ];
  const [first] = open;
  // One thing goes on: that is the message, the rest comes after it.
  if (first !== undefined && open.length === 1) {
    const draft = aloneDraft(first, options);
    return { ...draft, paragraphs: [...draft.paragraphs, ...rest] };
  }
  const [going, over] = [
    counted(open.length, 'incident goes', 'incidents go'),
    counted(ended.length, 'incident is', 'incidents are'),
  ];
  const sign = first === undefined ? (ended.length > 0 ? OVER : NEUTRAL) : signOf(first.last);
  const said = [...(open.length > 0 ? [`${going} on`] : []), ...(ended.length > 0 ? [`${over} over`] : [])].join(', ');
  const draft: Draft = {
    headline: `${sign} ${said === '' ? '' : `${said}: `}${grouped(total)} messages in one`,
    facts: [],
    paragraphs: [
      ...lines(
        'Going on',
        30,
        open.map((thread) => openLine(thread, options)),
      ),
      ...rest,
    ],
    notes: open.length === 0 ? [] : [[`More: ${code('purchase-watch incidents', 60)}`]],
  };
  return withPage(draft, consoleUrl, '/incidents');
}

/** By incident, in the order of their last events. An incident that a later message about another one includes is left out. */
function threadsOf(events: readonly PeopleEvent[]): Thread[] {
  const threads = new Map<string, Thread>();
  for (const [place, event] of events.entries()) {
    if (!isIncident(event)) continue;
    const key = event.incidentId === '' ? `#${place}` : event.incidentId;
    const { isNew = event.stage === 'opened', losses = [] } = threads.get(key) ?? {};
    threads.delete(key);
    threads.set(key, { isNew, last: event, place, losses: [...losses, ...lossesOf(event)], madeAt: event.at, isKnown: false });
  }
  const includedBy = new Map<string, number>();
  for (const { last, place } of threads.values()) {
    if (last.kind === 'stuck') for (const id of last.includes) if (id !== last.incidentId) includedBy.set(id, place);
  }
  return [...threads.values()].filter(({ last, place }) => (includedBy.get(last.incidentId) ?? -1) < place);
}

/** As it is when it is sent. No channel is reminded of an incident of which it was not alerted. */
function current(thread: Thread, { incidents, now }: FoldOptions): Thread {
  const { last, isNew, losses } = thread;
  const known = incidents.get(last.incidentId);
  const current = known === undefined ? last : broughtUpToDate(last, known, now);
  if (losses.length > 0 && current.kind === 'replica') return { ...thread, last: withLosses(current, losses), isKnown: true };
  const stage = isNew && current.stage === 'reminder' ? 'grew' : current.stage;
  return { ...thread, last: { ...current, stage }, isKnown: known !== undefined };
}

function lossesOf(event: IncidentEvent): ReplicaTrouble[] {
  if (event.kind !== 'replica' || event.stage === 'ended') return [];
  return event.troubles.filter(({ reason }) => reason === 'database_went_back');
}

/** The incident as it is now with its losses, of which an end or a later event says nothing. */
function withLosses(incident: ReplicaIncident, losses: readonly ReplicaTrouble[]): ReplicaIncident {
  const isOver = incident.stage === 'ended';
  const others = isOver ? [] : incident.troubles.filter(({ reason }) => reason !== 'database_went_back');
  const stage = isOver ? 'opened' : incident.stage;
  return { ...incident, stage, severity: 'critical', troubles: [...losses, ...others] };
}

function isIncident(event: PeopleEvent): event is IncidentEvent {
  return event.kind === 'stuck' || event.kind === 'unreachable' || event.kind === 'subscriber' || event.kind === 'replica';
}

/** An incident as its own message would show it now. */
function aloneDraft(thread: Thread, { consoleUrl, now }: FoldOptions): Draft {
  const { last, isNew, madeAt, isKnown } = thread;
  const draft = draftOf(last, consoleUrl);
  if (last.stage !== 'ended') {
    const then = moment(madeAt);
    const isFresh = now - madeAt <= FRESH;
    if (!isKnown && !isFresh) return { ...draft, facts: [['As of', `${then}; how it is now is not known`], ...draft.facts] };
    if (last.kind !== 'stuck') return draft;
    const headline = last.count === 0 ? nobodyNow(last) : draft.headline;
    const notes = isFresh ? [] : [[`Money, purchases and causes are as of ${then}.`, { order: 65 }] as const];
    return { ...draft, headline, notes: [...notes, ...(draft.notes ?? [])] };
  }
  if (!isNew || last.kind !== 'stuck') return draft;
  const long = lasting(beganAt(last), last.endedAt ?? last.at);
  return { ...draft, headline: `${OVER} ${pastWhat(last)} for ${long}; it is over` };
}

/** The headline of an incident that has not ended while nothing is wrong at the moment. */
function nobodyNow(incident: StuckIncident): string {
  const place = `${signOf(incident)} ${stuckWhere(incident, false)}: nobody is stuck ${stuckPlace(incident)} at the moment`;
  return `${place}, up to ${customers(incident.peak)} ${incident.peak === 1 ? 'was' : 'were'}`;
}

/** The worse the heavier. */
function weight({ last }: Thread): number {
  const level = last.severity === 'warning' ? 0 : 1e9;
  return (
    level + (last.kind === 'stuck' ? Math.min(last.count, 1e8) : last.kind === 'unreachable' || last.kind === 'replica' ? 1e8 : 0)
  );
}

function openLine(thread: Thread, { consoleUrl, now }: FoldOptions): string {
  const { last: incident, madeAt, isKnown } = thread;
  const isNobody = isKnown && incident.kind === 'stuck' && incident.count === 0;
  const headline = isNobody ? nobodyNow(incident) : headlineOf(incident);
  const then = isKnown || now - madeAt <= FRESH ? '' : `, as of ${moment(madeAt)}`;
  const [likely] = incident.kind === 'stuck' ? incident.causes : [];
  const cause = likely === undefined ? '' : `. ${likely.likely ? 'Likely' : 'Possible'} cause: ${causeTitle(likely.cause)}`;
  const page = incidentPage(incident.incidentId);
  const address = incident.incidentId === '' || page.length > 100 ? null : consolePage(consoleUrl, page);
  return `${headline}${then}${cause}${address === null ? '' : ` (${linked(address, 'show')})`}`;
}

/** The headline of an event, for a message that names others, too. */
const headlineOf = (event: PeopleEvent): string => draftOf(event, null).headline;

/** An incident that is over and of which the channel was not alerted before. */
function pastLine(incident: IncidentEvent): string {
  const period = (from: Instant): string => `from ${moment(from)} to ${moment(incident.endedAt ?? incident.at)}`;
  if (incident.kind === 'subscriber' || incident.kind === 'replica') return headlineOf(incident);
  if (incident.kind === 'unreachable')
    return `${OVER} ${plain(incident.site, LONGEST_NAME)}: ${wordsOfSite(incident).what} ${period(incident.since)}`;
  return `${OVER} ${pastWhat(incident)}, ${period(beganAt(incident))}`;
}

function pastWhat(incident: StuckIncident): string {
  const verb = incident.peak === 1 ? 'was' : 'were';
  return `${stuckWhere(incident, false)}: up to ${customers(incident.peak)} ${verb} stuck ${stuckPlace(incident)}`;
}

/** A paragraph of lines; none when there are none. */
function lines(label: string, order: number, all: readonly string[]): Labelled[] {
  if (all.length === 0) return [];
  const marked = all.map((line) => `• ${line}`);
  const some = (most: number): string => andMore(marked.slice(0, most), all.length - most);
  const fewer = [8, 5, 3, 1].filter((most) => most < Math.min(all.length, MOST_LINES));
  return [[label, some(MOST_LINES), { order, shorter: fewer.map(some) }]];
}

/** Why the events come as one message, or late. */
function whyOne(total: number, { since, until, reason, service }: FoldOptions): string {
  const cap = code('slack.maxPerHour', 30);
  if (total === 1) {
    if (reason === 'late') return `This comes late: nobody could send it when it was due, ${moment(since)}.`;
    const why =
      reason === 'capped' ? `this channel had had its messages of the hour (${cap})` : `${service} did not take it at once`;
    return `This comes late, because ${why}: it was due ${moment(since)}.`;
  }
  const why = {
    capped: `this channel had had its messages of the hour (${cap})`,
    refused: `${service} did not take them at once`,
    late: 'nobody could send them when they were due',
    last: `this channel gets only one more within the hour (${cap}), but for news of something critical`,
    several: 'they came at once',
  }[reason];
  const isOneMoment = Math.floor(since / MINUTE) === Math.floor(until / MINUTE);
  const due = isOneMoment ? moment(since) : `from ${moment(since)} to ${moment(until)}`;
  const when = reason === 'several' || reason === 'last' ? '' : ` They were due ${due};`;
  return `${grouped(total)} messages in one, because ${why}.${when === '' ? ' Of' : `${when} of`} each incident only what is true by now is said.`;
}
