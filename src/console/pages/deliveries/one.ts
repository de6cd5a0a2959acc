/** One delivery: where it stands, each attempt with its answer, and the event that it brings. */
import type { DeliveryDetailsBody } from '../../../api/subscribers/fields.ts';
import { slackMessage } from '../../../channels/slack/message.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type JsonValue, stringifyExact } from '../../../domain/values/exact-json.ts';
import { ApiRefusal } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import { facts, flash, nothingHere, panel, written } from '../../parts/lists.ts';
import { deliveryMark, excerptText, outcomeMark, took } from '../../parts/receivers.ts';
import { slackCard } from '../../parts/slack-card.ts';
import { length, when } from '../../parts/time.ts';
import { attemptsPicture } from '../../pictures/attempts.ts';

/** More would make the picture's bars too thin. */
const MOST_DRAWN = 72;

export const deliveryPages = [
  page('/deliveries/:id', (ask) => view(ask)),
  action('/deliveries/:id/retry', async (ask) => {
    try {
      await ask.api.send('POST', `${pathOf(ask)}/retry`);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status < 500 && error.code !== 'delivery_not_found') return view(ask, error);
      throw error;
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
  const { id, attempts } = delivery;
  const done = query.done === 'retry' ? flash(tied(`${id} was made due now: ${standing(delivery)}`)) : NOTHING;
  const refused =
    refusal === null
      ? NOTHING
      : html`<div class="note warning" role="alert">${icon('warning', 'warning')}<p>${refusal.message}</p></div>`;
  const last = attempts.slice(-MOST_DRAWN);
  const picture = attempts.length < 2 ? NOTHING : html`<div class="body">${attemptsPicture(last)}</div>`;
  const body = html`<div class="head"><p>${deliveryMark(delivery)}</p><h1 class="say">${sentence(delivery)}</h1>${second(delivery, now)}
${retryForm(delivery, ask)}</div><div class="stack">${done}${refused}
<div class="two"><div class="stack">${panel({
    id: 'attempts',
    title: 'Attempts',
    note: attempts.length === 0 ? '' : counted(attempts.length, 'attempt'),
    body:
      attempts.length === 0
        ? nothingHere('No attempt is recorded. It is made when the delivery has its turn.')
        : html`${picture}${attemptTable(delivery, now)}`,
  })}
${panel({ id: 'event', title: 'Event', note: delivery.event.id, body: html`<div class="copy"><pre tabindex="0" aria-label="The event as JSON"><code>${JSON.stringify(event, null, 2)}</code></pre></div>` })}</div>
<div class="stack">${factsPanel(delivery, ask)}${delivery.subscriber.startsWith('@') ? panel({ id: 'shown', title: 'As Slack shows it', body: slackCard(slackMessage(stringifyExact(event), { consoleUrl: null })) }) : NOTHING}</div></div></div>`;
  return {
    title: `Delivery ${id}`,
    place: 'deliveries',
    crumb: html`<a href="${base}/deliveries">Deliveries</a> / ${id}`,
    body,
    ...(refusal !== null && { status: refusal.status }),
  };
}

/** What became of it. */
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

function second(delivery: DeliveryDetailsBody, now: number): Html {
  const { reason, lastError, dueAt, replayed } = delivery;
  const due = dueAt === null || delivery.status === 'parked' ? NOTHING : html` Due ${when(dueAt, now)}.`;
  const why = reason ?? lastError;
  const turn = replayed && dueAt !== null ? html` It was replayed, so it goes after all that is new.` : NOTHING;
  if (why === null && dueAt === null) return NOTHING;
  return html`<p class="sub">${why === null ? NOTHING : html`<bdi>${endOf(why)}</bdi>`}${due}${turn}</p>`;
}

/** With a full stop, which a reason from elsewhere may lack. */
function endOf(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

function standing({ status, reason }: DeliveryDetailsBody): string {
  if (status === 'delivered') return 'the receiver took it again.';
  return reason === null ? `it is ${status} now.` : `it is ${status}, ${endOf(reason)}`;
}

function retryForm({ id, subscriber }: DeliveryDetailsBody, { base, mayOperate }: Ask): Html {
  if (!mayOperate) return html`<p class="small">A key with the scope operate can send this again.</p>`;
  return html`<form class="acts" method="post" action="${base}/deliveries/${id}/retry"><button class="btn first">Send this 1 delivery again</button><span class="small">With the same id and bytes, to ${subscriber} alone; receivers drop repeats by <code>webhook-id</code>.</span></form>`;
}

function attemptTable({ attempts }: DeliveryDetailsBody, now: number): Html {
  return html`<div class="scroll"><table class="cards"><thead><tr><th scope="col" class="num">No.</th><th scope="col">Ended</th><th scope="col">Outcome</th><th scope="col" class="num">Took</th><th scope="col">Answer began</th></tr></thead><tbody>
${attempts.map((each) => html`<tr><th scope="row" class="num left">${each.number}</th><td>${when(each.at, now)}</td><td>${outcomeMark(each)}</td><td class="num">${took(each.tookMs)}</td><td class="wide">${excerptText(each.excerpt)}</td></tr>`)}</tbody></table></div>`;
}

function factsPanel(delivery: DeliveryDetailsBody, { base, now }: Ask): Html {
  const { subscriber, event, purchaseId, site, sequence, createdAt, settledAt } = delivery;
  const purchase =
    purchaseId === null
      ? 'of no single purchase'
      : html`<a class="id" href="${base}/purchases/${encodeURIComponent(site ?? '')}/${encodeURIComponent(purchaseId)}">${written(purchaseId)}</a>${sequence === null ? NOTHING : html`<small>its event ${sequence}</small>`}`;
  return panel({
    id: 'facts',
    title: 'What it is',
    body: html`<div class="body">${facts([
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
    ])}</div>`,
  });
}
