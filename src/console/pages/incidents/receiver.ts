/** The incident of a subscriber: what waits and why, what the receiver answered, the next try, and Resume. */

import type { IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SubscriberAttemptsBody } from '../../../api/subscribers/attempts.ts';
import type { DeliveryDetailsBody } from '../../../api/subscribers/fields.ts';
import type { SubscriberWaitingBody } from '../../../api/subscribers/waiting.ts';
import { FAILURES_TO_PAUSE, FAILURES_TO_SWITCH_OFF, pauseAfter } from '../../../domain/deliveries/subscriber-health.ts';
import { counted } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { answerPanel, reasonIn } from '../../parts/answers.ts';
import { heldText, resumeForm } from '../../parts/held.ts';
import { factsPanel, panel, written } from '../../parts/lists.ts';
import { isForPeople, isHeld } from '../../parts/receivers.ts';
import { clockTime, momentTime, since, when } from '../../parts/time.ts';
import { attemptsPicture } from '../../pictures/attempts.ts';
import { ladder } from '../subscribers/words.ts';

const MOST_DRAWN = 60;

type Attempt = SubscriberAttemptsBody['data'][number];

/** All that the page of such an incident shows beside what every incident's does: attempts the latest first, the delivery whose answer is shown. */
export type TroubledReceiver = NonNullable<Awaited<ReturnType<typeof readReceiver>>>;

/** Reads it; null where the incident is of no single subscriber, or of one that is gone. Throws ApiRefusal. */
export async function readReceiver({ api }: Ask, { kind, subscriber }: IncidentDetailsBody, all: OverviewBody['subscribers']) {
  const receiver = kind === 'subscriber' ? all.find(({ name }) => name === subscriber) : undefined;
  if (receiver === undefined) return null;
  const path = `/v1/subscribers/${encodeURIComponent(receiver.name)}`;
  const [waiting, { data: attempts }] = await Promise.all([
    api.get<SubscriberWaitingBody>(`${path}/waiting`),
    api.get<SubscriberAttemptsBody>(`${path}/attempts`, { limit: MOST_DRAWN }),
  ]);
  const failed = waiting.lastAnswer?.delivery ?? attempts.find(({ outcome }) => outcome !== 'delivered')?.delivery ?? null;
  const tried = failed === null ? null : await api.get<DeliveryDetailsBody>(`/v1/deliveries/${failed}`).catch(() => null);
  return { receiver, others: all.filter((each) => each !== receiver), waiting, attempts, tried };
}

/** Since when the receiver takes nothing, how much waits, and whether anything is lost. */
export function receiverSentence(
  { since: began }: IncidentDetailsBody,
  { receiver, waiting }: TroubledReceiver,
  now: number,
): Html {
  const { name, health } = receiver;
  const from = momentTime(Date.parse(health.failingSince ?? health.ourFailingSince ?? began), now - Date.parse(began));
  const many = counted(waiting.count, 'event', 'events', waiting.atLeast ? waiting.count : null);
  const be = waiting.count === 1 ? 'is' : 'are';
  const lost =
    waiting.givenUp === 0
      ? 'none is lost'
      : `${counted(waiting.givenUp, 'event was', 'events were', waiting.givenUpAtLeast ? waiting.givenUp : null)} given up`;
  const rest = tied(`${many} ${be} ${isHeld(receiver) ? 'parked' : 'waiting'}, ${lost}.`);
  switch (health.status) {
    case 'off':
      return isForPeople(receiver)
        ? html`${name} is switched off and gets nothing: ${tied(`${many} ${be} parked.`)}`
        : html`${name} is switched off: ${tied(`${many} ${be} parked`)}, and what happens now is not sent to it.`;
    case 'unreached':
      return html`${name} is not reached since ${from}, for a reason on this side: ${rest}`;
    case 'paused':
    case 'failing':
      return html`${name} takes nothing since ${from}: ${rest}`;
    default:
      return waiting.givenUp === 0
        ? html`${name} takes events again: ${rest}`
        : html`${name} did not take everything: ${tied(lost)}, ${tied(`${many} ${waiting.count === 1 ? 'waits' : 'wait'}.`)}`;
  }
}

