/** One customer of an incident: order and amount first, then what the purchase is now. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { apart } from '../../../domain/values/counts.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { purchasePath } from '../../parts/purchases.ts';

type Purchase = Omit<IncidentCustomersBody['data'][number], 'stateSince' | 'stuckSince'>;

export interface Shown {
  readonly purchase: Purchase;
  readonly is: Html;
  readonly came: Html | string;
}

/** So much of an id at its beginning and end tells purchases apart. */
const [BEGIN, END] = [8, 4];

/** `232fd3e0…2a41`: the whole id is in the title and on the purchase's page. */
function shortId(id: string): string {
  return id.length <= BEGIN + END + 4 ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`;
}

/** `1 249.00 SEK`. */
function amount({ price, currency }: Pick<Purchase, 'price' | 'currency'>): Html {
  return price === null
    ? html`<span class="mute">amount not known</span>`
    : html`<b>${tied(`${apart(price)} ${currency ?? ''}`)}</b>`;
}

/** A row of the table. Site and state are shown where customers of several are in it. */
export function customerRow({ purchase, is, came }: Shown, of: { isOneSite: boolean; isOneState: boolean; ask: Ask }): Html {
  const { isOneSite, isOneState, ask } = of;
  const { purchaseId, site, state, reference, orderReference } = purchase;
  const order = reference ?? orderReference;
  const id = `${encodeURIComponent(site)}-${encodeURIComponent(purchaseId)}`;
  const places = [...(isOneSite ? [] : [site]), ...(isOneState ? [] : [stateWords(state.value)])].join(', ');
  const short = html`<bdi class="id" title="${purchaseId}">${shortId(purchaseId)}</bdi>`;
  return html`<tr id="row-${id}"><th scope="row"><a class="ord" href="${ask.base}${purchasePath(purchase)}"><bdi class="few-lines" title="${order ?? purchaseId}">${order ?? shortId(purchaseId)}</bdi></a><small>${order === null ? 'order not known' : short}</small></th>
<td class="num end">${amount(purchase)}</td><td class="full">${is}${places !== '' && html`<small><bdi>${places}</bdi></small>`}</td><td class="num end" data-l="came">${came}</td></tr>`;
}
