/** Makes a draft short enough for where it is shown: what yields does so before anything is cut. */

import type { Draft, Yields } from './draft.ts';

/** One text of a message. */
export interface Piece {
  readonly kind: 'fact' | 'paragraph' | 'note';
  readonly label: string;
  readonly text: string;
}

/** The same, as it is now and as it may become. */
interface Yielding extends Piece {
  text: string;
  readonly order: number | null;
  /** What it may still be replaced by; the last is nothing. */
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

function pieceOf(kind: Piece['kind'], label: string, text: string, yields: Yields | undefined): Yielding {
  const shorter = yields === undefined ? [] : [...(yields.shorter ?? []), ''];
  return { kind, label, text, order: yields?.order ?? null, shorter };
}

function nextToYield(pieces: readonly Yielding[]): Yielding | null {
  const yielding = pieces.filter(({ shorter }) => shorter.length > 0);
  return yielding.sort((one, other) => one.order! - other.order!)[0] ?? null;
}