/** Why, in the receiver's own words where it said any, and what comes next. */
export function receiverReason(told: TroubledReceiver, now: number): Html {
  const { receiver } = told;
  const { health, statusReason } = receiver;
  const error = health.status === 'off' ? (statusReason ?? health.lastError) : (health.lastError ?? health.ourError);
  const says = answerOfNow(told) === null ? null : reasonIn(told.waiting.lastAnswer!.text);
  const status = told.attempts[0]?.httpStatus ?? null;
  const { row, isAlike } = inARow(told.attempts);
  const why =
    says !== null && status !== null && health.status !== 'off'
      ? html`It answers ${status}${isAlike && row > 1 ? ' each time' : ''}: <b><bdi>${says}</bdi></b>${/[.!?…]$/.test(says) ? '' : '.'}`
      : error === null
        ? NOTHING
        : html`<bdi>${error}</bdi>`;
  return html`${why} ${isHeld(receiver) && heldText(receiver, now)}`;
}

/** The whole answer, while the last attempt is the one that it answered. */
function answerOfNow({ waiting: { lastAnswer }, attempts }: TroubledReceiver): SubscriberWaitingBody['lastAnswer'] {
  const last = attempts.find(({ outcome }) => outcome !== 'delivered');
  const isOfLast = lastAnswer !== null && last?.delivery === lastAnswer.delivery && last.number === lastAnswer.number;
  return isOfLast ? lastAnswer : null;
}

/** How many of the latest attempts failed one after the other, and whether all in the same way. */
function inARow(attempts: readonly Attempt[]): { row: number; isAlike: boolean; first: Attempt | undefined } {
  const taken = attempts.findIndex(({ outcome }) => outcome === 'delivered');
  const failed = taken === -1 ? attempts : attempts.slice(0, taken);
  return { row: failed.length, isAlike: new Set(failed.map(({ outcome }) => outcome)).size === 1, first: failed.at(-1) };
}

/** Resume as the first button, and what it will do. */
export function receiverActions(incident: IncidentDetailsBody, told: TroubledReceiver, ask: Ask): { button: Html; says: Html } {
  const { receiver, waiting } = told;
  const { name, health } = receiver;
  const button = resumeForm(receiver, ask, { back: `/incidents/${incident.id}`, word: 'Resume: try one event now' });
  if (!isHeld(receiver)) return { button: NOTHING, says: NOTHING };
  const rest = Math.max(waiting.count - 1, 0);
  const others = rest === 1 ? 'the other one follows' : `the other ${number(rest)} follow`;
  const order = isForPeople(receiver) ? 'as one message' : 'in order, few at once at first';
  const long =
    waiting.drain === null || isForPeople(receiver)
      ? ''
      : `: about ${humanDuration(waiting.drain.ms)} at the ${pace(waiting.drain.perSecond)} measured lately`;
  const then = rest === 0 ? '' : `If it is taken, ${others} ${order}${long}. `;
  const first = humanDuration(pauseAfter(0));
  const refused =
    health.status === 'unreached'
      ? 'If it is not reached, nothing is lost and it is tried again.'
      : `If not, ${FAILURES_TO_PAUSE} failures in a row pause ${name} again, for ${first} at first.`;
  return { button, says: html`<p class="small" id="resume-says">${tied(`${then}${refused}`)}</p>` };
}

const pace = (perSecond: number): string =>
  perSecond >= 1 ? `${number(Math.round(perSecond))} a second` : `${number(Math.max(Math.round(perSecond * 60), 1))} a minute`;

/** The answer, the attempts with the ladder of pauses, and what is parked. */
export function receiverPanels(told: TroubledReceiver, ask: Ask): Html {
  return html`${answer(told, ask)}${attempts(told)}${parked(told, ask)}`;
}

function answer({ waiting: { lastAnswer }, attempts: all, tried }: TroubledReceiver, { base, now }: Ask): Html {
  const failed = all.find(({ outcome }) => outcome !== 'delivered');
  if (lastAnswer === null && failed === undefined) return NOTHING;
  const at = (lastAnswer ?? failed!).at;
  const { row, isAlike } = inARow(all);
  const note = html`${row > 1 && isAlike ? `the same ${row}${row < MOST_DRAWN ? '' : ' or more'} times in a row, last ` : ''}${when(at, now)}`;
  const order = tried?.purchaseId ?? null;
  const foot =
    tried === null
      ? undefined
      : html`<a href="${base}/deliveries/${tried.id}">The event that was tried: ${tried.event.type}${order !== null && html` of <span class="id">${written(order)}</span>`}</a>`;
  return answerPanel({ text: lastAnswer?.text ?? null, note, foot });
}

