/**
 * The picture of a purchase's life, to scale: a row for each stay in a state, then polls, a row for each subscriber, alerts
 * and the invoice. A change is a dashed box from the last poll before it to the first one after it.
 */
import { defaultPolicyOf } from '../../domain/polling/poll-plan.ts';
import { checkoutEnd, stateWords } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Html, html, tied } from '../frame/html.ts';
import { clockTime, dayTime } from '../parts/time.ts';
import type { Life, Mark } from './life-story.ts';
import { round } from './scale.ts';
import { type Change, type Stay, stayText } from './stays.ts';
import { ticksOf } from './time-axis.ts';

const BAND = 16;
/** Width of a letter in common fonts, at most. */
const LETTER = 7.3;
/** The measures in which wide and narrow pictures differ: the narrow one has its labels above the rows. */
const WIDE = { width: 1_000, left: 214, row: 30, band: 5, ticks: 6, gap: 150, cut: 44, isNarrow: false };
const NARROW = { width: 330, left: 6, row: 40, band: 17, ticks: 2, gap: 84, cut: 26, isNarrow: true };
type Form = typeof WIDE;

interface Frame extends Form {
  /** Place of a moment; after the scale's end, in the part that is not to scale. */
  x(at: Instant): number;
  /** Where the scale ends, and where now is. */
  readonly end: number;
  readonly nowAt: number;
  /** Upper edge of a row. */
  top(row: number): number;
  /** Upper edge of what is drawn in it. */
  bar(row: number): number;
  readonly height: number;
}

/** The picture for wide and for narrow pages; where changes lie too close, once more with the first part enlarged. */
export function lifePicture(life: Life): Html {
  const near = enlarged(life);
  const factor = near === null ? 0 : Math.round((life.to - life.from) / (near.to - near.from));
  return html`<div class="life"><div class="only-wide">${drawing(life, WIDE)}</div><div class="only-narrow">${drawing(life, NARROW)}</div>
${near !== null && html`<p class="small">The first ${tied(humanDuration(near.to - near.from))}, ${factor} times as wide:</p><div class="only-wide">${drawing(near, WIDE, true)}</div><div class="only-narrow">${drawing(near, NARROW, true)}</div>`}</div>`;
}

/** The beginning of a life in which changes come nearer than four pixels; null where a larger picture would show no more. */
function enlarged(life: Life): Life | null {
  const pixel = (life.to - life.from) / (WIDE.width - WIDE.left - WIDE.gap);
  const close = life.stays.filter(({ left, came }) => left !== null && left.notAfter - came.notAfter < 4 * pixel);
  const last = close.at(-1)?.left?.notAfter;
  if (last === undefined) return null;
  const to = last + Math.max((last - life.from) * 0.25, 1);
  if ((to - life.from) * 4 > life.to - life.from) return null;
  const stays = life.stays.filter(({ came }) => came.notAfter <= to);
  return { ...life, to, stays, subscribers: [], alerts: [], invoiceAt: null };
}

