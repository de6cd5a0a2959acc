/** The state-flow map: states as nodes, the last hour's changes as ribbons as wide as their count. */

import { stateBoth } from '../../domain/purchases/states.ts';
import { type Html, html, NOTHING, number } from '../frame/html.ts';
import { length } from '../parts/time.ts';
import { agesLine } from './ages.ts';
import { arrowOf, countPlace, layOut, type PlacedEdge, type PlacedNode, pathOf, roomBehind } from './flow-layout.ts';
import type { FlowNode, FlowPicture } from './flow-model.ts';
import { round, shortNumber } from './scale.ts';

/** Where as many purchases are listed as the map says are in the state; null: nowhere. */
export type ListOf = (node: FlowNode) => string | null;

/** Words that lead to the list of a state, where there is one. */
export function listLink(node: FlowNode, listOf: ListOf): Html {
  const address = listOf(node);
  return address === null ? html`${node.words}` : html`<a href="${address}">${node.words}</a>`;
}

const CORNER = 5;

/** Draws the map; `label` says in words what it shows. */
export function flowMap(picture: FlowPicture, { label, listOf }: { label: string; listOf: ListOf }): Html {
  const { nodes, edges, height } = layOut(picture);
  const stuck = new Set(nodes.filter(({ flag }) => flag !== null).map(({ key }) => key));
  const ribbons = edges.toSorted((a, b) => b.count - a.count).map((edge) => ribbon(edge, stuck));
  return html`<div class="map only-wide"><svg viewBox="-4 0 1040 ${round(height)}" role="group" aria-label="${label}">${ribbons}${countsOf(edges, nodes)}${nodes.map((node) => nodeOf(node, listOf))}</svg></div>`;
}

const isThin = ({ run }: PlacedEdge): boolean => run === 'arc' || run === 'back';

function ribbon(edge: PlacedEdge, stuck: ReadonlySet<number>): Html {
  const { a, b, to, count: n, usual, usualW, isMissed } = edge;
  const says = `${a.words} → ${b.words}: ${number(n)}${usual === null ? '' : `, usually ${usualText(usual)}`}`;
  const title = html`<title>${says}</title>`;
  if (isThin(edge)) {
    const { x, y, points } = arrowOf(edge);
    const head = points === 'left' ? `M${x} ${round(y)}l6 -3.5v7z` : `M${x} ${round(y)}l-3.5 -6h7z`;
    return html`<path class="e arc" d="${pathOf(edge)}">${title}</path><path class="arrow" d="${head}"/>`;
  }
  const kind = stuck.has(to) ? 'e held' : b.isPaid ? 'e good' : b.column === 3 ? 'e end' : 'e';
  const ghost = isMissed && [-usualW / 2, usualW / 2].map((shift) => html`<path class="ghost" d="${pathOf(edge, shift)}"/>`);
  return html`<path class="${kind}" d="${pathOf(edge)}" stroke-width="${round(edge.w)}">${title}</path>${ghost}`;
}

