/** Each customer of an incident by when they came, a lane for each end; above them when people noticed, looked and were done. */
import { MEMBER_OUTCOMES, type MemberOutcome } from '../../../domain/trends/aftermath.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { type Html, html, number } from '../../frame/html.ts';
import { clockTime } from '../../parts/time.ts';
import { round } from '../../pictures/scale.ts';
import { ticksOf } from '../../pictures/time-axis.ts';

export const OUTCOME_WORDS: Readonly<Record<MemberOutcome, string>> = {
  paid: 'paid late',
  paid_by_another: 'paid by another purchase',
  not_paid: 'not paid',
  open: 'still open',
};

export interface LanesPicture {
  readonly customers: readonly { readonly came: Instant; readonly outcome: MemberOutcome }[];
  /** First to last. */
  readonly pins: readonly { readonly at: Instant; readonly word: string }[];
  /** The picture in a sentence, for a reader who does not see it. */
  readonly label: string;
}

/** More customers are drawn as bars: so many side by side. */
const MOST_DRAWN = 300;
const BARS = 120;
const [PIN, LANE, END] = [16, 30, 24];

/** In three widths: the page shows the one that fits. */
export function lanesPicture(picture: LanesPicture): Html {
  const legend = picture.pins.map(({ at, word }, index) => html`<li>${index + 1}: ${clockTime(at)} ${word}</li>`);
  return html`<div class="has-mid"><div class="only-wide">${drawn(picture, 900)}</div><div class="only-mid">${drawn(picture, 640)}</div><div class="only-narrow">${drawn(picture, 330)}<ol class="small">${legend}</ol></div></div>`;
}

function drawn({ customers, pins, label }: LanesPicture, width: number): Html {
  const isWide = width > 500;
  const [left, right] = [isWide ? 190 : 0, width - 14];
  const moments = [...customers.map(({ came }) => came), ...pins.map(({ at }) => at)];
  const [first, last] = [Math.min(...moments), Math.max(...moments)];
  const margin = Math.max((last - first) * 0.03, 1_000);
  const [from, to] = [first - margin, last + margin];
  const x = (at: Instant): number => round(left + ((at - from) / (to - from)) * (right - left));
  const lanes = MEMBER_OUTCOMES.filter((outcome) => customers.some((each) => each.outcome === outcome));
  const top = pins.length * PIN + 20;
  const bottom = top + lanes.length * LANE;
  const laneOf = (outcome: MemberOutcome, index: number): Html => {
    const own = customers.filter((each) => each.outcome === outcome);
    const y = top + index * LANE + LANE / 2;
    const words = html`<tspan class="strong">${number(own.length)}</tspan> ${OUTCOME_WORDS[outcome]}`;
    const drawnCustomers =
      customers.length > MOST_DRAWN
        ? bars(
            own.map(({ came }) => x(came)),
            { y, left, right },
          )
        : own.map(({ came }) => glyph(outcome, x(came), y));
    return html`<path class="c-grid" d="M${left} ${y}H${right}"/><g class="o-${outcome}">${drawnCustomers}</g><text class="t-halo" x="0" y="${isWide ? y + 4 : y - 9}">${words}</text>`;
  };
  return html`<svg class="lanes" viewBox="0 0 ${width} ${bottom + END}" role="img" aria-label="${label}">${pins.map((pin, index) => pinOf(pin, { at: x(pin.at), index, bottom, isWide, right }))}
${lanes.map(laneOf)}<path class="c-base" d="M${left} ${bottom}H${right}"/>
${ticksOf(from, to, isWide ? 7 : 3).map(({ at, word }) => html`<text x="${Math.min(Math.max(x(at), left + 16), right - 16)}" y="${bottom + 18}" text-anchor="middle">${word}</text>`)}</svg>`;
}

/** A stem with its words; numbered where there is no room for words. Each has a line of its own, so that no words meet. */
function pinOf(
  { at: moment, word }: LanesPicture['pins'][number],
  { at, index, bottom, isWide, right }: { at: number; index: number; bottom: number; isWide: boolean; right: number },
): Html {
  const y = 12 + index * PIN;
  const isLeft = at > right - (isWide ? 200 : 20);
  const words = isWide ? `${clockTime(moment)} ${word}` : String(index + 1);
  return html`<path class="c-mark" d="M${at} ${y}V${bottom}"/><circle class="c-fill" cx="${at}" cy="${y}" r="3"/><text class="strong t-halo" x="${at + (isLeft ? -9 : 9)}" y="${y + 4}" text-anchor="${isLeft ? 'end' : 'start'}">${words}</text>`;
}

/** Bar: paid. Cross: not paid. Ring: still open. */
function glyph(outcome: MemberOutcome, x: number, y: number): Html {
  if (outcome === 'not_paid') return html`<path d="M${round(x - 4)} ${y - 4}l8 8M${round(x + 4)} ${y - 4}l-8 8"/>`;
  if (outcome === 'open') return html`<circle cx="${x}" cy="${y}" r="4"/>`;
  return html`<rect x="${round(x - 1.5)}" y="${y - 6}" width="3" height="12"/>`;
}

/** How many came at each place, the most as high as a lane. */
function bars(places: readonly number[], { y, left, right }: { y: number; left: number; right: number }): Html[] {
  const wide = (right - left) / BARS;
  const counts = Map.groupBy(places, (place) => Math.floor((place - left) / wide));
  const most = Math.max(...[...counts.values()].map(({ length }) => length));
  return [...counts].map(([place, { length }]) => {
    const height = round((length / most) * 16);
    return html`<rect x="${round(left + place * wide)}" y="${round(y - height / 2)}" width="${round(wide)}" height="${height}"/>`;
  });
}
