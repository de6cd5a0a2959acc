/** Small charts over time: one series, one grid line, time at both ends and in the middle. */
import { type Html, html, number } from '../frame/html.ts';

const WIDTH = 230;
const HEIGHT = 74;
const BASE = 58;
const TOP = 8;

export interface Chart {
  readonly title: string;
  /** The value of now, with its unit. */
  readonly now: string;
  /** In a sentence, what the picture shows: it is all that a screen reader is given. */
  readonly says: string;
  /** The oldest first; null: nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly kind: 'line' | 'good' | 'bad';
  /** The text of a value when the pointer is on it; its number unless given. */
  readonly valueText?: (value: number) => string;
  /** Times of the values, as they are shown. */
  readonly times: readonly string[];
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** A figure. Each value can be read by pointing at it. */
export function chart({ title, now, says, values, kind, valueText = number, times }: Chart): Html {
  const most = Math.max(...values.map((value) => value ?? 0), 1);
  const step = WIDTH / Math.max(values.length, 1);
  const y = (value: number): number => round(BASE - (value / most) * (BASE - TOP));
  const middle = Math.floor((values.length - 1) / 2);
  const bars = values.map((value, place) => {
    const about = html`<title>${times[place]}: ${value === null ? 'nothing' : valueText(value)}</title>`;
    const x = round(place * step);
    if (kind === 'line') return html`<rect class="c-at" x="${x}" y="0" width="${round(step)}" height="${BASE}">${about}</rect>`;
    const height = value === null || value === 0 ? 0 : Math.max(BASE - y(value), 1.5);
    return html`<rect class="c-bar ${kind}" x="${x}" y="${round(BASE - height)}" width="${round(step - 1)}" height="${round(height)}">${about}</rect>`;
  });
  return html`<figure><figcaption>${title} <b>${now}</b></figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="xMinYMid" aria-hidden="true"><path class="c-grid" d="M0 ${TOP}H${WIDTH}"/>${kind === 'line' ? lines(values, { step, y }) : ''}<path class="c-base" d="M0 ${BASE}H${WIDTH}"/>${bars}<text x="0" y="${HEIGHT - 2}">${times[0]}</text><text x="${WIDTH / 2}" y="${HEIGHT - 2}" text-anchor="middle">${times[middle]}</text><text x="${WIDTH}" y="${HEIGHT - 2}" text-anchor="end">${times.at(-1)}</text></svg><p class="small">${says}</p></figure>`;
}

/** A line with its wash for each run of values without a gap. */
function lines(values: readonly (number | null)[], { step, y }: { step: number; y: (value: number) => number }): Html[] {
  const runs: [number, number][][] = [[]];
  for (const [place, value] of values.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)!.push([round((place + 0.5) * step), y(value)]);
  }
  return runs
    .filter((run) => run.length > 0)
    .map((run) => {
      const [first, last] = [run[0]!, run.at(-1)!];
      const points = run.map(([x, height]) => `${x} ${height}`).join('L');
      // One value alone has no length; it is drawn as wide as its minute.
      const line = run.length === 1 ? `M${round(first[0] - step / 2)} ${first[1]}h${round(step)}` : `M${points}`;
      return html`<path class="c-area" d="M${first[0]} ${BASE}L${points}L${last[0]} ${BASE}Z"/><path class="c-line" d="${line}"/>`;
    });
}
