/** What people are shown of an event: reads it, and has it drafted by what it is about. */

import { counted, grouped } from '../../../domain/values/counts.ts';
import { type FirstLook, type OtherEvent, type PeopleEvent, readIncidentEvent } from '../events/incident-event.ts';
import { type IncidentHead, isLookedAfter } from '../events/incident-head.ts';
import { waitingFor } from './advice.ts';
import { checkoutsDraft } from './checkouts.ts';
import { digestDraft } from './digest.ts';
import { type Draft, type Labelled, LONGEST_NAME, NEUTRAL, OVER } from './draft.ts';
import { code, link, moment, plain } from './mrkdwn.ts';
import { replicaDraft } from './replica.ts';
import { unreachableDraft } from './site.ts';
import { stuckDraft } from './stuck.ts';
import { subscriberDraft } from './subscriber.ts';

export interface MessageOptions {
  /** Where people find the console; null: there is none to link to. */
  readonly consoleUrl: string | null;
}

/** Longer than any sensible console address; a longer one would crowd out the message. */
const LONGEST_URL = 500;
const LONGEST_NOTE = 300;

/** An event's body as a message before it is laid out. Pure; never throws: one of an unexpected shape is announced by its type. */
export function eventDraft(body: string, { consoleUrl }: MessageOptions): Draft {
  return draftOf(readIncidentEvent(body), consoleUrl);
}

/** An event as a message before it is laid out. */
export function draftOf(event: PeopleEvent, consoleUrl: string | null): Draft {
  switch (event.kind) {
    case 'other':
      return withNotes(otherDraft(event), [consoleLink(consoleUrl, '')]);
    case 'digest':
      return withNotes(digestDraft(event), [consoleLink(consoleUrl, '')]);
    case 'checkouts':
      return withNotes(checkoutsDraft(event), [consoleLink(consoleUrl, '/purchases')]);
    case 'first_look':
      return withNotes(firstLookDraft(event), [consoleLink(consoleUrl, '')]);
    default: {
      const draft =
        event.kind === 'stuck'
          ? stuckDraft(event)
          : event.kind === 'subscriber'
            ? subscriberDraft(event)
            : event.kind === 'replica'
              ? replicaDraft(event)
              : unreachableDraft(event);
      return withNotes(aboutTest(event, lookedAfter(event, draft)), [
        ...commands(event),
        consoleLink(consoleUrl, incidentPage(event.incidentId)),
      ]);
    }
  }
}

function withNotes(draft: Draft, notes: readonly (string | null)[]): Draft {
  const said = notes.flatMap((note) => (note === null ? [] : [[note, { order: 70 }] as const]));
  return { ...draft, notes: [...(draft.notes ?? []), ...said] };
}

/** Who looks after it, or did before it came back. */
function lookedAfter(incident: IncidentHead, draft: Draft): Draft {
  const { acknowledged, stage } = incident;
  if (acknowledged === null) return draft;
  const { by, note, at } = acknowledged;
  const who = `${plain(by, 60)}${at === null ? '' : `, since ${moment(at)}`}`;
  if (!isLookedAfter(incident))
    return { ...draft, facts: [...draft.facts, ['Before it came back', `${plain(by, 60)} looked after it`]] };
  const said: Labelled[] =
    note === null || stage === 'ended' ? [] : [[`${plain(by, 60)} says`, plain(note, LONGEST_NOTE), { order: 45 }]];
  return { ...draft, facts: [...draft.facts, ['Looked after by', who]], paragraphs: [...said, ...draft.paragraphs] };
}

function aboutTest({ isTest }: IncidentHead, draft: Draft): Draft {
  if (!isTest) return draft;
  const said: Labelled = ['This is a TEST', 'Nothing is wrong: names and numbers are made up, and long on purpose.'];
  return { ...draft, paragraphs: [said, ...draft.paragraphs] };
}

/** What to type for more, as long as the incident goes on. */
function commands(incident: IncidentHead): string[] {
  const { incidentId, stage } = incident;
  if (incidentId === '' || stage === 'ended') return [];
  const see = `More: ${code(`purchase-watch incidents show ${incidentId}`, 160)}`;
  const take = `Take it: ${code(`purchase-watch incidents acknowledge ${incidentId} --by NAME`, 180)}`;
  return isLookedAfter(incident) ? [see] : [see, take];
}

export function incidentPage(incidentId: string): string {
  return incidentId === '' ? '' : `/incidents#${encodeURIComponent(incidentId.toWellFormed())}`;
}

/** A link to a page of the console; null when there is no console, or its address is too long. */
export function consoleLink(consoleUrl: string | null, page: string, label = 'Open in the console'): string | null {
  if (consoleUrl === null || consoleUrl.length + page.length > LONGEST_URL) return null;
  return link(consoleUrl.replace(/\/+$/, '') + page, label);
}

/** Told once, when a site is asked for the first time and a customer has been waiting there. */
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
      ...(registered === null ? [] : [['Registered in all', grouped(registered)] as const]),
      ...(unseen === null || unseen === 0 ? [] : [['Not asked about yet', grouped(unseen)] as const]),
      ...(since === null ? [] : [['The oldest since', moment(since)] as const]),
    ],
    paragraphs: [
      ...(states === '' ? [] : [['Where', states, { order: 1 }] as const]),
      [
        'What this means',
        `${count === 1 ? 'It was' : 'They were'} waiting there already when first asked about, while this site was new here, so nobody knows since when. Nothing is concluded from that, and it is said only once: incidents are found from customers who come from now on.`,
      ],
      ['What to do', `Look through them when it suits: ${code('purchase-watch status', 40)} shows the oldest.`],
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
