/** The share of customers who did not get on, over time: a step line beside what is usual, and below it each customer. */
import type { IncidentCustomersBody } from '../../api/incidents/customers.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { type Html, html, NOTHING, trusted } from '../frame/html.ts';
import { clockTime } from '../parts/time.ts';
import { round } from './scale.ts';

export interface SharePicture {
  readonly came: NonNullable<IncidentCustomersBody['came']>;
  /** When the first customer came that speaks for the incident, and when that was noticed; null where it rests on no count. */
  readonly marks: { readonly first: Instant; readonly noticed: Instant } | null;
  /** From 0 to 1; null: not known. */
  readonly usual: number | null;
  /** The picture in a sentence, for a reader who does not see it. */
  readonly label: string;
}

const [LEFT, TOP, BOTTOM, STRIP] = [48, 30, 168, 212];
const HEIGHT = 236;
/** Lengths between two times of the axis. */
const STEPS: readonly Milliseconds[] = [
  10_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, 1_440].map((minutes) => minutes * 60_000),
];

/** Of the time that is drawn, before the first customer. */
const LEAD = 0.05;

/** In both widths: the page shows the one that fits. */
export function sharePicture(asked: SharePicture): Html {
  const { marks } = asked;
  const picture = { ...asked, came: { ...asked.came, from: beginOf(asked) } };
  const legend =
    marks !== null &&
    html`<p class="small">1: ${clockTime(marks.first)} the first of them came. 2: ${clockTime(marks.noticed)} noticed.</p>`;
  return html`<div class="only-wide">${drawn(picture, 620)}</div><div class="only-narrow">${drawn(picture, 330)}${legend}</div>
<div class="legend"><span>Each customer, by when they came:</span><span>${trusted('<svg width="10" height="12" viewBox="0 0 10 12" aria-hidden="true"><path class="d-stuck" d="M5 1l4 5-4 5-4-5z"/></svg>')}got stuck</span><span>${trusted('<svg width="6" height="12" viewBox="0 0 6 12" aria-hidden="true"><rect class="d-got" x="1" y="1" width="3" height="10"/></svg>')}got on</span><span>${trusted('<svg width="10" height="12" viewBox="0 0 10 12" aria-hidden="true"><circle class="d-open" cx="5" cy="6" r="3"/></svg>')}not known yet, or ended otherwise</span></div>`;
}

/** Not long before the first customer: nothing is known of the time before. */
function beginOf({ came: { from, until, stays }, marks }: SharePicture): string {
  const first = Math.min(...stays.map(({ enteredAt }) => Date.parse(enteredAt)), marks?.first ?? Number.POSITIVE_INFINITY);
  const begin = first - (Date.parse(until) - first) * LEAD;
  return Number.isFinite(begin) ? new Date(Math.max(begin, Date.parse(from))).toISOString() : from;
}

/** How many of the latest customers did not get on, as a bar with a tick where the usual share ends. Beside the same in words. */
export function shareBar({ overdue, of }: { readonly overdue: number; readonly of: number }, usual: number | null): Html {
  const tick = usual !== null && html`<path class="bar-usual" d="M${round(Math.max(usual * 100, 1))} 0V10"/>`;
  return html`<svg class="share-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="bar-all" width="100" height="10"/><rect class="bar-stuck" width="${round((overdue / Math.max(of, 1)) * 100)}" height="10"/>${tick}</svg>`;
}

type Scale = ReturnType<typeof scaleOf>;

function scaleOf({ from, until }: SharePicture['came'], width: number) {
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const right = width - 14;
  const inside = (part: number): number => Math.min(Math.max(part, 0), 1);
  return {
    width,
    right,
    x: (at: Instant): number => LEFT + inside((at - start) / Math.max(end - start, 1)) * (right - LEFT),
    y: (share: number): number => BOTTOM - inside(share) * (BOTTOM - TOP),
  };
}

function drawn(picture: SharePicture, width: number): Html {
  const { came, usual, label, marks } = picture;
  const scale = scaleOf(came, width);
  const { right } = scale;
  return html`<svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${label}">
${[0, 0.5, 1].map((share) => html`<path class="c-grid" d="M${LEFT} ${round(scale.y(share))}H${right}"/><text x="42" y="${round(scale.y(share) + 4)}" text-anchor="end">${share * 100} %</text>`)}
${line(picture, scale)}${usual !== null && html`<path class="c-usual" d="M${LEFT} ${round(scale.y(usual))}H${right}"/><text class="t-halo" x="52" y="${round(scale.y(usual) - 7)}">usual ${Math.round(usual * 1_000) / 10} %</text>`}
${marks !== null && pins(marks, scale)}<path class="c-base" d="M${LEFT} ${BOTTOM}H${right}"/>${axis(came, scale)}
<path class="c-grid" d="M${LEFT} ${STRIP}H${right}"/>${marksOf(came, scale)}</svg>`;
}

