/** Moments and lengths of time on pages: relative words, with the exact instant and its zone under the pointer. */
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import { type Html, html, tied } from '../frame/html.ts';

/** The zone of this machine: the person's own is known to the page's script alone. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const exactFormat = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone: ZONE });
const clockFormat = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium', timeZone: ZONE });

const dayFormat = new Intl.DateTimeFormat('sv-SE', {
  ...({ month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const),
  timeZone: ZONE,
});

/** The zone of all clock times on pages, such as `Europe/Stockholm`. */
export const zoneName = ZONE;

/** `11-22 14:27`, in the daemon's zone. */
export function dayTime(at: Instant): string {
  return dayFormat.format(at);
}

/** `14:27:18`, in the daemon's zone. */
export function clockTime(at: Instant): string {
  return clockFormat.format(at);
}

/** `2026-11-22 14:22:41 Europe/Stockholm, 13:22:41 UTC`. */
function exactTime(at: Instant): string {
  const utc = new Date(at).toISOString().slice(11, 19);
  return ZONE === 'UTC' ? `${exactFormat.format(at)} UTC` : `${exactFormat.format(at)} ${ZONE}, ${utc} UTC`;
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
