/** A rehearsed time to scale: for each side, such as the settings that are tried, its incidents as bars and its alerts as marks. */

import type { ShownAlert, ShownIncident } from '../../actions/rehearse/body.ts';
import { stateWords } from '../../domain/purchases/states.ts';
import { counted } from '../../domain/values/counts.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Html, html, tied, trusted } from '../frame/html.ts';
import { dayTime } from '../parts/time.ts';
import { round } from './scale.ts';
import { ticksOf } from './time-axis.ts';

/** The incidents and alerts that there were, or would have been, with one set of settings. */
export interface TimelineSide {
  readonly name: string;
  readonly incidents: readonly ShownIncident[];
  readonly said: readonly ShownAlert[];
}

export interface Timeline {
  readonly from: Instant;
  readonly to: Instant;
  readonly sides: readonly TimelineSide[];
}

const [TOP, ROW, HEAD, GAP] = [24, 20, 22, 14];
const BAR = 12;
/** Height of the line that says what is not drawn. */
const MORE = 15;
/** Width of a letter, at most. */
const LETTER = 7;
/** Incidents at one time that have rows of their own, and marks that are drawn, of each side. */
const MOST_ROWS = 8;
const MOST_MARKS = 400;

/** In both widths: the page shows the one that fits. */
export function timelinePicture(timeline: Timeline): Html {
  return html`<div class="only-wide">${drawn(timeline, 760)}</div><div class="only-narrow">${drawn(timeline, 330)}</div>
<div class="legend"><span>${sample('<rect class="r-bar warning" x="0" y="2" width="18" height="8" rx="2"/>')}incident, warning</span><span>${sample('<rect class="r-bar critical" x="0" y="2" width="18" height="8" rx="2"/>')}incident, critical</span><span>${sample('<circle class="r-mark news" cx="9" cy="6" r="4"/>')}alert: it began or came back</span><span>${sample('<circle class="r-mark" cx="9" cy="6" r="4"/>')}alert: it grew, reminder</span><span>${sample('<path class="r-end" d="M9 0v12"/>')}alert: it is over</span><span>${sample('<path class="d-stuck" d="M9 1l5 5-5 5-5-5z"/>')}alert about single checkouts, or an order paid twice</span></div>`;
}

const sample = (shape: string): Html =>
  trusted(`<svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true">${shape}</svg>`);

/** The picture in words, for people who do not see it. */
function timelineText({ from, to, sides }: Timeline): string {
  const texts = sides.map(
    ({ name, incidents, said }) => `${name}: ${counted(said.length, 'alert')}, ${counted(incidents.length, 'incident')}`,
  );
  return `From ${dayTime(from)} to ${dayTime(to)}. ${texts.join('. ')}.`;
}

interface Scale {
  readonly width: number;
  x(at: Instant): number;
}

function drawn(timeline: Timeline, width: number): Html {
  const { from, to, sides } = timeline;
  const inside = (at: Instant): number => Math.min(Math.max((at - from) / (to - from), 0), 1);
  const scale: Scale = { width, x: (at) => 6 + inside(at) * (width - 12) };
  const parts: Html[] = [];
  let y = TOP;
  for (const side of sides) {
    const { body, height } = sideAt(side, y, { scale, to });
    parts.push(body);
    y += height + GAP;
  }
  const ticks = ticksOf(from, to, width < 500 ? 3 : 7).map(({ at, word }) => {
    const half = (word.length * LETTER) / 2;
    const x = Math.min(Math.max(scale.x(at), half), width - half);
    return html`<path class="c-grid" d="M${round(scale.x(at))} 18V${y}"/><text x="${round(x)}" y="12" text-anchor="middle">${word}</text>`;
  });
  return html`<svg viewBox="0 0 ${width} ${y}" role="img" aria-label="${timelineText(timeline)}">${ticks}${parts}</svg>`;
}