/** Steps: the share holds from one outcome to the next. Before the first outcome nothing is known, and nothing is drawn. */
function line({ came: { share, until } }: SharePicture, scale: Scale): Html {
  const [first] = share;
  const last = share.at(-1);
  if (first === undefined || last === undefined) return NOTHING;
  const value = ({ overdue, of }: typeof first): number => round(scale.y(overdue / of));
  const begin = round(scale.x(Date.parse(first.at)));
  // Within one point of the picture the last step counts.
  const places = new Map(share.slice(1).map((step) => [round(scale.x(Date.parse(step.at))), value(step)]));
  const steps = [...places].map(([at, height]) => `H${at}V${height}`);
  const end = round(scale.x(Date.parse(until)));
  const path = `M${begin} ${value(first)}${steps.join('')}H${end}`;
  const percent = Math.round((last.overdue / last.of) * 100);
  return html`<path class="c-area bad" d="${path}V${BOTTOM}H${begin}Z"/><path class="c-line bad" d="${path}"/><text class="t-stuck t-halo" x="${scale.right}" y="${round(Math.max(scale.y(percent / 100) - 8, 12))}" text-anchor="end">${percent} %</text>`;
}

/** Room that the second mark's words need. */
const NOTICED = 160;

/** Two moments; numbered where there is no room for words. */
function pins({ first, noticed }: NonNullable<SharePicture['marks']>, { x, width, right }: Scale): Html {
  const places = [
    { at: x(first), word: `${clockTime(first)} first of them came`, number: 1 },
    { at: Math.max(x(noticed), x(first) + (width < 500 ? 18 : 0)), word: `${clockTime(noticed)} noticed`, number: 2 },
  ];
  const isOneSided = places[0]!.at <= 200 || places[1]!.at > right - NOTICED;
  const pin = ({ at, word, number }: (typeof places)[number]): Html => {
    // The second pin begins below the words of the first one, or its line would cross these words.
    const top = number === 2 && isOneSided && width >= 500 ? 30 : 16;
    const stem = html`<path class="c-mark" d="M${round(at)} ${top}V${BOTTOM}"/>`;
    if (width < 500)
      return html`${stem}<circle class="c-fill" cx="${round(at)}" cy="16" r="8"/><text class="strong" x="${round(at)}" y="20" text-anchor="middle">${number}</text>`;
    // The first is written to the left, the second to the right. Near an edge both go inwards, one below the other.
    const isLeft = (number === 1 && at > 200) || at > right - NOTICED;
    return html`${stem}<circle class="c-fill" cx="${round(at)}" cy="${top}" r="3"/><text class="strong t-halo" x="${round(at + (isLeft ? -9 : 9))}" y="${top + 4}" text-anchor="${isLeft ? 'end' : 'start'}">${word}</text>`;
  };
  return html`${places.map(pin)}`;
}

function axis({ from, until }: SharePicture['came'], { x, width }: Scale): Html {
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const most = width < 500 ? 4 : 7;
  const step = STEPS.find((each) => (end - start) / each <= most) ?? STEPS.at(-1)!;
  const times: Instant[] = [];
  for (let at = Math.ceil(start / step) * step; at <= end && times.length < most + 1; at += step) times.push(at);
  const text = (at: Instant): string => (step < 60_000 ? clockTime(at) : clockTime(at).slice(0, 5));
  return html`${times.map((at) => html`<text x="${round(Math.min(Math.max(x(at), LEFT + 14), width - 28))}" y="182" text-anchor="middle">${text(at)}</text>`)}`;
}

/** Each customer; of several with one fate who came within one point of the picture, one is drawn. */
function marksOf({ stays }: SharePicture['came'], { x }: Scale): Html[] {
  const places = stays.map(({ enteredAt, fate }) => ({ at: x(Date.parse(enteredAt)), fate }));
  const apart = new Map(places.map((place) => [`${Math.round(place.at)} ${place.fate}`, place]));
  return [...apart.values()].map(mark);
}

/** Down: got on. Diamond: became stuck. Ring: not known. */
function mark({ at, fate }: { at: number; fate: SharePicture['came']['stays'][number]['fate'] }): Html {
  if (fate === 'overdue' || fate === 'late') return html`<path class="d-stuck" d="M${round(at)} 203l4 5-4 5-4-5z"/>`;
  if (fate === 'well') return html`<rect class="d-got" x="${round(at - 1.25)}" y="216" width="2.5" height="9"/>`;
  return html`<circle class="d-open" cx="${round(at)}" cy="${STRIP}" r="2.6"/>`;
}
