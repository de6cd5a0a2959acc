/** The customers of an incident of stuck purchases: how their share went over time, and who waits now. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentDetailsBody, ListedIncidentBody } from '../../../api/incidents/fields.ts';
import { statePlace } from '../../../domain/purchases/states.ts';
import { apart, counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel, written } from '../../parts/lists.ts';
import { stateCell } from '../../parts/states.ts';
import { clockTime, since } from '../../parts/time.ts';
import { sharePicture } from '../../pictures/share.ts';

/** The rest is in the list of purchases. */
const MOST_SHOWN = 20;

/** The picture; nothing for incidents of several states or sites, whose parts have one each. */
export function share({ alarm, state, where }: IncidentDetailsBody, { came }: IncidentCustomersBody): Html {
  if (came === null) return NOTHING;
  const last = came.share.at(-1);
  const known =
    last === undefined ? 'No outcome is known from this time.' : `${last.overdue} of the latest ${last.of} customers got stuck.`;
  const marks = alarm === null ? null : { first: Date.parse(alarm.since), noticed: Date.parse(alarm.at) };
  const label = `Share of customers who got stuck, from ${clockTime(Date.parse(came.from))} to ${clockTime(Date.parse(came.until))}. ${known}${marks === null ? '' : ` The first of them came at ${clockTime(marks.first)}; it was noticed at ${clockTime(marks.noticed)}.`}`;
  const missing = came.isComplete
    ? NOTHING
    : html`<p class="small">Only the purchases registered last in this time are drawn: there are too many to draw all.</p>`;
  return panel({
    id: 'share',
    title: 'Share of customers who did not get on in time',
    note: `of the latest 20 ${state === null ? 'in the state' : statePlace(state.value)}, ${where}`,
    body:
      came.stays.length === 0
        ? nothingHere('No purchase that came in this time is kept any more.')
        : html`<figure class="fig body">${sharePicture({ came, marks, usual: alarm?.usualShare ?? null, label })}${missing}</figure>`,
  });
}

/** `16 482.50 SEK`, and for how many orders no amount is known. */
export function moneyWaiting({ waiting, unpriced, atLeast }: NonNullable<ListedIncidentBody['money']>): Html {
  const sums = waiting.map(({ amount, currency }) => tied(`${apart(amount)} ${currency}`));
  const unknown =
    unpriced === 0
      ? NOTHING
      : html`<small>${sums.length === 0 ? '' : 'and '}${counted(unpriced, 'order')} without a known amount</small>`;
  return html`${atLeast ? 'at least ' : ''}${sums.length > 0 ? sums.join(', ') : unpriced > 0 ? 'not known' : 'none'}${unknown}`;
}

/** Who waits now, the longest first. */
export function waiting(incident: IncidentDetailsBody, customers: IncidentCustomersBody, { base, now }: Ask): Html {
  const { data, counted: count, atLeast } = customers;
  if (incident.kind !== 'stuck' || incident.endedAt !== null) return NOTHING;
  if (data.length === 0)
    return panel({
      id: 'customers',
      title: 'Customers in it',
      body: nothingHere('No purchase is stuck there now. It ends when that lasts.'),
    });
  const { site, state } = incident;
  const shown = data.slice(0, MOST_SHOWN);
  const query = new URLSearchParams({
    stuck: 'true',
    ...(site === null ? {} : { site }),
    ...(state === null ? {} : { state: state.name }),
  });
  const isOne = site !== null && state !== null;
  const row = ({
    purchaseId,
    site: at,
    state: is,
    reference,
    orderReference,
    price,
    currency,
    stateSince,
    stuckSince,
  }: IncidentCustomersBody['data'][number]): Html =>
    html`<tr id="row-${at}-${purchaseId}"><th scope="row" class="nowrap">${icon('stuck', 'stuck')} <a class="id" href="${base}/purchases/${encodeURIComponent(at)}/${encodeURIComponent(purchaseId)}">${written(purchaseId)}</a></th>${isOne ? NOTHING : html`<td data-l="in">${stateCell(is, at)}</td>`}<td class="hide">${(reference ?? orderReference) === null ? html`<span class="mute">not known</span>` : written(reference ?? orderReference ?? '')}</td><td class="num" data-l="amount">${price === null ? html`<span class="mute">not known</span>` : tied(`${apart(price)} ${currency ?? ''}`)}</td><td class="num wide left" data-l="there for">${since(stateSince, now)}<small>stuck for ${since(stuckSince, now)}</small></td></tr>`;
  const table = html`<table class="cards"><thead><tr><th scope="col">Purchase</th>${isOne ? NOTHING : html`<th scope="col">State</th>`}<th scope="col">Order</th><th scope="col" class="num">Amount</th><th scope="col" class="num">In the state</th></tr></thead><tbody data-still>${shown.map(row)}</tbody></table>`;
  return panel({
    id: 'customers',
    title: 'Customers in it',
    note: `${counted(count, 'purchase')}${atLeast ? ' or more' : ''} stuck now, the longest waiting first`,
    right: html`<a href="${base}/purchases?${query.toString()}">Open as a list</a>`,
    body: table,
    ...(count > shown.length && {
      foot: html`<span>${number(count - shown.length)}${atLeast ? ' or more' : ''} more are stuck.</span>`,
    }),
  });
}
