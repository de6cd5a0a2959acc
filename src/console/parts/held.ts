/** A subscriber to which nothing is sent now: that in one line, with the button that ends it. */
import { afterFailures } from '../../domain/deliveries/subscriber-state.ts';
import { counted } from '../../domain/values/counts.ts';
import { type Html, html, NOTHING, tied } from '../frame/html.ts';
import { status } from '../frame/icons.ts';
import type { Ask } from '../frame/page-route.ts';
import { isHeld, type Receiver } from './receivers.ts';
import { momentTime, when } from './time.ts';

/** After the button was pressed. */
export const RESUMED = 'It gets events again: what waits goes out in order, few at once at first.';

type Held = Pick<Receiver, 'name' | 'health'>;

/** The button that lets a subscriber have events again; `back` is the page to go on to. Nothing for a person who may not, and where it would change nothing. */
export function resumeForm(
  { name, health }: Held,
  ask: Ask,
  { back, word, isMain = true }: { back: string; word?: string; isMain?: boolean },
): Html {
  // A daemon that cannot use what is stored is helped by its settings alone.
  const isUntried = health.status === 'unreached' && health.ourFailures === 0;
  if (!ask.mayOperate || !isHeld({ health }) || isUntried) return NOTHING;
  const isOff = health.status === 'off';
  const field = isOff && html`<input type="hidden" name="status" value="active">`;
  return html`<form method="post" action="${ask.base}/subscribers/${encodeURIComponent(name)}/${isOff ? 'status' : 'resume'}"><input type="hidden" name="back" value="${back}">${field}<button class="btn${isMain ? ' first' : ''}">${isOff ? `Switch ${name} on` : (word ?? `Resume ${name}`)}</button></form>`;
}

/** `books is paused after 9 failures in a row: the next try is in 6 min, with one event.` */
export function heldText({ name, health }: Held, now: number): Html {
  const { failures, pausedUntil, ourFailures } = health;
  switch (health.status) {
    case 'off':
      return html`${name} is switched off: nothing is sent to it until somebody switches it on.`;
    case 'unreached':
      return ourFailures === 0
        ? html`${name} is sent nothing, because a daemon cannot use what is stored of it: give every daemon the settings under which it was added, SECRETS_KEY above all, and restart.`
        : html`${name} is not reached ${tied(afterFailures(ourFailures))}, for a reason on this side: it is tried again every few minutes.`;
    case 'paused':
      return Date.parse(pausedUntil!) > now
        ? html`${name} is paused ${tied(afterFailures(failures))}: the next try is at ${momentTime(Date.parse(pausedUntil!), Date.parse(pausedUntil!) - now)}, ${when(pausedUntil, now)}, with one event.`
        : html`${name} is paused ${tied(afterFailures(failures))}, and is tried with one event now.`;
    default:
      return html`${name} takes what it is sent.`;
  }
}

/** One line with the button, for a page that is about something else; nothing while the subscriber gets events. `count`: deliveries of that page that wait. */
export function heldLine(receiver: Held, ask: Ask, { back, count }: { back: string; count: number }): Html {
  if (!isHeld(receiver)) return NOTHING;
  const { name, health } = receiver;
  const waits = count === 0 ? '' : ` ${counted(count, 'event waits', 'events wait')} for it here.`;
  return html`<div class="held"><p>${status(health.status === 'paused' ? 'paused' : health.status === 'off' ? 'off' : 'warning', '')}<span>${heldText(receiver, ask.now)}${waits} <a href="${ask.base}/subscribers/${encodeURIComponent(name)}">Open ${name}</a></span></p>${resumeForm(receiver, ask, { back, isMain: false })}</div>`;
}
