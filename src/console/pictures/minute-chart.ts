/** Small charts by the minute: one series on a scale of round numbers, the usual value dashed, time at both ends. */
import { type Html, html, number } from '../frame/html.ts';
import { type Axis, countAxis, round } from './scale.ts';

const [WIDTH, HEIGHT] = [250, 92];
/** The plot: right of the numbers of the scale, above the times. */
const [LEFT, RIGHT, TOP, BASE] = [50, WIDTH - 2, 10, 72];

export interface Chart {
  readonly title: string;
  /** The value of now, with its unit. */
  readonly now: string;
  /** In a sentence, what the picture shows: it is all that a screen reader is given. */
  readonly says: string;
  /** The oldest first; null: nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly kind: 'line' | 'good' | 'bad';
  /** The scale reaches at least this value, so that little does not look like much. */
  readonly least?: number;
  /** The value at this time of other days; null while that is not known. */
  readonly usual?: number | null;
  /** Whole things unless given. */
  readonly axisFor?: (most: number) => Axis;
  /** The text of a value when the pointer is on it; its number unless given. */
  readonly valueText?: (value: number) => string;
  /** Times of the values, as they are shown. */
  readonly times: readonly string[];
}

/** A figure. Each value can be read by pointing at it. */
export function chart({ title, now, says, values, kind, times, ...options }: Chart): Html {
  const { least = 0, usual = null, axisFor = countAxis, valueText = number } = options;
  const axis = axisFor(Math.max(...values.map((value) => value ?? 0), least, usual ?? 0));
  const step = (RIGHT - LEFT) / Math.max(values.length, 1);
  const y = (value: number): number => round(BASE - (value / axis.top) * (BASE - TOP));
  const bars = values.map((value, place) => {
    const about = html`<title>${times[place]}: ${value === null ? 'nothing' : valueText(value)}</title>`;
    const x = round(LEFT + place * step);
    if (kind === 'line') return html`<rect class="c-at" x="${x}" y="0" width="${round(step)}" height="${BASE}">${about}</rect>`;
    // As high as its value, and no less than a line.
    const height = value === null || value === 0 ? 0 : Math.max(BASE - y(value), 1);
    return html`<rect class="c-bar ${kind}" x="${x}" y="${round(BASE - height)}" width="${Math.max(round(step - 0.8), 0.8)}" height="${round(height)}">${about}</rect>`;
  });
  const ticks = axis.ticks.map(
    ({ at, word }) =>
      html`${at !== 0 && html`<path class="c-grid" d="M${LEFT} ${y(at)}H${RIGHT}"/>`}<text x="${LEFT - 6}" y="${round(y(at) + 4)}" text-anchor="end">${word}</text>`,
  );
  const dashed = usual !== null && html`<path class="c-usual" d="M${LEFT} ${y(usual)}H${RIGHT}"/>`;
  const beside = usual !== null && html`; dashed: usually ${valueText(usual < 10 ? round(usual) : Math.round(usual))}`;
  return html`<figure><figcaption>${title} <b>${now}</b></figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">${ticks}${kind === 'line' && lines(values, { step, y })}<path class="c-base" d="M${LEFT} ${BASE}H${RIGHT}"/>${bars}${dashed}<text x="${LEFT}" y="${HEIGHT - 4}">${times[0]}</text><text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">${times.at(-1)}</text></svg><p class="small">${says}${beside}</p></figure>`;
}

/** A line with its wash for each run of values without a gap. */
function lines(values: readonly (number | null)[], { step, y }: { step: number; y: (value: number) => number }): Html[] {
  const runs: [number, number][][] = [[]];
  for (const [place, value] of values.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)!.push([round(LEFT + (place + 0.5) * step), y(value)]);
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
