/** The body of an event about a site or an incident, once a purchase that it names was erased. Pure. */

import { type JsonValue, parseExact, stringifyExact } from '../values/exact-json.ts';

/** In place of the Purchase ID. */
const ERASED = '(erased)';

type Fields = { readonly [key: string]: JsonValue };

/** A body with `ERASED` for the Purchase ID, and without the order and the money of that purchase; all else stays as it was announced. */
export function withoutPurchase(body: string, { site, purchaseId }: { site: string; purchaseId: string }): string {
  const event = parseExact(body) as { readonly data: Fields };
  const unnamed = (id: JsonValue): JsonValue => (id === purchaseId ? ERASED : id);
  const erased = (each: Fields): Fields =>
    each.purchaseId === purchaseId
      ? { ...each, purchaseId: ERASED, reference: null, orderReference: null, price: null, currency: null }
      : each;
  const checkout = (each: Fields): Fields => (each.site === site ? erased(each) : each);
  const payments = (all: readonly Fields[]): Fields[] => all.map(erased);
  const data = Object.entries(event.data).map(([key, value]): readonly [string, JsonValue] => {
    if (key === 'purchaseId') return [key, unnamed(value)];
    if (!Array.isArray(value)) return [key, value];
    if (key === 'purchases') return [key, value.map(unnamed)];
    // Payments are all of the event's site.
    if (key === 'payments' && event.data.site === site) return [key, payments(value)];
    if (key === 'orders' && event.data.site === site)
      return [key, (value as Fields[]).map((order) => ({ ...order, payments: payments(order.payments as Fields[]) }))];
    return [key, key === 'stuck' || key === 'over' ? value.map(checkout) : value];
  });
  return stringifyExact({ ...event, data: Object.fromEntries(data) });
}
