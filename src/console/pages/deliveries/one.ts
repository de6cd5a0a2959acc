/** One delivery: where it stands, each attempt with its answer, and the event that it brings. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { DeliveryDetailsBody } from '../../../api/subscribers/fields.ts';
import { slackMessage } from '../../../channels/slack/message.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type JsonValue, stringifyExact } from '../../../domain/values/exact-json.ts';
import { sentence as sentenceOf } from '../../../domain/values/sentence.ts';
import { type ApiRefusal, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import { answerPanel } from '../../parts/answers.ts';
import { heldText, RESUMED, resumeForm } from '../../parts/held.ts';
import { alertNote, factsPanel, flash, panel, written } from '../../parts/lists.ts';
import { slackCard } from '../../parts/messages/slack-card.ts';
import { deliveryMark, isHeld, type Receiver, took } from '../../parts/receivers.ts';
import { length, when } from '../../parts/time.ts';
import { attemptsPanel } from './attempts.ts';

export const deliveryPages = [
  page('/deliveries/:id', (ask) => view(ask)),
  action('/deliveries/:id/retry', async (ask) => {
    try {
      await ask.api.send('POST', `${pathOf(ask)}/retry`);
    } catch (error) {
      return view(
        ask,
        refusalIn(error, ({ status, code }) => status < 500 && code !== 'delivery_not_found'),
      );
    }
    return { goTo: `/deliveries/${encodeURIComponent(ask.params.id!)}?done=retry` };
  }),
];

const pathOf = ({ params }: Ask): string => `/v1/deliveries/${encodeURIComponent(params.id!)}`;

async function view(ask: Ask, refusal: ApiRefusal | null = null): Promise<View> {
  const { api, base, query, now } = ask;
  const [delivery, event] = await Promise.all([
    api.get<DeliveryDetailsBody>(pathOf(ask)),
    api.get<JsonValue>(`${pathOf(ask)}/event`),
  ]);
  const { id, attempts, answer } = delivery;
  const { subscribers } = await api.get<Pick<OverviewBody, 'subscribers'>>('/v1/overview');
  const receiver = subscribers.find(({ name }) => name === delivery.subscriber);
  const done = doneText(query.done, delivery);
  const failed = answer ?? attempts.findLast(({ outcome }) => outcome !== 'delivered');
  const whole =
    failed !== undefined &&
    answerPanel({
      text: answer?.text ?? null,
      note: html`to attempt ${failed.number}, ${when(failed.at, now)}`,
    });
  const body = html`<div class="head"><p>${deliveryMark(delivery)}</p><h1 class="say">${sentence(delivery)}</h1>${second(delivery, receiver, now)}
${actions(delivery, receiver, ask)}</div><div class="stack">${done !== null && flash(done)}${alertNote(refusal?.message)}
<div class="two"><div class="stack">${whole}${attemptsPanel(delivery, now)}
${panel({ id: 'event', title: 'Event', note: delivery.event.id, right: COPY_EVENT, body: html`<div class="body"><pre class="answer" id="event-json" tabindex="0" role="region" aria-label="The event as JSON">${JSON.stringify(event, null, 2)}</pre></div>` })}</div>
<div class="stack">${aboutPanel(delivery, ask)}${delivery.subscriber.startsWith('@') && panel({ id: 'shown', title: 'As Slack shows it', body: slackCard(slackMessage(stringifyExact(event), { consoleUrl: null })) })}</div></div></div>`;
  return {
    title: `Delivery ${id}`,
    place: 'deliveries',
    crumb: html`<a href="${base}/deliveries">Deliveries</a> / ${id}`,
    body,
    ...(refusal !== null && { status: refusal.status }),
  };
}

const COPY_EVENT = html`<button class="btn" type="button" data-copy="event-json">Copy<span class="vh"> the event</span></button>`;

/** The sentence about the act that was just done, by the word in the address. */
function doneText(done: string | undefined, delivery: DeliveryDetailsBody): string | null {
  if (done === 'retry') return tied(`${delivery.id} was made due now: ${standing(delivery)}`);
  return done === 'resumed' ? RESUMED : null;
}

/** The outcome of a delivery so far, in a sentence. */
function sentence({ id, subscriber, status, tries, settledAt, attempts }: DeliveryDetailsBody): Html {
  const to = html`<bdi>${subscriber}</bdi>`;
  const after = tries === 1 ? 'at the first attempt' : `at attempt ${tries}`;
  switch (status) {
    case 'delivered': {
      const last = attempts.at(-1);
      return html`${to} took ${id} ${after}${last === undefined ? '' : `, within ${took(last.tookMs)}`}.`;
    }
    case 'exhausted':
      return html`${to} did not take ${id} in ${counted(tries, 'attempt')}. It is not sent again by itself.`;
    case 'suppressed':
      return html`${id} was not sent to ${to}${settledAt === null ? '' : ', and is not'}.`;
    case 'parked':
      return html`${id} is parked until ${to} gets events again. It is not lost.`;
    case 'in_flight':
      return html`${id} is being sent to ${to} now.`;
    default:
      return tries === 0
        ? html`${id} waits for its turn to be sent to ${to}.`
        : html`${to} did not take ${id} in ${counted(tries, 'attempt')}; it is tried again.`;
  }
}