/** A mean below ten with its first decimal. */
export function usualText(usual: number): string {
  return usual < 10 ? String(round(usual)) : shortNumber(Math.round(usual));
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const isOver = (one: Box, other: Box): boolean =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;

/** Where a count may go that would lie over another one, nearest first. */
const ASIDE = [0, 14, -14, 28, -28, 42, -42].flatMap((dy) => [0, 24, 48].map((dx) => ({ dx, dy })));

/** The counts of all ways: those at ribbons stand where these leave; those of thin lines go out of their way. */
function countsOf(edges: readonly PlacedEdge[], nodes: readonly PlacedNode[]): Html[] {
  const taken: Box[] = nodes.map(({ x, y, w, h, flag }) => (flag === null ? { x, y, w, h } : { x, y: y - 18, w, h: h + 18 }));
  return edges
    .toSorted((one, other) => Number(isThin(one)) - Number(isThin(other)))
    .map((edge) => {
      const text = shortNumber(edge.count);
      const usually = edge.isMissed && !isThin(edge) ? `usually ${usualText(edge.usual!)}` : '';
      const whole = `${text}, ${usually}`;
      // The ghost around the ribbon says it, too, as do the table and the words under the pointer.
      const words = usually !== '' && whole.length * WIDEST_LETTER <= roomBehind(edge) ? whole : text;
      const place = countPlace(edge);
      const boxAt = ({ dx, dy }: { dx: number; dy: number }): Box => ({
        x: place.x + dx,
        y: place.y + dy - 10,
        w: words.length * WIDEST_LETTER,
        h: 12,
      });
      const found = isThin(edge)
        ? (ASIDE.map(boxAt).find((box) => !taken.some((other) => isOver(box, other))) ?? null)
        : boxAt({ dx: 0, dy: 0 });
      // Where there is no room at all, the line is there, and its count under the pointer and in the table.
      if (found === null) return NOTHING;
      taken.push(found);
      return html`<text class="en${usually === '' ? '' : ' less'}" x="${round(found.x)}" y="${round(found.y + 10)}">${words}</text>`;
    });
}

function nodeOf(node: PlacedNode, listOf: ListOf): Html {
  const { key, x, y, w, h, column, isPaid, flag } = node;
  const kind = `node${flag === null ? '' : ' is-stuck'}${column === 3 ? ` is-final${isPaid ? ' is-paid' : ''}` : ''}`;
  const halo =
    flag !== null && html`<rect class="halo" x="${x - 3}" y="${round(y - 3)}" width="${w + 6}" height="${round(h + 6)}" rx="8"/>`;
  const inside = column === 3 ? finalInside(node) : column === 2 ? waitingInside(node) : firstInside(node);
  const box = html`<title>${stateBoth(key)}</title>${halo}<rect class="box" x="${x}" y="${round(y)}" width="${w}" height="${round(h)}" rx="${CORNER}"/>${inside}`;
  const address = listOf(node);
  const whole =
    address === null
      ? html`<g class="${kind}" id="flow-${key}">${box}</g>`
      : html`<a class="${kind}" id="flow-${key}" href="${address}">${box}</a>`;
  return html`${whole}${flagOf(node)}`;
}

function flagOf({ flag, x, y, w }: PlacedNode): Html {
  if (flag === null) return NOTHING;
  const width = Math.min([...flag.text].length * 6.3 + 14, w + 60);
  const left = round(x + w - width - 8);
  return html`<g class="flag${flag.isCritical ? '' : ' is-warning'}"><rect x="${left}" y="${round(y - 15)}" width="${round(width)}" height="18" rx="3"/><text x="${round(left + width / 2)}" y="${round(y - 2)}" text-anchor="middle">${flag.text}</text></g>`;
}

/** A letter takes this at most in common fonts; words that may need more room than their box has are drawn as wide as the box. */
const WIDEST_LETTER = 7.1;

function fitted(words: string, room: number): Html {
  return words.length * WIDEST_LETTER <= room ? NOTHING : html` textLength="${round(room)}" lengthAdjust="spacingAndGlyphs"`;
}

function shape(name: string, x: number, y: number): Html {
  return html`<svg class="i-st" x="${x}" y="${round(y)}" width="12" height="12" viewBox="0 0 16 16"><use href="#i-${name}"/></svg>`;
}

function finalInside({ words, state, isPaid, usuallyCame, x, y, w, h }: PlacedNode): Html {
  const middle = y + h / 2;
  const note = usuallyCame === null ? '' : `usually ${shortNumber(usuallyCame)}`;
  const tall = h > 70;
  const up = tall ? (note === '' ? 8 : 16) : 5;
  const below = tall
    ? html`<text class="big" x="${x + 28}" y="${round(middle - up + 23)}">${number(state.came)}</text>${note !== '' && html`<text class="q" x="${x + 28}" y="${round(middle - up + 41)}">${note}</text>`}`
    : html`<text class="q" x="${x + 28}" y="${round(middle - up + 17)}"><tspan class="b">${number(state.came)}</tspan> ${note}</text>`;
  return html`${shape(isPaid ? 'paid' : 'final', x + 10, middle - up - 10.5)}<text class="nm" x="${x + 28}" y="${round(middle - up)}"${fitted(words, w - 30)}>${words}</text>
${below}`;
}

function firstInside({ words, state, moment, x, y, w, h }: PlacedNode): Html {
  const middle = y + h / 2;
  const over =
    state.stuck > 0 &&
    html`<text class="q" x="${x + 12}" y="${round(middle + 39)}"><tspan class="over">${shortNumber(state.stuck)} stuck</tspan></text>`;
  return html`<text class="nm" x="${x + 12}" y="${round(middle - 14)}"${fitted(words, w - 26)}>${words}</text>
<text class="q" x="${x + 12}" y="${round(middle + 5)}"><tspan class="b">${shortNumber(state.watching)}</tspan> ${moment}</text>
<text class="q" x="${x + 12}" y="${round(middle + 22)}">${shortNumber(state.came)} came</text>${over}`;
}

function waitingInside({ words, state, moment, flag, x, y, w }: PlacedNode): Html {
  const { watching, stuck, usual } = state;
  const [left, width] = [x + 12, w - 24];
  const [now, over] = [shortNumber(watching), shortNumber(stuck)];
  const long = usual === null ? '' : length(usual.usualMs);
  const isShort = `${now} ${moment}  ${over} stuck  usual ${long}`.length * WIDEST_LETTER > width;
  return html`${shape(flag === null ? 'waiting' : 'stuck', left, y + 7)}<text class="nm" x="${left + 18}" y="${round(y + 17.5)}"${fitted(words, width - 18)}>${words}</text>
<text class="q" x="${left}" y="${round(y + 35)}"><tspan class="b">${now}</tspan> ${moment} <tspan dx="6"${stuck > 0 && html` class="over"`}>${over} stuck</tspan></text>
<text class="q" x="${left + width}" y="${round(y + 35)}" text-anchor="end">${usual === null ? '' : isShort ? `~ ${long}` : `usual ${long}`}</text>${agesLine(state, { x: left, y: round(y + 49), width })}`;
}
