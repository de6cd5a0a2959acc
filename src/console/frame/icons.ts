/** The shapes that stand beside words: round is alive, square is final, pointed wants attention. One sprite for each page. */
import { type Html, html, trusted } from './html.ts';

const SHAPES = {
  ok: '<circle cx="8" cy="8" r="7" fill="currentColor"/><path class="cut" d="M4.6 8.3l2.4 2.4 4.4-5" fill="none" stroke-width="1.8"/>',
  waiting:
    '<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.7"/><path d="M8 8V3.6A4.4 4.4 0 0 1 12.4 8Z" fill="currentColor"/>',
  stuck:
    '<path d="M8 .4 15.6 8 8 15.6.4 8Z" fill="currentColor"/><path class="cut" d="M4.8 8h6.4" fill="none" stroke-width="2"/>',
  warning:
    '<path d="M8 1 15.6 14.6H.4Z" fill="currentColor"/><path class="cut" d="M8 5.6v4.2M8 11.4v1.7" fill="none" stroke-width="1.8"/>',
  critical:
    '<path d="M5 .6h6L15.4 5v6L11 15.4H5L.6 11V5Z" fill="currentColor"/><path class="cut" d="M8 3.6v5M8 10.4v2" fill="none" stroke-width="2"/>',
  paused:
    '<rect x="2.6" y="2" width="3.8" height="12" rx=".8" fill="currentColor"/><rect x="9.6" y="2" width="3.8" height="12" rx=".8" fill="currentColor"/>',
  parked:
    '<path d="M1.6 8.4v5.2h12.8V8.4" fill="none" stroke="currentColor" stroke-width="1.7"/><rect x="4.4" y="7.4" width="7.2" height="3.6" fill="currentColor"/><rect x="4.4" y="2.6" width="7.2" height="3.6" fill="currentColor"/>',
  off: '<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.7"/><path d="M3.8 12.2 12.2 3.8" stroke="currentColor" stroke-width="1.7"/>',
  final:
    '<rect x="1.6" y="1.6" width="12.8" height="12.8" rx="1.5" fill="currentColor"/><path class="cut" d="M5 8h6" stroke-width="2" fill="none"/>',
  paid: '<rect x="1.2" y="1.2" width="13.6" height="13.6" rx="1.5" fill="currentColor"/><path class="cut" d="M4.4 8.3l2.5 2.5 4.6-5.2" fill="none" stroke-width="1.8"/>',
  fail: '<path d="M3 3l10 10M13 3 3 13" stroke="currentColor" stroke-width="2.4" fill="none"/>',
  dot: '<circle cx="8" cy="8" r="7" fill="currentColor"/>',
  mark: '<g transform="scale(.8)"><circle cx="10" cy="10" r="8.6" fill="none" stroke="currentColor" stroke-width="1.8"/><path d="M10 10V4.2M10 10l4.2 2.6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/><circle cx="10" cy="10" r="1.8" fill="currentColor"/></g>',
} as const;

export type Shape = keyof typeof SHAPES;

/** The shapes of a page, to be drawn by `icon`. */
export const SPRITE = trusted(
  `<svg width="0" height="0" aria-hidden="true" class="vh" focusable="false"><defs>${Object.entries(SHAPES)
    .map(([name, shape]) => `<symbol id="i-${name}" viewBox="0 0 16 16">${shape}</symbol>`)
    .join('')}</defs></svg>`,
);

/** One shape, in the colour of its text. It says nothing by itself: a word stands beside it. */
export function icon(shape: Shape, classes = ''): Html {
  return html`<svg class="ico ${classes}" aria-hidden="true" viewBox="0 0 16 16"><use href="#i-${shape}"/></svg>`;
}

/** The name of a status, with its shape and colour. */
export function status(kind: Shape, word: Html | string, shape: Shape = kind): Html {
  return html`<span class="st ${kind}">${icon(shape)}${word}</span>`;
}

/** The same on a wash of the colour, for heads of panels. */
export function tag(kind: Shape, word: string, shape: Shape = kind): Html {
  return html`<span class="tag ${kind}">${icon(shape)}${word}</span>`;
}
