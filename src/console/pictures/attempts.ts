/** The latest attempts as bars: the height is the time taken; one that failed has full height and a cross. */
import type { SubscriberAttemptsBody } from '../../api/subscribers/attempts.ts';
import { counted } from '../../domain/values/counts.ts';
import { type Html, html } from '../frame/html.ts';
import { round } from './scale.ts';

type Attempt = Pick<SubscriberAttemptsBody['data'][number], 'outcome' | 'tookMs'>;

const STEP = 9;
const WIDTH = 6.5;
const BASE = 34;
const TALLEST = 24;
const LOWEST = 3;
/** Room for this many, so that few bars are as wide as many. */
const ROOM = 72;

/** `attempts`: the oldest first. */
export function attemptsPicture(attempts: readonly Attempt[], most = attempts.length): Html {
  const slowest = Math.max(...attempts.map((each) => (isTaken(each) ? each.tookMs : 0)), 1);
  const wide = Math.max(most, ROOM) * STEP;
  return html`<div class="fig"><svg viewBox="0 0 ${wide} 40" role="img" aria-label="${textOf(attempts)}">${attempts.map((each, at) => bar(each, at * STEP, slowest))}<path class="c-base" d="M0 ${BASE}H${wide}"/></svg><p class="small">${textOf(attempts)}; the oldest at the left. Height: the time it took. Full height with a cross: failed.</p></div>`;
}

function bar(attempt: Attempt, x: number, slowest: number): Html {
  if (isTaken(attempt)) {
    const height = Math.max((attempt.tookMs / slowest) * TALLEST * 0.75, LOWEST);
    return html`<rect class="c-bar good" x="${x}" y="${round(BASE - height)}" width="${WIDTH}" height="${round(height)}"/>`;
  }
  return html`<rect class="c-bar bad" x="${x}" y="${BASE - TALLEST}" width="${WIDTH}" height="${TALLEST}"/><path d="M${x + 1} 1.5l4.5 4.5m0 -4.5l-4.5 4.5" class="dl-no thin"/>`;
}

/** `Last 72 attempts: 62 taken, 10 failed, the last 7 in a row`. */
function textOf(attempts: readonly Attempt[]): string {
  const taken = attempts.filter(isTaken).length;
  const row = attempts.length - 1 - attempts.findLastIndex(isTaken);
  const failed = attempts.length - taken;
  const inRow = row > 1 && taken > 0 ? `, the last ${row} in a row` : '';
  return `Last ${counted(attempts.length, 'attempt')}: ${taken} taken, ${failed} failed${inRow}`;
}

function isTaken({ outcome }: Attempt): boolean {
  return outcome === 'delivered';
}
