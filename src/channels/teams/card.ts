/** Messages for Teams: the words of people's messages as an Adaptive Card within the limits of Teams. */

import { PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import type { Draft } from '../people/messages/draft.ts';
import { fitted, type Piece } from '../people/messages/draft.ts';
import { eventDraft, type MessageOptions } from '../people/messages/message.ts';
import { cut, linked, plainText } from '../people/messages/mrkdwn.ts';
import { type FoldOptions, foldedDraft } from '../people/messages/together.ts';
import { markdown } from './markdown.ts';

interface TextBlock {
  readonly type: 'TextBlock';
  readonly text: string;
  readonly wrap: true;
  readonly size?: 'Large' | 'Small';
  readonly weight?: 'Bolder';
  readonly isSubtle?: true;
  readonly spacing?: 'None' | 'Medium';
}

interface FactSet {
  readonly type: 'FactSet';
  readonly facts: { readonly title: string; readonly value: string }[];
}

/** A message as a workflow takes that begins "when a Teams webhook request is received". */
export interface TeamsMessage {
  readonly type: 'message';
  /** Of the notification. */
  readonly summary: string;
  readonly attachments: readonly [
    {
      readonly contentType: 'application/vnd.microsoft.card.adaptive';
      readonly contentUrl: null;
      readonly content: {
        readonly $schema: string;
        readonly type: 'AdaptiveCard';
        readonly version: '1.4';
        readonly msteams: { readonly width: 'Full' };
        readonly body: (TextBlock | FactSet)[];
      };
    },
  ];
}

/**
 * Teams takes 28 KB and refuses more after the workflow has answered 202, so the message would be lost without an error. It counts the card as a
 * text in JSON, which makes it longer: 24 453 bytes were refused as 28 897.
 */
const MOST_BYTES = 24_000;
const LONGEST_HEADLINE = 300;
const LONGEST_TEXT = 3_000;

/** An event as a card. Pure; never throws: an event of an unexpected shape is announced by its type. */
export function teamsMessage(body: string, options: MessageOptions): TeamsMessage {
  return laidOut(eventDraft(body, options));
}

/** Events, oldest first, as one card. Pure; never throws. */
export function teamsFolded(bodies: readonly string[], options: Omit<FoldOptions, 'service'>): TeamsMessage {
  return laidOut(foldedDraft(bodies, { ...options, service: PEOPLE_KINDS.teams.title }));
}

/** How many bytes Teams counts at least. */
export function countedBytes(message: TeamsMessage): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(message)));
}

/** Pieces that yield do so before the end of the message is left out. */
export function laidOut(draft: Draft): TeamsMessage {
  const headline = cut(draft.headline, LONGEST_HEADLINE);
  const card = (pieces: readonly Piece[]): TeamsMessage => messageOf({ ...draft, headline }, pieces);
  const fits = (pieces: readonly Piece[]): boolean => countedBytes(card(pieces)) <= MOST_BYTES;
  let pieces = fitted(draft, fits);
  while (pieces.length > 0 && !fits(pieces)) pieces = pieces.slice(0, -1);
  return card(pieces);
}

function messageOf({ headline, page }: Pick<Draft, 'headline' | 'page'>, pieces: readonly Piece[]): TeamsMessage {
  const of = (wanted: Piece['kind']): Piece[] => pieces.filter(({ kind }) => kind === wanted);
  const text = (markup: string): string => markdown(cut(markup, LONGEST_TEXT));
  const facts = of('fact').map(({ label, text: value }) => ({ title: label, value: text(value) }));
  const body: (TextBlock | FactSet)[] = [
    {
      type: 'TextBlock',
      text: markdown(page === undefined ? headline : linked(page, headline)),
      wrap: true,
      size: 'Large',
      weight: 'Bolder',
    },
    ...(facts.length === 0 ? [] : [{ type: 'FactSet', facts } as const]),
    ...of('paragraph').flatMap(({ label, text: body }): TextBlock[] => [
      { type: 'TextBlock', text: markdown(label), wrap: true, weight: 'Bolder', spacing: 'Medium' },
      { type: 'TextBlock', text: text(body), wrap: true, spacing: 'None' },
    ]),
    ...of('note').map(
      ({ text: note }): TextBlock => ({ type: 'TextBlock', text: text(note), wrap: true, size: 'Small', isSubtle: true }),
    ),
  ];
  const $schema = 'http://adaptivecards.io/schemas/adaptive-card.json';
  const content = { $schema, type: 'AdaptiveCard', version: '1.4', msteams: { width: 'Full' }, body } as const;
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content } as const;
  return { type: 'message', summary: plainText(headline), attachments: [attachment] };
}