function drawing(life: Life, form: Form, isPart = false): Html {
  const { stays, subscribers, alerts, invoiceAt } = life;
  const extras = isPart ? 0 : 1 + subscribers.length + (alerts.length > 0 ? 1 : 0) + (invoiceAt === null ? 0 : 1);
  const frame = frameOf(life, form, { rows: stays.length + extras, isPart });
  const polls = stays.length;
  const alertRow = polls + 1 + subscribers.length;
  const says = `Life of the purchase: ${stays.map((stay) => `${stateWords(stay.state.value)} for ${stayText(stay, life.now)}`).join(', then ')}. The same is in the tables below.`;
  return html`<svg viewBox="0 0 ${form.width} ${frame.height}" role="img" aria-label="${tied(says)}">
${axis(life, frame, isPart)}${Array.from({ length: stays.length + extras }, (_, row) => html`<path class="row-line" d="M0 ${round(frame.top(row) - 1)}H${form.width}"/>`)}
${stays.map((stay, row) => band(stay, { row, life, frame, isPart }))}${stays.map((stay, row) => change(stay, row, frame))}
${stays.map((stay, row) => label(stateWords(stay.state.value), row, frame, stayText(stay, life.now)))}
${
  !isPart &&
  html`${pollRow(life, polls, frame)}${subscribers.map(({ name, marks }, index) => subscriberRow(name, marks, polls + 1 + index, frame))}
${alerts.length !== 0 && html`${alerts.map(({ at, says: text }) => html`<rect class="ev" x="${round(frame.x(at) - 4)}" y="${frame.bar(alertRow) + 4}" width="8" height="8" rx="1.5"><title>${text}</title></rect>`)}${label('Alerts', alertRow, frame)}`}
${invoiceAt !== null && invoiceRow(invoiceAt, alertRow + (alerts.length > 0 ? 1 : 0), frame)}${nowMark(life, polls, frame)}`
}</svg>`;
}

function frameOf({ from, to, now }: Life, form: Form, { rows, isPart }: { rows: number; isPart: boolean }): Frame {
  const isCut = !isPart && now > to;
  const nowAt = form.width - 8 - form.gap + (isPart ? form.gap : form.cut);
  const end = isCut ? nowAt - form.cut : nowAt;
  const top = (row: number): number => 34 + row * form.row;
  const x = (at: Instant): number => {
    if (at > to) return isPart ? form.width + 20 : Math.min(end + form.cut * 0.75, nowAt);
    return form.left + ((Math.max(at, from) - from) / Math.max(to - from, 1)) * (end - form.left);
  };
  return { ...form, x, end, nowAt, top, bar: (row) => top(row) + form.band, height: top(rows) + 4 };
}

function axis({ from, to }: Life, frame: Frame, isPart: boolean): Html {
  const grid = (at: Instant, word: string): Html =>
    html`<path class="c-grid" d="M${round(frame.x(at))} 22V${frame.height - 6}"/><text x="${round(Math.min(frame.x(at), frame.width - (word.length * LETTER) / 2))}" y="14" text-anchor="middle">${word}</text>`;
  const room = frame.isNarrow ? 40 : 46;
  const ticks = ticksOf(from, to, frame.ticks).filter(({ at }) => {
    const place = frame.x(at);
    return (isPart || frame.nowAt - place > room) && (frame.isNarrow ? place > 24 : place - frame.left > room + 14);
  });
  return html`${!frame.isNarrow && grid(from, moment(from, to - from))}${ticks.map(({ at, word }) => grid(at, word))}`;
}

/** `14:01:18`, with the day where the picture spans several. */
const moment = (at: Instant, span: number): string => (span > 43_200_000 ? dayTime(at) : clockTime(at));

interface Drawn {
  readonly row: number;
  readonly life: Life;
  readonly frame: Frame;
  readonly isPart: boolean;
}

/** A stay from when it was seen first to when it was seen last. */
function band(stay: Stay, { row, life, frame, isPart }: Drawn): Html {
  const { came, left, stuckAt, state } = stay;
  const isLast = left === null;
  const isFinal = isLast && checkoutEnd(state.value) !== null;
  const until = isLast ? (isFinal ? life.now : life.seenAt) : (left.notBefore ?? left.notAfter);
  const [from, to] = [frame.x(came.notAfter), isFinal && !isPart ? frame.nowAt : Math.min(frame.x(until), frame.end)];
  const kind = bandClass(stay);
  const y = frame.bar(row);
  const stuckFrom = stuckAt === null ? null : Math.min(frame.x(stuckAt), to);
  const unknown = isLast && !isFinal && !isPart && frame.nowAt - to > 3;
  return html`<rect class="${kind}" x="${round(from)}" y="${y}" width="${round(Math.max(2, to - from))}" height="${BAND}" rx="2"/>
${stuckFrom !== null && html`<rect class="b-over" x="${round(stuckFrom)}" y="${y}" width="${round(Math.max(2, to - stuckFrom))}" height="${BAND}" rx="2"/><path class="lim" d="M${round(stuckFrom)} ${y - 5}V${y + BAND + 5}"/>${to - stuckFrom >= 90 && html`<text x="${round(stuckFrom + 8)}" y="${y + 12}" class="onband">found stuck</text>`}`}
${unknown && html`<rect class="iv-bg" x="${round(to)}" y="${y}" width="${round(frame.nowAt - to)}" height="${BAND}"><title>not polled since ${clockTime(life.seenAt)}</title></rect>`}
${isFinal && !isPart && frame.end < frame.nowAt && html`<path class="brk" d="M${round(frame.end + 10)} ${y - 5}l-5 ${BAND + 10}m5 0l5 -${BAND + 10}"/>`}`;
}

