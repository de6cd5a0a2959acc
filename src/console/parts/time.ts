/**
 * Moments and lengths of time on pages: relative words, with the exact instant and its zone under the pointer. All clock times of a
 * page are of one zone, which the page names at its top.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import { type Html, html, tied } from '../frame/html.ts';

/** How one zone writes times. */
type Clock = ReturnType<typeof makeClock>;

/** Made once for each zone: a formatter takes longer to make than a page. */
const clocks = new Map<string, Clock>();
const MOST_CLOCKS = 50;
const ZONES: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);
/** Of the page that is being made: pictures and parts deep inside it print times, too. */
const pageClock = new AsyncLocalStorage<Clock>();

function makeClock(zone: string) {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('sv-SE', { ...options, timeZone: zone });
  return {
    zone,
    exact: format({ dateStyle: 'short', timeStyle: 'medium' }),
    clock: format({ timeStyle: 'medium' }),
    name: new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: zone }),
    day: format({ month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' }),
  };
}

function clockOf(zone: string): Clock {
  const clock = clocks.get(zone) ?? makeClock(zone);
  if (clocks.size < MOST_CLOCKS) clocks.set(zone, clock);
  return clock;
}

const current = (): Clock => pageClock.getStore() ?? clockOf('UTC');

/** Makes a page whose clock times are of this zone, which `knownZone` answered. */
export function inZone<Made>(zone: string, make: () => Made): Made {
  return pageClock.run(clockOf(zone), make);
}

/** The zone of this name as it is called here: browsers have other names for some. Null when there is none. */
export function knownZone(name: string): string | null {
  if (ZONES.has(name)) return name;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // An offset such as +01:00 is taken, too, and knows no summer.
    return ZONES.has(timeZone) ? timeZone : null;
  } catch {
    return null;
  }
}

/** The zone of all clock times on the page that is being made, such as `Europe/Stockholm`. */
export function zoneName(): string {
  return current().zone;
}

/** `11-22 14:27`, in the page's zone. */
export function dayTime(at: Instant): string {
  return current().day.format(at);
}

/** `Sun 22 Nov`, in the page's zone. */
export function dayName(at: Instant): string {
  return current().name.format(at).replace(',', '');
}

/** The weekdays of many weeks, Monday first. */
export const WEEKDAYS = ['Mondays', 'Tuesdays', 'Wednesdays', 'Thursdays', 'Fridays', 'Saturdays', 'Sundays'] as const;

/** `14:27:18`, in the page's zone. */
export function clockTime(at: Instant): string {
  return current().clock.format(at);
}

/** `2026-11-22 14:22:41 Europe/Stockholm`. */
export function exactTime(at: Instant): string {
  const { exact, zone } = current();
  return `${exact.format(at)} ${zone}`;
}

/** A sentence whose moments are of UTC (`2026-11-22 14:22 UTC`), with those of the page's zone in their place. */
export function inPageZone(text: string): string {
  return text.replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC\b/g, (_, day: string, time: string) =>
    exactTime(Date.parse(`${day}T${time}Z`)),
  );
}

/** A moment of an answer of the API as relative words; null is `never`. */
export function when(iso: string | null, now: Instant): Html | string {
  if (iso === null) return 'never';
  const at = Date.parse(iso);
  return html`<time class="when" tabindex="0" datetime="${iso}" data-exact="${exactTime(at)}">${tied(relative(at, now))}</time>`;
}

/** A moment as clock time, with the day where a list spans more than one; the exact instant when pointed at. */
export function momentTime(at: Instant, span: Milliseconds): Html {
  const text = span > DAY / 2 ? dayTime(at) : clockTime(at);
  return html`<time datetime="${new Date(at).toISOString()}" title="${exactTime(at)}">${tied(text)}</time>`;
}

/** How long something has lasted, with the moment it began. */
export function since(iso: string, now: Instant): Html {
  const at = Date.parse(iso);
  const text = humanDuration(Math.max(now - at, 0));
  return html`<time class="when" tabindex="0" datetime="${iso}" data-length="yes" data-exact="since ${exactTime(at)}">${tied(text)}</time>`;
}

/** `24 min 47 s`, which no line end parts. */
export function length(ms: Milliseconds): string {
  return tied(humanDuration(ms));
}
