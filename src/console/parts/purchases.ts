/** How a purchase is shown everywhere: its address, its state in word and shape, its amount. */
import type { PurchaseBody } from '../../api/purchases/purchase-body.ts';
import { checkoutEnd, stateWords } from '../../domain/purchases/states.ts';
import { apart } from '../../domain/values/counts.ts';
import { isDecimal, type JsonValue, stringifyExact } from '../../domain/values/exact-json.ts';
import { type Html, html, tied } from '../frame/html.ts';
import { type Shape, status } from '../frame/icons.ts';
import { written } from './lists.ts';
import { beside } from './states.ts';

type Named = Pick<PurchaseBody, 'site' | 'purchaseId'>;

/** Path of a purchase's page, below the console's base. */
export function purchasePath({ site, purchaseId }: Named): string {
  return `/purchases/${encodeURIComponent(site)}/${encodeURIComponent(purchaseId)}`;
}

/** A link to a purchase, with its id as text. */
export function purchaseLink(purchase: Named, base: string): Html {
  return html`<a class="id" href="${base}${purchasePath(purchase)}">${written(purchase.purchaseId)}</a>`;
}

type Standing = Pick<PurchaseBody, 'status' | 'state' | 'stuckSince'>;

/** Kind and shape of where a purchase stands. */
export function markOf({ status: is, state, stuckSince }: Standing): readonly [kind: Shape, shape: Shape] {
  if (stuckSince !== null) return ['stuck', 'stuck'];
  if (is === 'unreadable') return ['warning', 'warning'];
  if (is === 'stopped' || is === 'expired') return ['off', 'off'];
  if (is === 'watching') return ['waiting', 'waiting'];
  return state !== null && checkoutEnd(state.value) === 'paid' ? ['ok', 'paid'] : ['final', 'final'];
}

/** The purchase's state with its shape and its name beside it; the status, too, where it is polled in another way than others. */
export function stateStatus(purchase: Standing): Html {
  const [kind, shape] = markOf(purchase);
  const words = purchase.state === null ? 'not seen yet' : stateWords(purchase.state.value);
  const more = purchase.status === 'watching' || purchase.status === 'settled' ? '' : `, ${purchase.status}`;
  return html`${status(kind, `${words}${more}`, shape)}${beside(purchase.state)}`;
}

/** A stored value as text: the digits that the service sent. */
export function valueText(value: JsonValue): string {
  if (value === null) return 'not known';
  if (isDecimal(value)) return value.rawJSON;
  return typeof value === 'object' ? stringifyExact(value) : String(value);
}

/** `1 249.00 SEK`; null while the price is not known. */
export function amountOf({ price, currency }: Pick<PurchaseBody, 'price' | 'currency'>): string | null {
  if (price === null) return null;
  return tied(`${apart(valueText(price))}${currency === null ? '' : ` ${valueText(currency)}`}`);
}
