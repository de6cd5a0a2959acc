/** Bars in cells of tables: what became of customers or of money, and the days of a receiver. All that they show stands beside them as numbers. */
import { type Html, html } from '../../frame/html.ts';
import { round } from '../scale.ts';

const WIDTH = 1_000;

/** A part of a bar: its class, and how much it is. */
export type BarPart = readonly [kind: 'paid' | 'late' | 'lost' | 'open', value: number];

/** Parts beside each other, as long as their share of `most`; `tick`: a value that is marked. */
export function partsBar(parts: readonly BarPart[], most: number, tick: number | null = null): Html {
  let from = 0;
  const rects = parts.map(([kind, value]) => {
    const width = most === 0 || value === 0 ? 0 : Math.max((value / most) * WIDTH, 2);
    const x = from;
    from += width;
    return html`<rect class="f-${kind}" x="${round(x)}" y="3" width="${round(width)}" height="14"/>`;
  });
  const mark = tick !== null && most > 0 && html`<path class="f-before" d="M${round((tick / most) * WIDTH)} 0V20"/>`;
  return html`<svg class="funnel" viewBox="0 0 ${WIDTH} 20" preserveAspectRatio="none" aria-hidden="true">${rects}${mark}</svg>`;
}

/** Failures are drawn from this share of a day's attempts on. */
const LEAST_FAILED = 0.004;

/** Days of a receiver: as high as its attempts, with those that failed on top in red. */
export function daysBar(days: readonly { readonly attempts: number; readonly failed: number }[]): Html {
  const [height, most] = [26, Math.max(...days.map(({ attempts }) => attempts), 1)];
  const step = WIDTH / days.length;
  const width = round(step - Math.min(step * 0.15, 14));
  const bars = days.map(({ attempts, failed }, place) => {
    const all = (attempts / most) * (height - 2);
    const bad = attempts === 0 || failed / attempts < LEAST_FAILED ? 0 : Math.max((failed / attempts) * all, 2.5);
    const rect = (kind: string, tall: number): Html | false =>
      tall > 0 &&
      html`<rect class="${kind}" x="${round(place * step)}" y="${round(height - all)}" width="${width}" height="${round(tall)}"/>`;
    return html`${rect('r-taken', all)}${rect('c-bar bad', bad)}`;
  });
  return html`<svg class="r-days" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>`;
}
