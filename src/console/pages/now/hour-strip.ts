/** The strip of hours: customers who came in each, those who were stuck, and the incidents above; each hour leads to how it was at its end. */
import type { ThenBody } from '../../../api/overview/then.ts';
import { DAY, HOUR, type Instant } from '../../../domain/values/time.ts';
import { type Html, html, number } from '../../frame/html.ts';
import { clockTime, dayName } from '../../parts/time.ts';
import { round } from '../../pictures/scale.ts';

/**
 * The same strip in three widths, of which a style shows the one that fits: how wide it is drawn, and how many days it has room for.
 * Bars can be pointed at where there is a pointer; a finger is wider than they are.
 */
const WIDTHS = [
  { width: 960, days: 14, shown: 'only-wide' },
  { width: 700, days: 9, shown: 'only-mid' },
  { width: 330, days: 5, shown: 'only-narrow' },
] as const;
const [TOP, HEIGHT] = [24, 96];
const BASE = HEIGHT - 20;
/** Few are stuck beside those who come. */
const STUCK_SCALE = 3;
/** A day's name needs this much room. */
const NAME_WIDTH = 62;

interface Strip extends Pick<ThenBody, 'hours' | 'opened'> {
  readonly at: Instant;
  /** Below which addresses begin. */
  readonly base: string;
  /** The address of the page of a moment. */
  addressOf(at: Instant): string;
}

export function hourStrip(strip: Strip): Html {
  return html`<div class="has-mid">${WIDTHS.map((each) => html`<div class="${each.shown}">${picture(strip, each)}</div>`)}</div>`;
}

function picture({ hours: all, opened, at, base, addressOf }: Strip, { width, days, shown }: (typeof WIDTHS)[number]): Html {
  // A narrow strip ends with the present, or with the day of the moment where that lies before.
  const last = Math.max(Math.min(all.findIndex(({ to }) => Date.parse(to) >= at + DAY) + 1 || all.length, all.length), days * 24);
  const hours = all.slice(last - days * 24, last);
  const end = Date.parse(hours.at(-1)!.to);
  const from = end - days * DAY;
  const x = (moment: Instant): number => round(((Math.min(Math.max(moment, from), end) - from) / (end - from)) * width);
  const step = width / hours.length;
  const most = Math.max(...hours.map(({ came, stuck }) => Math.max(came ?? 0, (stuck ?? 0) * STUCK_SCALE)), 1);
  /** Bars of all hours as one line: pieces from the base up. */
  const bars = (name: string, countOf: (hour: ThenBody['hours'][number]) => number): Html => {
    const piece = (value: number, place: number): string =>
      value === 0 ? '' : `M${round((place + 0.5) * step)} ${BASE}v-${round(Math.max((value / most) * (BASE - TOP), 1.5))}`;
    return html`<path class="${name}" stroke-width="${round(Math.max(step - 0.6, 0.8))}" d="${hours.map(countOf).map(piece).join('')}"/>`;
  };
  const unknown = hours.map(({ came }, place) => (came === null ? `M${round(place * step)} ${BASE - 2}h${round(step / 2)}` : ''));
  const link = (hour: ThenBody['hours'][number], place: number): Html =>
    html`<a tabindex="-1" href="${addressOf(Date.parse(hour.to))}"><title>${hourText(hour)}</title><rect class="hour" x="${round(place * step)}" y="${TOP}" width="${round(step)}" height="${BASE - TOP}"/></a>`;
  const incident = ({ id, where, severity, openedAt, endedAt }: (typeof opened)[number]): Html | false => {
    const [begin, over] = [Date.parse(openedAt), endedAt === null ? end : Date.parse(endedAt)];
    if (over <= from || begin >= end) return false;
    const says = `${where}, ${severity}: from ${dayName(begin)} ${clock(begin)}${endedAt === null ? '' : ` to ${dayName(over)} ${clock(over)}`}`;
    const wide = round(Math.max(x(over) - x(begin), 5));
    return html`<a tabindex="-1" href="${base}/incidents/${id}"><title>${says}</title><rect class="l-inc ${severity}" x="${Math.min(x(begin), width - wide)}" y="10" width="${wide}" height="9" rx="2"/></a>`;
  };
  const place = hours.findIndex(({ to }) => Date.parse(to) >= at);
  const frame =
    place >= 0 &&
    html`<path class="s-at" d="M${x(at)} 4V${BASE + 4}"/><path class="s-head" d="M${round(x(at) - 5)} 2h10l-5 6z"/><rect class="s-frame" x="${round(place * step - 1.5)}" y="${TOP - 2}" width="${round(step + 3)}" height="${BASE - TOP + 4}" rx="1.5"/>`;
  return html`<svg viewBox="-6 0 ${width + 12} ${HEIGHT}" role="group" aria-label="${days} days, a bar an hour"><path class="c-grid" d="M0 ${TOP}H${width}"/>${dayMarks(hours, { step, width })}${bars('s-bar', ({ came }) => came ?? 0)}${bars('s-stuck', ({ stuck }) => (stuck ?? 0) * STUCK_SCALE)}<path class="s-none" d="${unknown.join('')}"/><path class="c-base" d="M0 ${BASE}H${width}"/>${shown === 'only-wide' && hours.map(link)}${opened.map(incident)}${frame}</svg>`;
}

const clock = (at: Instant): string => clockTime(at).slice(0, 5);

function hourText({ to, came, stuck }: ThenBody['hours'][number]): string {
  const end = Date.parse(to);
  const hour = `${dayName(end - HOUR)}, ${clock(end - HOUR)} to ${clock(end)}`;
  return came === null ? `${hour}: not noted` : `${hour}: ${number(came)} came, at most ${number(stuck ?? 0)} were stuck`;
}

/** A line at each midnight of the page's zone, and the day's name where there is room. */
function dayMarks(hours: ThenBody['hours'], { step, width }: { step: number; width: number }): Html[] {
  const days = hours.flatMap(({ to }, place) => {
    const begin = Date.parse(to) - HOUR;
    return place > 0 && dayName(begin) !== dayName(begin - HOUR) ? [{ begin, x: round(place * step) }] : [];
  });
  const every = Math.ceil(NAME_WIDTH / (step * 24));
  return days.map(({ begin, x }, place) => {
    const name =
      place % every === 0 &&
      x <= width - NAME_WIDTH &&
      html`<text x="${x + 3}" y="${HEIGHT - 5}">${dayName(begin).replace(/ \w+$/, '')}</text>`;
    return html`<path class="l-day" d="M${x} ${TOP}V${BASE + 4}"/>${name}`;
  });
}