function sideAt({ name, incidents, said }: TimelineSide, top: number, { scale, to }: { scale: Scale; to: Instant }) {
  const { rows, missing } = rowsOf(incidents, { scale, to });
  const rowOf = new Map(rows.flatMap((row, place) => row.map(({ incidentId }) => [incidentId, place] as const)));
  const marks = said.slice(0, MOST_MARKS);
  // Messages about single checkouts, and about incidents that have no bar.
  const hasOthers = marks.some(({ incidentId }) => incidentId === null || !rowOf.has(incidentId));
  const head = HEAD + (missing === 0 ? 0 : MORE);
  const middle = (row: number): number => top + head + row * ROW + ROW / 2;
  const markRow = ({ incidentId }: ShownAlert): number =>
    (incidentId === null ? undefined : rowOf.get(incidentId)) ?? rows.length;
  const bars = rows.flatMap((row, place) =>
    row.map((incident, at) => bar(incident, middle(place), { scale, to, next: row[at + 1] })),
  );
  const more =
    missing !== 0 &&
    html`<text x="6" y="${top + 14 + MORE}">${counted(missing, 'more incident')} at the same time not drawn</text>`;
  const count = Math.max(rows.length + (hasOthers ? 1 : 0), 1);
  const base = top + head + count * ROW;
  const body = html`<text class="strong" x="6" y="${top + 14}">${name}<tspan dx="6" font-weight="400">${tied(counted(said.length, 'alert'))}</tspan></text>${more}${bars}${marks.map((message) => mark(message, middle(markRow(message)), scale))}<path class="c-base" d="M6 ${base}H${scale.width - 6}"/>`;
  return { body, height: head + count * ROW };
}

/** Bars that do not meet share a row. */
function rowsOf(incidents: readonly ShownIncident[], { scale, to }: { scale: Scale; to: Instant }) {
  const rows: ShownIncident[][] = [];
  const ends: number[] = [];
  let missing = 0;
  for (const incident of incidents) {
    const begin = scale.x(Date.parse(incident.openedAt));
    const free = ends.findIndex((end) => end + 12 < begin);
    const place = free >= 0 ? free : rows.length;
    if (place >= MOST_ROWS) {
      missing += 1;
      continue;
    }
    rows[place] = [...(rows[place] ?? []), incident];
    ends[place] = Math.max(scale.x(endOf(incident, to)), begin + 3);
  }
  return { rows, missing };
}

const endOf = ({ endedAt }: ShownIncident, to: Instant): Instant => (endedAt === null ? to : Date.parse(endedAt));

/** A bar, with its place beside it where there is room before the `next` bar of the row. */
function bar(
  incident: ShownIncident,
  middle: number,
  { scale, to, next }: { scale: Scale; to: Instant; next: ShownIncident | undefined },
): Html {
  const [from, end] = [scale.x(Date.parse(incident.openedAt)), scale.x(endOf(incident, to))];
  const right = Math.max(end, from + 3);
  const room = (next === undefined ? scale.width : scale.x(Date.parse(next.openedAt))) - right;
  const words = incidentPlace(incident);
  const label =
    words.length * LETTER + 16 <= room &&
    html`<text class="t-halo" x="${round(right + 8)}" y="${round(middle + 4)}">${words}</text>`;
  return html`<rect class="r-bar ${incident.severity}" x="${round(from)}" y="${round(middle - BAR / 2)}" width="${round(right - from)}" height="${BAR}" rx="2"><title>${barText(incident)}</title></rect>${label}`;
}

/** `demo-se, waiting for the card provider, warning: 11-22 09:21 to 11-22 10:14, 9 at the worst`. */
function barText(incident: ShownIncident): string {
  const { severity, peak, openedAt, endedAt, kind } = incident;
  const until = endedAt === null ? 'still open at the end' : `to ${dayTime(Date.parse(endedAt))}`;
  const worst = kind === 'stuck' ? `, ${counted(peak, 'customer')} at the worst` : '';
  return `${incidentPlace(incident)}, ${severity}: ${dayTime(Date.parse(openedAt))} ${until}${worst}`;
}

/** Where an incident is, in a few words. */
export function incidentPlace({ site, state, kind }: ShownIncident): string {
  const what = kind === 'unreachable' ? 'no purchase read' : state === null ? 'several states' : stateWords(state.value);
  return `${site ?? 'several sites'}, ${what}`;
}

function mark({ at, stage, headline }: ShownAlert, y: number, { x }: Scale): Html {
  const place = x(Date.parse(at));
  const title = html`<title>${dayTime(Date.parse(at))} ${stage}: ${headline}</title>`;
  if (stage === 'checkouts' || stage === 'paid_twice')
    return html`<path class="d-stuck" d="M${round(place)} ${round(y - 5)}l5 5-5 5-5-5z">${title}</path>`;
  if (stage === 'ended') return html`<path class="r-end" d="M${round(place)} ${round(y - 9)}v18">${title}</path>`;
  const isNews = stage === 'opened' || stage === 'reopened';
  return html`<circle class="r-mark${isNews && ' news'}" cx="${round(place)}" cy="${round(y)}" r="4.2">${title}</circle>`;
}
