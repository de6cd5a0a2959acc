/** Purchases as the API shows them. */
import type { Purchase } from './contract.ts';
import { decimalText, type JsonObject } from './json.ts';

/** A parsed body as a purchase. */
export function purchaseOf<P extends Purchase>(body: JsonObject): P {
  return { ...body, price: decimalText(body.price) } as unknown as P;
}
