/** How long customers who got on stayed in a state, on a logarithmic axis, against the limit; below the line those who wait now. */
import type { SiteBody } from '../../api/flow/site.ts';
import { HOUR, MINUTE, SECOND } from '../../domain/values/time.ts';
import { type Html, html } from '../frame/html.ts';
import type { FlowState } from './flow-model.ts';
import { round } from './scale.ts';

type Stays = SiteBody['states'][number];

const WIDTH = 300;
const BASE = 74;
const HIGHEST = 50;
/** All states share one axis, so that shapes compare; those whose customers take longer have another. */
const SHORT = {
  from: 4 * SECOND,
  to: 30 * MINUTE,
  ticks: [
    [10 * SECOND, '10 s'],
    [MINUTE, '1 min'],
    [10 * MINUTE, '10 min'],
  ],
} as const;
const LONG = {
  from: 10 * MINUTE,
  to: 40 * 24 * HOUR,
  ticks: [
    [HOUR, '1 h'],
    [24 * HOUR, '1 d'],
    [240 * HOUR, '10 d'],
  ],
} as const;

/** Half the width of a mark's word, at most. */
const HALF = 20;
const ROWS = [11, 23, 35];

/** Each mark with the middle of its word, in the first row in which the word lies over no other one. */
function inRows<Mark extends { readonly x: number }>(marks: readonly Mark[]) {
  const placed: (Mark & { readonly y: number; readonly middle: number })[] = [];
  for (const mark of marks) {
    const middle = Math.min(Math.max(mark.x, HALF), WIDTH - HALF);
    const isFree = (y: number): boolean => placed.every((other) => other.y !== y || Math.abs(other.middle - middle) > 2 * HALF);
    placed.push({ ...mark, middle, y: ROWS.find(isFree) ?? ROWS.at(-1)! });
  }
  return placed;
}

/** Draws one state; `waiting`: who waits there now. */
export function dwellPicture({ stays, usual, limit }: Stays, waiting: NonNullable<FlowState['ages']>['oldest']): Html {
  const slowest = Math.max(usual?.p95Ms ?? 0, limit?.limitMs ?? 0);
  const axis = slowest > SHORT.to ? LONG : SHORT;
  const span = Math.log(axis.to / axis.from);
  const at = (ms: number): number => round(Math.min(Math.max(Math.log(Math.max(ms, 1) / axis.from) / span, 0), 1) * WIDTH);
  const most = Math.max(...stays.map(({ count }) => count), 1);
  const bars = stays.map(({ fromMs, belowMs, count }) => {
    const [left, height] = [at(fromMs), round((count / most) * HIGHEST)];
    return html`<rect class="h-bar" x="${left}" y="${BASE - height}" width="${Math.max(round(at(belowMs) - left - 0.5), 0.8)}" height="${height}"/>`;
  });
  const ticks = axis.ticks.map(([ms, word]) => html`<text x="${at(ms)}" y="98" text-anchor="middle">${word}</text>`);
  const marks = inRows([
    ...(usual === null ? [] : [{ x: at(usual.usualMs), word: 'usual', line: 'c-mark', text: 'strong t-halo' }]),
    ...(limit === null ? [] : [{ x: at(limit.limitMs), word: 'limit', line: 'lim', text: 't-stuck t-halo' }]),
    ...(usual === null ? [] : [{ x: at(usual.p95Ms), word: '95 %', line: 'c-usual', text: 't-halo' }]),
  ]).map(
    ({ x, y, middle, word, line, text }) =>
      html`<path class="${line}" d="M${x} ${BASE}V${y + 3}"/><text class="${text}" x="${middle}" y="${y}" text-anchor="middle">${word}</text>`,
  );
  const ages = waiting.map(({ ageMs, share }) => {
    const isOver = share !== null && share > 1;
    return html`<path class="${isOver ? 'tick-o' : 'tick-w'}" d="M${at(ageMs)} ${BASE + (isOver ? 1 : 2)}v${isOver ? 10 : 8}"/>`;
  });
  return html`<svg viewBox="0 0 ${WIDTH} 102" aria-hidden="true">${bars}<path class="c-base" d="M0 ${BASE}H${WIDTH}"/>${marks}${ages}${ticks}</svg>`;
}
