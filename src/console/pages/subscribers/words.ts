/** Texts about a subscriber for pages: sentences that name it, its answers, and what comes next. */
import type { SubscriberBody } from '../../../api/subscribers/fields.ts';
import { FAILURES_TO_PAUSE, FAILURES_TO_SWITCH_OFF, pauseAfter } from '../../../domain/deliveries/subscriber-health.ts';
import { afterFailures, isAskedFor } from '../../../domain/deliveries/subscriber-state.ts';
import { counted } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import { sentence as capital } from '../../../domain/values/sentence.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import { type Receiver, waitingText } from '../../parts/receivers.ts';
import { when } from '../../parts/time.ts';

/** Characters of an error within the sentence; the page has the whole error below. */
const LONGEST_ERROR = 160;

/** An error, as far as the sentence has room. */
const shortened = (error: string | null): string => {
  const text = error ?? 'no reason is known';
  return tied(lower(text.length <= LONGEST_ERROR ? text : `${text.slice(0, LONGEST_ERROR - 1)}…`));
};

/** The whole error of which the sentence has the beginning; null where the sentence has all. */
export function wholeError({ statusReason, health }: Receiver & Pick<SubscriberBody, 'statusReason'>): string | null {
  const error = health.status === 'off' ? statusReason : health.status === 'unreached' ? health.ourError : health.lastError;
  return health.status !== 'ok' && error !== null && error.length > LONGEST_ERROR ? error : null;
}

/** How the subscriber is, in a sentence that begins with its name. */
export function sentenceOf({ name, statusReason, health, waiting }: Receiver & Pick<SubscriberBody, 'statusReason'>): Html {
  const waits = waitingText({ waiting });
  const rest = waits === '' ? '' : ` ${capital(waits)}; none is lost.`;
  const { failures, lastError, ourError, ourFailures } = health;
  switch (health.status) {
    case 'off':
      return html`${name} is off: <bdi>${shortened(statusReason)}</bdi>${tied(rest)}`;
    case 'paused':
      return html`${name} takes nothing ${afterFailures(failures)}: <bdi>${shortened(lastError)}</bdi>${tied(rest)}`;
    case 'unreached':
      return html`${name} is not reached, for a reason on this side${ourFailures === 0 ? '' : tied(`, ${afterFailures(ourFailures)}`)}: <bdi>${shortened(ourError)}</bdi>${tied(rest)}`;
    case 'failing':
      return html`${name} failed lately, ${afterFailures(failures)}: <bdi>${shortened(lastError)}</bdi>${tied(rest)}`;
    default:
      return html`${name} takes what it is sent. ${waits === '' ? 'Nothing waits.' : `${capital(tied(waits))}.`}`;
  }
}

/** The next try, and what a person may do. */
export function outlookOf({ name, health }: Receiver, now: Instant): Html {
  const { status, failures, pausedUntil, ourFailures } = health;
  if (status === 'off') return html`Nothing is sent to it. Switched on again, it gets what is parked, in order.`;
  if (status === 'unreached') {
    if (ourFailures === 0)
      return html`A daemon cannot use what is stored of it. Give every daemon the settings under which it was added, SECRETS_KEY above all, and restart.`;
    return html`That is not held against ${name}. It is tried again every few minutes; once the cause is mended, resume it.`;
  }
  if (status === 'paused') {
    const asked = isAskedFor({ failures, pausedUntil: Date.parse(pausedUntil!) }) ? 'It asked for this rest. ' : '';
    const next =
      Date.parse(pausedUntil!) > now
        ? html`The next try is made ${when(pausedUntil, now)} with one delivery. Once it is taken, the others go out in order, few at once at first.`
        : html`One delivery is tried now. Once it is taken, the others go out in order, few at once at first.`;
    return html`${asked}${next}`;
  }
  if (status === 'failing')
    return html`What fails is tried again. ${tied(counted(FAILURES_TO_PAUSE, 'failure'))} in a row pause it, so that it is left alone for a while.`;
  return html`Each event is sent as soon as it is recorded, those of one purchase in order.`;
}

/** The pauses that follow failures in a row, with the place where the subscriber stands. */
export function ladder({ health: { status, failures } }: Pick<Receiver, 'health'>): Html {
  const steps = Array.from({ length: 7 }, (_, at) => FAILURES_TO_PAUSE + at);
  const longest = Array.from({ length: FAILURES_TO_SWITCH_OFF }, (_, at) => at).find(
    (at) => pauseAfter(at) === pauseAfter(at + 1),
  )!;
  const isNow = (step: number): boolean => status === 'paused' && failures === step;
  const step = (from: number): Html =>
    html`<li${isNow(from) ? html` aria-current="step"` : failures > from ? html` class="done"` : ''}>${from}: ${tied(humanDuration(pauseAfter(from - FAILURES_TO_PAUSE)))}${isNow(from) ? ', now' : ''}</li>`;
  const beyond = failures > steps.at(-1)! && status === 'paused';
  return html`<div><h3 class="vh">Pauses</h3><ol class="ladder" aria-label="Pauses after failures in a row">${steps.map(step)}<li${beyond ? html` aria-current="step"` : ''}>… ${FAILURES_TO_PAUSE + longest} to ${FAILURES_TO_SWITCH_OFF - 1}: ${tied(humanDuration(pauseAfter(longest)))}</li><li${status === 'off' && failures >= FAILURES_TO_SWITCH_OFF ? html` aria-current="step"` : ''}>${FAILURES_TO_SWITCH_OFF}: switched off</li></ol><p class="small">Failures in a row, and the pause that follows each. One delivery that gets through ends the count.</p></div>`;
}

/** As the end of a sentence, with its full stop. */
function lower(text: string): string {
  const begun = /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