/** Why, and when it goes on. Of a subscriber that gets nothing, that comes first. */
function second(delivery: DeliveryDetailsBody, receiver: Receiver | undefined, now: number): Html {
  const { reason, lastError, dueAt, replayed } = delivery;
  if (delivery.status === 'parked' && receiver !== undefined && isHeld(receiver)) {
    const { lastError: last, ourError } = receiver.health;
    const why = lastError ?? last ?? ourError ?? receiver.statusReason;
    return html`<p class="sub">${why !== null && html`<bdi>${endOf(why)}</bdi> `}${heldText(receiver, now)}</p>`;
  }
  const due = dueAt !== null && delivery.status !== 'parked' && html` Due ${when(dueAt, now)}.`;
  const why = reason ?? lastError;
  const turn = replayed && dueAt !== null && html` It was replayed, so it goes after all that is new.`;
  if (why === null && dueAt === null) return NOTHING;
  return html`<p class="sub">${why !== null && html`<bdi>${endOf(why)}</bdi>`}${due}${turn}</p>`;
}

/** With a full stop, which a reason from elsewhere may lack. */
function endOf(text: string): string {
  const begun = sentenceOf(text);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

function standing({ status, reason }: DeliveryDetailsBody): string {
  if (status === 'delivered') return 'the receiver took it again.';
  return reason === null ? `it is ${status} now.` : `it is ${status}, ${endOf(reason)}`;
}

/** The acts that a person may do, each with its effect at the moment. */
function actions(delivery: DeliveryDetailsBody, receiver: Receiver | undefined, ask: Ask): Html {
  const { id, subscriber, status, settledAt } = delivery;
  if (!ask.mayOperate) return html`<p class="small">A key with the scope operate can send this again.</p>`;
  if (receiver === undefined)
    return html`<p class="small">${subscriber} gets nothing any more, so this cannot be sent again: the settings do not name it.</p>`;
  const held = isHeld(receiver);
  const again = html`<form method="post" action="${ask.base}/deliveries/${id}/retry"><button class="btn${held ? '' : ' first'}" aria-describedby="again">Send this 1 delivery again</button></form>`;
  const same = `the same id and bytes, to ${subscriber} alone; receivers drop repeats by webhook-id`;
  const { parked } = receiver.waiting;
  const others = settledAt === null ? parked - 1 : parked;
  const waits = `${others > 0 ? ` with ${counted(others, 'other', 'others', receiver.waiting.atLeast ? others : null)}` : ''}`;
  const until = receiver.health.status === 'off' ? 'it is switched on' : 'it takes events again';
  const text = !held
    ? `Sends ${same}.`
    : status === 'parked'
      ? `It waits already${waits}. Sending it again begins its schedule again, and nothing is sent before ${until}: resume ${subscriber} to have it sent.`
      : `Makes it due with ${same}. Nothing is sent before ${until}: it waits there${waits}.`;
  return html`<div class="acts">${resumeForm(receiver, ask, { back: `/deliveries/${id}` })}${again}</div><p class="small" id="again">${tied(text)}</p>`;
}

function aboutPanel(delivery: DeliveryDetailsBody, { base, now }: Ask): Html {
  const { subscriber, event, purchaseId, site, sequence, createdAt, settledAt } = delivery;
  const purchase =
    purchaseId === null
      ? 'of no single purchase'
      : html`<a class="id" href="${base}/purchases/${encodeURIComponent(site ?? '')}/${encodeURIComponent(purchaseId)}">${written(purchaseId)}</a>${sequence !== null && html`<small>its event ${sequence}</small>`}`;
  return factsPanel('facts', 'What it is', [
    ['To', html`<a href="${base}/subscribers/${encodeURIComponent(subscriber)}">${written(subscriber)}</a>`],
    ['Type', html`${event.type}<small><a href="${base}/deliveries?event=${event.id}">all deliveries of this event</a></small>`],
    ['Purchase', purchase],
    ['Happened', when(createdAt, now)],
    [
      'Settled',
      settledAt === null
        ? 'not yet'
        : html`${when(settledAt, now)}<small>${length(Math.max(Date.parse(settledAt) - Date.parse(createdAt), 0))} after it happened</small>`,
    ],
  ]);
}
