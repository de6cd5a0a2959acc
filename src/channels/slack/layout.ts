/** From a draft to what Slack takes: blocks within its limits, and a text that says the same. */

import { type Draft, fitted, LONGEST_HEADLINE, type Piece } from '../people/messages/draft.ts';
import { cut, linked } from '../people/messages/mrkdwn.ts';

type PlainText = { type: 'plain_text'; text: string };
/** Verbatim: Slack makes links of nothing but what is marked as one, whatever people wrote into a note or an id. */
type Mrkdwn = { type: 'mrkdwn'; text: string; verbatim: true };

/** The blocks used here; `section` has a text or fields. */
export type SlackBlock =
  | { type: 'header'; text: PlainText }
  | { type: 'section'; text: Mrkdwn }
  | { type: 'section'; fields: Mrkdwn[] }
  | { type: 'context'; elements: Mrkdwn[] };

/**
 * A message as an incoming webhook takes it. `text` says everything, for notifications and for when blocks are refused;
 * its first line is the headline.
 */
export interface SlackMessage {
  readonly text: string;
  readonly blocks: SlackBlock[];
}

/** Slack's limits, in UTF-16 units of the escaped text. */
const LONGEST_TEXT = 4_000;
const LONGEST_SECTION = 3_000;
const LONGEST_FIELD = 2_000;
const MOST_FIELDS = 10;
const MOST_BLOCKS = 50;

/** Lays a draft out. Always within Slack's limits; what yields does so before anything is cut. */
export function layOut(draft: Draft): SlackMessage {
  const headline = cut(draft.headline, LONGEST_HEADLINE);
  const pieces = fitted(draft, (some) => textOf(headline, some).length <= LONGEST_TEXT);
  return { text: cut(textOf(headline, pieces), LONGEST_TEXT), blocks: [headOf(headline, draft.page), ...blocksOf(pieces)] };
}

/** The end of an address before its label, which stays; else what Slack's clients make an address, a mention or an emoji of. */
const LIVE = /<[^<>|\n]*|:(?=\/\/|[^\s:|>]+:)|@(?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}])\.(?=\p{L}{2})/gu;

/**
 * The text for a message without blocks, which Slack takes only with its own markup: parted by a character of no width,
 * addresses, mentions and emoji in values stay text. At most as long as Slack takes.
 */
export function inert(text: string): string {
  const parted = text.replace(LIVE, (found) => (found.startsWith('<') ? found : `${found}\u200b`));
  return cut(parted, LONGEST_TEXT);
}

function textOf(headline: string, pieces: readonly Piece[]): string {
  const lines = pieces.map(({ kind, label, text }) => {
    if (kind === 'note') return text;
    return kind === 'fact' ? `${label}: ${text.replaceAll('\n', ', ')}` : `*${label}*\n${text}`;
  });
  return [headline, ...lines].join('\n');
}

/** Headers of Slack have no links, so a headline with one is a section. */
function headOf(headline: string, page: string | undefined): SlackBlock {
  if (page === undefined) return { type: 'header', text: { type: 'plain_text', text: headline } };
  return { type: 'section', text: markup(`*${linked(page, headline)}*`, LONGEST_SECTION) };
}

function markup(text: string, longest: number): Mrkdwn {
  return { type: 'mrkdwn', text: cut(text, longest), verbatim: true };
}

function blocksOf(pieces: readonly Piece[]): SlackBlock[] {
  const of = (wanted: Piece['kind']): Piece[] => pieces.filter(({ kind }) => kind === wanted);
  const fields = of('fact').map(({ label, text }) => markup(`*${label}*\n${text}`, LONGEST_FIELD));
  const notes = of('note').map(({ text }) => markup(text, LONGEST_SECTION));
  const body: SlackBlock[] = [
    ...chunks(fields, MOST_FIELDS).map((some): SlackBlock => ({ type: 'section', fields: some })),
    ...of('paragraph').map(
      ({ label, text }): SlackBlock => ({ type: 'section', text: markup(`*${label}*\n${text}`, LONGEST_SECTION) }),
    ),
    ...chunks(notes, MOST_FIELDS).map((some): SlackBlock => ({ type: 'context', elements: some })),
  ];
  return body.slice(0, MOST_BLOCKS - 1);
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}
