/** Messages for people: reads an event, and has its message drafted by its subject. */

import { commandLine } from '../../../domain/values/command-line.ts';
import { counted, grouped } from '../../../domain/values/counts.ts';
import type { Checkouts } from '../events/checkouts-event.ts';
import { type FirstLook, type OtherEvent, type PeopleEvent, readIncidentEvent } from '../events/incident-event.ts';
import { type IncidentHead, isLookedAfter, ownerOf } from '../events/incident-head.ts';
import { checkoutsDraft } from './checkouts.ts';
import { digestDraft, digestPage } from './digest.ts';
import { type Draft, type Labelled, LONGEST_NAME, NEUTRAL, OVER, waitingFor } from './draft.ts';
import { code, command, consolePage, linked, moment, plain } from './mrkdwn.ts';
import { paidTwiceDraft, paidTwicePage } from './paid-twice.ts';
import { replicaDraft } from './replica.ts';
import { unreachableDraft } from './site.ts';
import { stuckDraft } from './stuck.ts';
import { subscriberDraft } from './subscriber.ts';

export interface MessageOptions {
  /** Where people find the console; null: there is none to link to. */
  readonly consoleUrl: string | null;
}

const LONGEST_NOTE = 300;

/** An event's body as a message before it is laid out. Pure; never throws: one of an unexpected shape is announced by its type. */
export function eventDraft(body: string, { consoleUrl }: MessageOptions): Draft {
  return draftOf(readIncidentEvent(body), consoleUrl);
}

/** An event as a message before it is laid out. */
export function draftOf(event: PeopleEvent, consoleUrl: string | null): Draft {
  switch (event.kind) {
    case 'other':
      return withPage(otherDraft(event), consoleUrl, '/');
    case 'digest':
      return withPage(digestDraft(event), consoleUrl, digestPage(event.data));
    case 'checkouts':
      return withPage(checkoutsDraft(event, consoleUrl), consoleUrl, checkoutsPage(event));
    case 'paid_twice':
      return withPage(paidTwiceDraft(event, consoleUrl), consoleUrl, paidTwicePage(event));
    case 'first_look':
      return withPage(firstLookDraft(event), consoleUrl, '/');
    default: {
      const draft =
        event.kind === 'stuck'
          ? stuckDraft(event, consoleUrl)
          : event.kind === 'subscriber'
            ? subscriberDraft(event)
            : event.kind === 'replica'
              ? replicaDraft(event)
              : unreachableDraft(event);
      const said = aboutTest(event, lookedAfter(event, draft));
      // Posted without the database, which has no incident to show.
      if (event.kind === 'replica' && event.postedBy !== null) return withPage(said, consoleUrl, '/incidents');
      return withPage(withNotes(said, commands(event)), consoleUrl, incidentPage(event.incidentId));
    }
  }
}

/** A draft about what a page of the console shows. */
export function withPage(draft: Draft, consoleUrl: string | null, path: string): Draft {
  const page = consolePage(consoleUrl, path);
  return page === null ? draft : { ...withNotes(draft, [linked(page, 'Open in the console')]), page };
}

function withNotes(draft: Draft, notes: readonly string[]): Draft {
  const said = notes.map((note) => [note, { order: 70 }] as const);
  return { ...draft, notes: [...(draft.notes ?? []), ...said] };
}

/** Who looks after it, or did before it came back. */
function lookedAfter(incident: IncidentHead, draft: Draft): Draft {
  const owner = ownerOf(incident);
  if (owner === null) return draft;
  const { by, note, at } = owner;
  const who = `${plain(by, 60)}${at === null ? '' : `, since ${moment(at)}`}`;
  if (!isLookedAfter(incident))
    return { ...draft, facts: [...draft.facts, ['Before it came back', `${plain(by, 60)} looked after it`]] };
  const said: Labelled[] =
    note === null || incident.stage === 'ended' ? [] : [[`${plain(by, 60)} says`, plain(note, LONGEST_NOTE), { order: 45 }]];
  return { ...draft, facts: [...draft.facts, ['Looked after by', who]], paragraphs: [...said, ...draft.paragraphs] };
}

function aboutTest({ test }: IncidentHead, draft: Draft): Draft {
  if (!test) return draft;
  const said: Labelled = ['This is a TEST', 'Nothing is wrong: names and numbers are made up.'];
  return { ...draft, paragraphs: [said, ...draft.paragraphs] };
}

/** The commands to type for more, as long as the incident goes on. */
function commands(incident: IncidentHead): string[] {
  const { incidentId, stage } = incident;
  if (incidentId === '' || stage === 'ended') return [];
  const see = `More: ${command(commandLine`incidents show ${incidentId}`)}`;
  const take = `Take it: ${command(commandLine`incidents acknowledge ${incidentId} --by NAME`)}`;
  return isLookedAfter(incident) ? [see] : [see, take];
}

export function incidentPage(incidentId: string): string {
  return incidentId === '' ? '/incidents' : `/incidents/${encodeURIComponent(incidentId.toWellFormed())}`;
}

/** Of the purchase when there is only one. */
function checkoutsPage({ stuck, stuckCount, over, overCount }: Checkouts): string {
  const first = stuck[0] ?? over[0];
  if (first === undefined || stuckCount + overCount > 1) return '/purchases';
  return `/purchases/${encodeURIComponent(first.site.toWellFormed())}/${encodeURIComponent(first.purchaseId.toWellFormed())}`;
}

/** Sent once, when purchases of a site's first load are stuck. */
function firstLookDraft({ site, count, parts, registered, unseen, since }: FirstLook): Draft {
  const where = plain(site, LONGEST_NAME);
  const those = counted(count, 'purchase has', 'purchases have');
  const line = (part: FirstLook['parts'][number]): string => `• ${waitingFor(part.state)}: ${grouped(part.count)}`;
  const states = parts.slice(0, 15).map(line).join('\n');
  return {
    headline: `${NEUTRAL} First look at ${where}: ${those} been waiting for long`,
    facts: [
      ['Site', where],
      ['Waiting for long', grouped(count)],
      ['Registered in all', registered === null ? null : grouped(registered)],
      ['No answer about yet', unseen === null || unseen === 0 ? null : grouped(unseen)],
      ['The oldest since', since === null ? null : moment(since)],
    ],
    paragraphs: [
      ['Where', states, { order: 1 }],
      [
        'What this means',
        `${count === 1 ? 'It was' : 'They were'} waiting already at the first poll, and came with the first load of this site, so since when is not known. No incident rests on purchases of the first load, and this message comes only once: incidents are found from customers who come later.`,
      ],
      [
        'What to do',
        `Look at the oldest, because some may be customers who wait at this moment: ${code('purchase-watch status', 40)}.`,
      ],
    ],
  };
}

function otherDraft({ id, type }: OtherEvent): Draft {
  if (type === 'subscriber.test') {
    return {
      headline: `${OVER} This is a test: purchase-watch can post here`,
      facts: [],
      paragraphs: [['What to do', 'Nothing. People will be alerted of incidents in this channel.']],
    };
  }
  return {
    headline: `purchase-watch: ${plain(type === '' ? 'an event without a type' : type, 80)}`,
    facts: [['Event', code(id, 80)]],
    paragraphs: [],
  };
}
