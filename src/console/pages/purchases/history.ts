/** The history of a purchase, as tables: its events with their deliveries, and its states. */
import type { ExplanationBody } from '../../../api/purchases/explanation-body.ts';
import type { DeliveryBody } from '../../../api/subscribers/fields.ts';
import { checkoutEnd, stateWords } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, number } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { purchasePath } from '../../parts/purchases.ts';
import { deliveryMark } from '../../parts/receivers.ts';
import { beside } from '../../parts/states.ts';
import { length, momentTime, when } from '../../parts/time.ts';
import { type Stay, staysOf, stayText } from '../../pictures/stays.ts';
import type { Known } from './read.ts';

/** Rows of each table; a purchase may go to and fro for long. */
const MOST_ROWS = 200;

type Step = ExplanationBody['steps'][number];

/** Each event, and what became of it for each subscriber. */
export function eventsPanel({ why, deliveries, purchase }: Known, ask: Ask): Html {
  const events = why.steps.filter(({ eventId, kind }) => eventId !== undefined && kind !== 'delivery' && kind !== 'attempt');
  const byEvent = Map.groupBy(deliveries, ({ event }) => event.id);
  const rows = events.slice(-MOST_ROWS);
  const body =
    rows.length === 0
      ? nothingHere('No event yet: the first good poll makes one.')
      : html`<div><table class="cards fits"><thead><tr><th scope="col" class="num">#</th><th scope="col">Event</th><th scope="col">At</th><th scope="col">Deliveries</th></tr></thead><tbody>${rows.map((step) => eventRow(step, byEvent.get(step.eventId ?? '') ?? [], ask))}</tbody></table></div>`;
  const path = `${ask.base}${purchasePath(purchase)}`;
  const again = ask.mayOperate && deliveries.length > 0 && sendAgain(deliveries, path);
  const note = rows.length < events.length ? `the latest ${number(MOST_ROWS)}` : counted(events.length, 'event');
  return panel({ id: 'events', title: 'Events and deliveries', note, body: html`${body}${again}` });
}

function eventRow({ sequence, text, type, at }: Step, deliveries: readonly DeliveryBody[], ask: Ask): Html {
  return html`<tr id="row-event-${sequence ?? ''}"><td class="num hide">${sequence ?? ''}</td><th scope="row" class="wide">${text}<small>${type ?? ''}</small></th><td class="nowrap">${at === null ? '' : when(at, ask.now)}</td>
<td class="wide">${deliveries.length === 0 ? html`<span class="mute">none</span>` : [...deliveries].reverse().map((each) => html`<div>${deliveryMark(each, each.status.replace('_', ' '))} <a href="${ask.base}/deliveries/${each.id}">${each.subscriber}</a><small>${deliveryText(each)}</small></div>`)}</td></tr>`;
}

function deliveryText({ status: is, tries, lastError, reason, createdAt, settledAt }: DeliveryBody): string {
  const attempts = tries > 1 ? counted(tries, 'attempt') : '';
  const after =
    is === 'delivered' && settledAt !== null ? `after ${length(Math.max(Date.parse(settledAt) - Date.parse(createdAt), 0))}` : '';
  // Why a receiver gets nothing stands above, once for all events.
  const why = is === 'delivered' ? '' : (lastError ?? (is === 'parked' ? '' : (reason ?? '')));
  return [[attempts, after].filter((text) => text !== '').join(', '), why].filter((text) => text !== '').join(': ');
}

/** One delivery that is sent again, whatever became of it. */
function sendAgain(deliveries: readonly DeliveryBody[], path: string): Html {
  const option = ({ id, sequence, event, subscriber, status: is }: DeliveryBody): Html =>
    html`<option value="${id}">${sequence ?? ''} ${event.type} to ${subscriber}, ${is.replace('_', ' ')}</option>`;
  return html`<details id="send-again" class="same"><summary>Send an event again</summary><form class="body fields" method="post" action="${path}/send-again"><label class="grow">Delivery <select name="delivery">${deliveries.slice(0, MOST_ROWS).map(option)}</select></label><button class="btn">Send 1 delivery again</button></form>
<p class="small body">The subscriber gets it once more, with the same id and bytes; receivers that drop repeats by webhook-id take no notice.</p></details>`;
}

/** Each stay in a state, with the interval in which it began and how long it lasted. */
export function statesPanel({ why, purchase }: Known, { now }: Ask): Html {
  const stuckAt = why.steps.filter(({ kind, at }) => kind === 'stuck' && at !== null).map(({ at }) => Date.parse(at!));
  const all = staysOf(purchase.transitions, stuckAt);
  const stays = all.slice(-MOST_ROWS);
  const span = all.length === 0 ? 0 : now - all[0]!.came.notAfter;
  const time = (at: number): Html => momentTime(at, span);
  const row = (stay: Stay): Html => {
    const { state, came, left, stuckAt: stuck } = stay;
    const limit = left === null && purchase.limit !== null ? purchase.limit.text : null;
    return html`<tr id="row-state-${stay.sequence}"><th scope="row" class="wide">${stateShape(stay)}${beside(state)}</th><td data-l="not before">${came.notBefore === null ? html`<span class="mute">not known</span>` : time(came.notBefore)}</td><td data-l="not after">${time(came.notAfter)}</td>
<td class="num left wide stayed" data-l="stayed">${stayText(stay, Date.parse(why.at))}${left === null && checkoutEnd(state.value) !== null ? ', final' : ''}${stuck !== null && html`<small>found stuck at ${time(stuck)}</small>`}${limit !== null && html`<small>${limit}</small>`}</td></tr>`;
  };
  const body =
    stays.length === 0
      ? nothingHere('No state was seen yet.')
      : html`<div><table class="cards fits"><thead><tr><th scope="col">State</th><th scope="col">Not before</th><th scope="col">Not after</th><th scope="col" class="num">Stayed</th></tr></thead><tbody>${stays.map(row)}</tbody></table></div>`;
  const note = `when each change can have happened${stays.length < all.length ? `; the latest ${number(MOST_ROWS)}` : ''}`;
  return panel({ id: 'states', title: 'States', note, body });
}

function stateShape({ state, stuckAt }: Stay): Html {
  const words = stateWords(state.value);
  if (stuckAt !== null) return status('stuck', words);
  const end = checkoutEnd(state.value);
  if (end === null) return status('waiting', words);
  return end === 'paid' ? status('ok', words, 'paid') : status('final', words);
}
