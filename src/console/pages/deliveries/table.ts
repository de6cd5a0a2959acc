/** Deliveries as a table, with the links to go on to older ones. */
import type { DeliveryBody } from '../../../api/subscribers/fields.ts';
import { type Listed, queryOf } from '../../frame/api-calls.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { written } from '../../parts/lists.ts';
import { deliveryMark } from '../../parts/receivers.ts';
import { when } from '../../parts/time.ts';

export type DeliveryPage = Listed<DeliveryBody>;

/** Deliveries, newest first. `hasSubscriber`: whether they are of several subscribers. */
export function deliveryTable(
  { data }: DeliveryPage,
  { base, now }: Pick<Ask, 'base' | 'now'>,
  { hasSubscriber }: { hasSubscriber: boolean },
): Html {
  const row = (each: DeliveryBody): Html => {
    const { id, event, purchaseId, site, subscriber, createdAt, tries, reason, lastError } = each;
    // Why a subscriber gets nothing is said once, on its page; a row says what became of this delivery.
    const trouble = each.status === 'parked' ? lastError : (reason ?? lastError);
    const to =
      hasSubscriber &&
      html`<td data-l="to"><a href="${base}/subscribers/${encodeURIComponent(subscriber)}">${subscriber}</a></td>`;
    return html`<tr id="row-${id}"><th scope="row"><a href="${base}/deliveries/${id}">${id}</a></th>
<td>${deliveryMark(each)}${each.replayed && html` <span class="mute">replayed</span>`}${tries > 1 && html`<small>${tries} attempts</small>`}</td>${to}
<td class="wide">${event.type}${trouble !== null && html`<small class="why"><bdi>${trouble}</bdi></small>`}</td>
<td>${purchaseId === null ? html`<span class="mute">none</span>` : html`<a class="id" href="${base}/purchases/${encodeURIComponent(site ?? '')}/${encodeURIComponent(purchaseId)}">${written(purchaseId)}</a>`}</td>
<td>${when(createdAt, now)}</td></tr>`;
  };
  const head = ['Delivery', 'Status', ...(hasSubscriber ? ['To'] : []), 'Event', 'Purchase'];
  return html`<table class="cards deliveries"><thead><tr>${head.map((word) => html`<th scope="col">${word}</th>`)}<th scope="col">Happened</th></tr></thead><tbody data-still>
${data.map(row)}</tbody></table>`;
}

/** Links to older deliveries and back to the newest; undefined where all of them are shown. */
export function olderLinks(
  { nextCursor }: DeliveryPage,
  { path, query }: { path: string; query: Ask['query'] },
): Html | undefined {
  if (nextCursor === null && query.cursor === undefined) return undefined;
  const { cursor: _, ...filters } = query;
  const newest = query.cursor !== undefined && html`<a href="${path}${queryOf(filters)}">Newest</a>`;
  const older = nextCursor !== null && html`<a href="${path}${queryOf({ ...filters, cursor: nextCursor })}" rel="next">Older</a>`;
  return html`${newest}${older}`;
}
