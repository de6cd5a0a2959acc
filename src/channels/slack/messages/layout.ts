/** From a draft to what Slack takes: blocks within its limits, and a text that says the same. */

import type { Draft, Yields } from './draft.ts';
import { cut } from './mrkdwn.ts';

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
export const LONGEST_HEADLINE = 150;
const LONGEST_SECTION = 3_000;
const LONGEST_FIELD = 2_000;
const MOST_FIELDS = 10;
const MOST_BLOCKS = 50;

/** One text of the message, as it is now and as it may become. */
interface Piece {
  readonly kind: 'fact' | 'paragraph' | 'note';
  readonly label: string;
  text: string;
  readonly order: number | null;
  /** What it may still be replaced by; the last is nothing. */
  readonly shorter: string[];
}

/** Lays a draft out. Always within Slack's limits; what yields does so before anything is cut. */
export function layOut(draft: Draft): SlackMessage {
  const headline = cut(draft.headline, LONGEST_HEADLINE);
  const all = [
    ...draft.facts.map(([label, text, yields]) => pieceOf('fact', label, text, yields)),
    ...draft.paragraphs.map(([label, text, yields]) => pieceOf('paragraph', label, text, yields)),
    ...(draft.notes ?? []).map(([text, yields]) => pieceOf('note', '', text, yields)),
  ].filter(({ text }) => text !== '');
  let pieces = all;
  let text = textOf(headline, pieces);
  while (text.length > LONGEST_TEXT) {
    const next = nextToYield(pieces);
    if (next === null) break;
    next.text = next.shorter.shift() ?? '';
    pieces = pieces.filter((piece) => piece.text !== '');
    text = textOf(headline, pieces);
  }
  return { text: cut(text, LONGEST_TEXT), blocks: blocksOf(headline, pieces) };
}

function pieceOf(kind: Piece['kind'], label: string, text: string, yields: Yields | undefined): Piece {
  const shorter = yields === undefined ? [] : [...(yields.shorter ?? []), ''];
  return { kind, label, text, order: yields?.order ?? null, shorter };
}

function nextToYield(pieces: readonly Piece[]): Piece | null {
  const yielding = pieces.filter(({ shorter }) => shorter.length > 0);
  return yielding.sort((one, other) => one.order! - other.order!)[0] ?? null;
}

function textOf(headline: string, pieces: readonly Piece[]): string {
  const lines = pieces.map(({ kind, label, text }) => {
    if (kind === 'note') return text;
    return kind === 'fact' ? `${label}: ${text.replaceAll('\n', ', ')}` : `*${label}*\n${text}`;
  });
  return [headline, ...lines].join('\n');
}

function blocksOf(headline: string, pieces: readonly Piece[]): SlackBlock[] {
  const of = (wanted: Piece['kind']): Piece[] => pieces.filter(({ kind }) => kind === wanted);
  const markup = (text: string, longest: number): Mrkdwn => ({ type: 'mrkdwn', text: cut(text, longest), verbatim: true });
  const fields = of('fact').map(({ label, text }) => markup(`*${label}*\n${text}`, LONGEST_FIELD));
  const notes = of('note').map(({ text }) => markup(text, LONGEST_SECTION));
  const body: SlackBlock[] = [
    ...chunks(fields, MOST_FIELDS).map((some): SlackBlock => ({ type: 'section', fields: some })),
    ...of('paragraph').map(
      ({ label, text }): SlackBlock => ({ type: 'section', text: markup(`*${label}*\n${text}`, LONGEST_SECTION) }),
    ),
    ...chunks(notes, MOST_FIELDS).map((some): SlackBlock => ({ type: 'context', elements: some })),
  ];
  return [{ type: 'header', text: { type: 'plain_text', text: headline } }, ...body.slice(0, MOST_BLOCKS - 1)];
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}