/** Green ends paid; slate ends otherwise, or was left without a limit; petrol while the customer waits. */
function bandClass({ state: { value }, left, stuckAt }: Stay): string {
  const end = checkoutEnd(value);
  if (end !== null) return end === 'paid' ? 'b-paid' : 'b-ended';
  return left === null || stuckAt !== null || hasLimit(value) ? 'b-wait' : 'b-past';
}

const hasLimit = (state: number): boolean => defaultPolicyOf(state).stuckAfter !== null;

/** The interval in which a stay ended, over its row and the next, and the words beside it where there is room. */
function change({ came, left }: Stay, row: number, frame: Frame): Html {
  if (left === null || left.notBefore === null) return html``;
  const [from, to] = [frame.x(left.notBefore), frame.x(left.notAfter)];
  if (from > frame.width) return html``;
  const y = frame.bar(row);
  const box = html`<rect class="iv-bg" x="${round(from)}" y="${y}" width="${round(Math.max(3, to - from))}" height="${frame.row + BAND}"/>`;
  const words = changeText(left);
  const begins = frame.x(came.notBefore ?? came.notAfter);
  const room = words.length * 6;
  if (frame.isNarrow) return box;
  if (frame.end - to > room + 20) return html`${box}<text class="t-halo" x="${round(to + 10)}" y="${y + 12}">${words}</text>`;
  if (begins - frame.left > room + 20)
    return html`${box}<text class="t-halo" x="${round(begins - 8)}" y="${y + 12}" text-anchor="end">${words}</text>`;
  return box;
}

function changeText({ notBefore, notAfter }: Change): string {
  return `changed between ${clockTime(notBefore ?? notAfter)} and ${clockTime(notAfter)}`;
}

/** The name of a row; with what it says in few words where the picture is narrow. */
function label(name: string, row: number, frame: Frame, says = ''): Html {
  const most = frame.isNarrow ? 36 : 35;
  const short = [...name].length > most ? `${[...name].slice(0, most - 1).join('')}…` : name;
  const title = short !== name && html`<title>${name}</title>`;
  if (!frame.isNarrow) return html`<text class="strong t-halo" x="0" y="${frame.bar(row) + 12}">${title}${short}</text>`;
  const room = (frame.width - frame.left) / LETTER - [...short].length - 2;
  // Of a range that has no room its beginning stands alone; the tables have it whole.
  const fits = [says, says.split(' to ')[0]!].find((text) => text.length <= room) ?? '';
  const more = fits !== '' && html` <tspan dx="4" font-weight="400">${tied(fits)}</tspan>`;
  return html`<text class="strong t-halo" x="${frame.left}" y="${frame.top(row) + 11}">${title}${short}${more}</text>`;
}

