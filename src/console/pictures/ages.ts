/** How long purchases have waited in a state: each by its age on a line, with what is usual and the limit. */
import { type Html, html } from '../frame/html.ts';
import type { FlowState } from './flow-model.ts';
import { round } from './scale.ts';

/** The limit stands here, as a share of the line; behind it, beyond twice the limit, the line is compressed. */
const LIMIT_AT = 0.56;
/** Diamonds have room for so many; beyond, those that are stuck are bars. */
const MOST_DIAMONDS = 8;

/** The limit of all sites that watch purchases in a state; null where there is none, or where they differ. */
export function oneLimit({ limits }: FlowState): number | null {
  const lengths = new Set(limits.map(({ limit }) => limit.limitMs));
  const [only] = lengths;
  return lengths.size === 1 ? only! : null;
}

/** From 0 to 1 along the line. */
function placeOf(share: number): number {
  if (share <= 1) return LIMIT_AT * share;
  const rest = 1 - LIMIT_AT;
  return share <= 2 ? LIMIT_AT + (share - 1) * rest * 0.6 : LIMIT_AT + rest * (0.6 + 0.4 * (1 - 2 / share));
}

/** The line from `x` on, `width` long, with its middle at `y`. */
export function agesLine(state: FlowState, { x, y, width }: { x: number; y: number; width: number }): Html {
  const { ages, usual, limits } = state;
  const limit = oneLimit(state);
  const oldest = ages?.oldest ?? [];
  const hasLimit = limits.length > 0;
  // Without a limit the line ends at the oldest, or at what is usual where all came later.
  const most = Math.max(usual?.p95Ms ?? 0, oldest[0]?.ageMs ?? 0, 1);
  const at = (place: number): number => round(x + width * Math.min(place, 1));
  const atAge = (ms: number): number => at(hasLimit ? placeOf(ms / (limit ?? ms)) : (ms / most) * 0.95);
  const isMany = oldest.filter(({ share }) => share !== null && share > 1).length > MOST_DIAMONDS;
  const one = ({ ageMs, share }: (typeof oldest)[number]): Html => {
    const place = share === null ? atAge(ageMs) : at(placeOf(share));
    if (share === null || share <= 1) return html`<path class="tick-w" d="M${place} ${y - 4.5}v9"/>`;
    return isMany
      ? html`<path class="tick-o" d="M${place} ${y - 6}v12"/>`
      : html`<path class="tick-s" d="M${place} ${y - 5}l3.6 5 -3.6 5 -3.6 -5z"/>`;
  };
  const buckets = ages?.buckets ?? null;
  const highest = Math.max(...(buckets ?? []).map(({ count }) => count), 1);
  const bucket = ({ from, below, count }: NonNullable<typeof buckets>[number]): Html => {
    const [left, right] = [at(placeOf(from)), at(placeOf(below ?? from + 10))];
    const h = round(3 + 11 * (count / highest));
    return html`<rect class="${from >= 1 ? 'age-over' : 'age-wait'}" x="${left}" y="${round(y + 5 - h)}" width="${Math.max(round(right - left - 0.8), 1)}" height="${h}"/>`;
  };
  const isUsualKnown = usual !== null && (!hasLimit || limit !== null);
  return html`${isUsualKnown && html`<rect class="ax-usual" x="${x}" y="${y - 4}" width="${round(atAge(usual.p95Ms) - x)}" height="8"/>`}<path class="ax-line" d="M${x} ${y}H${x + width}"/>${hasLimit && html`<path class="ax-limit" d="M${at(LIMIT_AT)} ${y - 6}v12"/>`}${buckets === null ? oldest.map(one) : buckets.map(bucket)}`;
}