function attempts({ attempts: all, receiver }: TroubledReceiver): Html {
  if (all.length === 0) return NOTHING;
  const hasLadder = receiver.health.failures > 0 && !isForPeople(receiver);
  return panel({
    id: 'tries',
    title: 'Attempts and pauses',
    body: html`<div class="body stack">${attemptsPicture(all.toReversed(), MOST_DRAWN)}${hasLadder && ladder(receiver)}</div>`,
  });
}

function parked({ waiting, receiver }: TroubledReceiver, { base, now }: Ask): Html {
  const { count, atLeast, types, untyped } = waiting;
  if (count === 0) return NOTHING;
  const typed = Math.max(count - untyped, 1);
  const span = waiting.oldest === null ? 0 : now - Date.parse(waiting.oldest);
  const query = new URLSearchParams({ subscriber: receiver.name, status: isHeld(receiver) ? 'parked' : 'pending' });
  const row = ({ type, count: many, oldest }: SubscriberWaitingBody['types'][number]): Html =>
    html`<tr id="row-${type}"><th scope="row">${type}</th><td class="num end">${number(many)}</td><td class="pic wide"><svg class="share-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="h-bar" width="${Math.max((many / typed) * 100, 0.8).toFixed(1)}" height="10"/></svg></td><td class="num end" data-l="oldest">${momentTime(Date.parse(oldest), span)}</td></tr>`;
  const rest = untyped === 0 ? undefined : html`By type: the oldest ${number(count - untyped)} of them.`;
  return panel({
    id: 'parked',
    title: isHeld(receiver) ? 'What is parked' : 'What waits',
    note: html`${atLeast ? 'at least ' : ''}${number(count)} at ${clockTime(now)}`,
    right: html`<a href="${base}/deliveries?${query.toString()}">Open as a list</a>`,
    body: html`<table class="cards fits parked-types"><thead><tr><th scope="col">Event</th><th scope="col" class="num">Number</th><th scope="col">Share</th><th scope="col" class="num">Oldest</th></tr></thead><tbody data-still>${types.map(row)}</tbody></table>`,
    foot: rest,
  });
}

/** The figures beside. */
export function receiverNumbers({ receiver, waiting, others }: TroubledReceiver, { base, now }: Ask): Html {
  const { name, health } = receiver;
  const troubled = others.filter((each) => each.health.status !== 'ok').map((each) => `${each.name} is ${each.health.status}`);
  const peers =
    others.length === 0 ? 'there is no other' : troubled.length === 0 ? 'all take what they are sent' : troubled.join(', ');
  const isPeople = isForPeople(receiver);
  return factsPanel('numbers', 'Numbers', [
    [
      isHeld(receiver) ? 'Parked' : 'Waiting',
      html`${waiting.atLeast ? 'at least ' : ''}${number(waiting.count)}<small>${waiting.atLeast ? 'counted so far' : 'counted, not estimated'}</small>`,
    ],
    ['Oldest', waiting.oldest === null ? 'none waits' : since(waiting.oldest, now)],
    [
      'Failures in a row',
      html`${number(health.failures)}<small>${isPeople ? 'it is never switched off for them' : `at ${FAILURES_TO_SWITCH_OFF} it is switched off`}</small>`,
    ],
    ['Took one last', when(waiting.deliveredAt, now)],
    waiting.givenUp > 0 && [
      'Given up',
      html`<a href="${base}/deliveries?${new URLSearchParams({ subscriber: name, status: 'exhausted' }).toString()}">${waiting.givenUpAtLeast ? 'at least ' : ''}${number(waiting.givenUp)}</a><small>not sent again by themselves: <a href="${base}/subscribers/${encodeURIComponent(name)}#retry">retry them</a></small>`,
    ],
    ['Other receivers', tied(peers)],
    ['Kept', isPeople ? 'for three days' : html`until it takes them<small>one whose own tries are used up is given up</small>`],
  ]);
}