/** All polls as one bar, with those in it whose moments are known. */
function pollRow({ polls: { count, failures, known } }: Life, row: number, frame: Frame): Html {
  const y = frame.bar(row) + 2;
  const name = count === 1 ? '1 poll' : `${count} polls`;
  const failed = failures === 0 ? '' : `the last ${failures === 1 ? 'one' : failures} failed`;
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return label(name, row, frame, failed);
  const [from, to] = [frame.x(first), frame.x(last)];
  return html`<rect class="p-zip" x="${round(from)}" y="${y}" width="${round(Math.max(1, to - from))}" height="12" rx="2"/>${known.map((at) => html`<path class="p-tick" d="M${round(frame.x(at))} ${y}v12"/>`)}
${!(failed === '' || frame.isNarrow) && html`<text class="t-halo" x="${round(to - 8)}" y="${y + 10}" text-anchor="end">${failed}</text>`}${label(name, row, frame, failed)}`;
}

function subscriberRow(name: string, marks: readonly Mark[], row: number, frame: Frame): Html {
  const y = frame.bar(row) + BAND / 2;
  const failed = marks.filter(({ kind }) => kind === 'failed');
  const after = failed.length === 0 ? undefined : marks.find(({ kind, at }) => kind === 'delivered' && at > failed.at(-1)!.at);
  const link =
    failed.length !== 0 &&
    html`<path class="dl-link" d="M${round(frame.x(failed[0]!.at))} ${y}H${round(frame.x((after ?? failed.at(-1)!).at))}"/>`;
  return html`${link}${marks.map((mark) => drawnMark(mark, frame.x(mark.at), y))}${label(name, row, frame, marksText(marks))}`;
}

function drawnMark({ kind, says }: Mark, x: number, y: number): Html {
  const title = html`<title>${says}</title>`;
  if (kind === 'delivered') return html`<circle class="dl-ok" cx="${round(x)}" cy="${y}" r="4.2">${title}</circle>`;
  if (kind === 'waiting') return html`<circle class="d-open" cx="${round(x)}" cy="${y}" r="4.2">${title}</circle>`;
  if (kind === 'failed') return html`<path class="dl-no" d="M${round(x - 3.5)} ${y - 3.5}l7 7m0 -7l-7 7">${title}</path>`;
  return html`<g class="parked">${title}<path d="M${round(x - 5)} ${y - 1}v6h10v-6" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M${round(x - 3)} ${y - 3}h6v4h-6z" fill="currentColor"/></g>`;
}

function marksText(marks: readonly Mark[]): string {
  const counts = Map.groupBy(marks, ({ kind }) => kind);
  const words = { delivered: 'delivered', failed: 'failed', parked: 'parked', waiting: 'wait' } as const;
  return Object.entries(words)
    .flatMap(([kind, word]) => (counts.has(kind as Mark['kind']) ? [`${counts.get(kind as Mark['kind'])!.length} ${word}`] : []))
    .join(', ');
}

function invoiceRow(at: Instant, row: number, frame: Frame): Html {
  const y = frame.bar(row) + 3;
  return html`<rect class="b-paid" x="${round(frame.x(at) - 4)}" y="${y}" width="8" height="10" rx="1"><title>the invoice was ready at ${clockTime(at)}</title></rect>${label('Invoice', row, frame, `ready at ${clockTime(at)}`)}`;
}

/** Now, and the next poll after it, not to scale. */
function nowMark({ next, now }: Life, row: number, frame: Frame): Html {
  const at = frame.nowAt;
  const y = frame.bar(row) + BAND / 2;
  const ring = frame.width - (frame.isNarrow ? 22 : 42);
  const word =
    next === null ? '' : `${frame.isNarrow ? '' : 'next '}${next - now > 43_200_000 ? dayTime(next) : clockTime(next)}`;
  return html`<path class="now-line" d="M${round(at)} 22V${frame.height - 6}"/><text class="strong t-halo" x="${round(at)}" y="14" text-anchor="middle">now</text>
${next !== null && html`<path class="row-line" d="M${round(at)} ${y}H${ring - 6}"/><circle class="next" cx="${ring}" cy="${y}" r="5"/><text class="strong t-halo" x="${frame.width - 2}" y="${y - 10}" text-anchor="end">${word}</text>`}`;
}
