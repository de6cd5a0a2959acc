/** How long customers who got on stayed in a state, on a logarithmic axis, against the limit; below the line those who wait now. */
import type { SiteBody } from '../../api/health/site.ts';
import { HOUR, MINUTE, SECOND } from '../../domain/values/time.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import { round } from './flow-layout.ts';
import type { FlowState } from './flow-model.ts';

type Stays = SiteBody['states'][number];

const WIDTH = 300;
const BASE = 68;
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
  const ticks = axis.ticks.map(([ms, word]) => html`<text x="${at(ms)}" y="92" text-anchor="middle">${word}</text>`);
  const mark = (ms: number, word: string, { line, text, y }: { line: string; text: string; y: number }): Html => {
    const x = at(ms);
    const anchor = x < 24 ? 'start' : x > WIDTH - 24 ? 'end' : 'middle';
    return html`<path class="${line}" d="M${x} ${BASE}V${y + 3}"/><text class="${text}" x="${x}" y="${y}" text-anchor="${anchor}">${word}</text>`;
  };
  const marks = [
    usual === null ? NOTHING : mark(usual.usualMs, 'usual', { line: 'c-mark', text: 'strong t-halo', y: 8 }),
    usual === null ? NOTHING : mark(usual.p95Ms, '95 %', { line: 'c-usual', text: 't-halo', y: 20 }),
    limit === null ? NOTHING : mark(limit.limitMs, 'limit', { line: 'lim', text: 't-stuck t-halo', y: 8 }),
  ];
  const ages = waiting.map(({ ageMs, share }) => {
    const isOver = share !== null && share > 1;
    return html`<path class="${isOver ? 'tick-o' : 'tick-w'}" d="M${at(ageMs)} ${isOver ? 69 : 70}v${isOver ? 12 : 9}"/>`;
  });
  return html`<svg viewBox="0 0 ${WIDTH} 94" aria-hidden="true">${bars}<path class="c-base" d="M0 ${BASE}H${WIDTH}"/>${marks}${ages}${ticks}</svg>`;
}
