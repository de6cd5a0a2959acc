/** A message before it is laid out. */

import { knownState, LOOK_AT_LATEST_DEPLOY, type NamedState, statePlace } from '../../../domain/purchases/states.ts';
import { counted, grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import type { Instant } from '../../../domain/values/time.ts';
import type { IncidentHead } from '../events/incident-head.ts';

/** How a piece gives way when a message is too long for where it is shown: lower orders first, each shorter version, then nothing. */
export interface Yields {
  readonly order: number;
  readonly shorter?: readonly string[];
}

/** A text under its label; null is left out. Without `yields` it is always shown whole. */
export type Labelled = readonly [label: string, text: string | null, yields?: Yields];

/** All texts are markup, and no mark of it goes over the end of a line. */
export interface Draft {
  /** 150 characters at most. */
  readonly headline: string;
  /** The page of the console that is about the same; the headline links to it. */
  readonly page?: string;
  /** A few words each. */
  readonly facts: readonly Labelled[];
  readonly paragraphs: readonly Labelled[];
  /** Small print at the end. */
  readonly notes?: readonly (readonly [text: string, yields?: Yields])[];
}

const ALARM = '🔴';
const WARNING = '🟠';
export const OVER = '✅';
/** Nothing new is wrong. */
export const NEUTRAL = '⚪';
/** A header block of Slack's takes no more. */
export const LONGEST_HEADLINE = 150;
/** Headlines must stay within that. */
export const LONGEST_NAME = 36;

/** How long it was from one moment to another. */
export function lasting(from: Instant, to: Instant): string {
  return humanDuration(Math.max(0, to - from));
}

/** The sign that shows at a glance how bad an incident is. */
export function signOf({ severity }: Pick<IncidentHead, 'severity'>): string {
  return severity === 'warning' ? WARNING : ALARM;
}

/** Lines, and how many more there are. */
export function andMore(lines: readonly string[], more: number, what = 'more'): string {
  return [...lines, ...(more > 0 ? [`and ${grouped(more)} ${what}`] : [])].join('\n');
}

export function customers(count: number): string {
  return counted(count, 'customer');
}

/** Where the customers are, in words that follow "stuck". */
export function waitingFor(state: NamedState): string {
  return statePlace(state.value);
}

/** The likely cause and what to do, as markup. */
export function advice(state: NamedState): { readonly cause: string; readonly remedy: string } {
  return (
    knownState(state.value)?.advice ?? {
      cause: 'The specification names no cause for this state.',
      remedy: `${LOOK_AT_LATEST_DEPLOY}, then ask the provider that the customers wait for in this state.`,
    }
  );
}

/** One text of a message. */
export interface Piece {
  readonly kind: 'fact' | 'paragraph' | 'note';
  readonly label: string;
  readonly text: string;
}

/** A piece as it is now, and as it may become. */
interface Yielding extends Piece {
  text: string;
  readonly order: number | null;
  /** The texts by which the piece may still be replaced; the last is empty. */
  readonly shorter: string[];
}

/** The pieces of a draft, with as much taken away as it takes for `fits` to hold, or as can be. */
export function fitted(draft: Draft, fits: (pieces: readonly Piece[]) => boolean): readonly Piece[] {
  let pieces = [
    ...draft.facts.map(([label, text, yields]) => pieceOf('fact', label, text, yields)),
    ...draft.paragraphs.map(([label, text, yields]) => pieceOf('paragraph', label, text, yields)),
    ...(draft.notes ?? []).map(([text, yields]) => pieceOf('note', '', text, yields)),
  ].filter(({ text }) => text !== '');
  while (!fits(pieces)) {
    const next = nextToYield(pieces);
    if (next === null) break;
    next.text = next.shorter.shift() ?? '';
    pieces = pieces.filter((piece) => piece.text !== '');
  }
  return pieces;
}

function pieceOf(kind: Piece['kind'], label: string, text: string | null, yields: Yields | undefined): Yielding {
  const shorter = yields === undefined ? [] : [...(yields.shorter ?? []), ''];
  return { kind, label, text: text ?? '', order: yields?.order ?? null, shorter };
}

function nextToYield(pieces: readonly Yielding[]): Yielding | null {
  const yielding = pieces.filter(({ shorter }) => shorter.length > 0);
  return yielding.sort((one, other) => one.order! - other.order!)[0] ?? null;
}
