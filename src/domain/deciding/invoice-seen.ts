/** Results of asking for an invoice. */
import type { InvoiceFacts } from '../events/system-event-types.ts';
import type { Observation } from '../purchases/purchase.ts';

/** The result of asking for an invoice, once a poll showed that its purchase is completed. */
export type InvoiceSeen =
  | { readonly kind: 'invoice'; readonly facts: InvoiceFacts }
  /** The purchase is not completed, or it is and has no invoice, as far as this answer says. */
  | { readonly kind: 'not_completed' | 'not_eligible'; readonly detail: string }
  | Exclude<Observation, { kind: 'seen' | 'same' }>;

/** The same for a caller that only asks whether the service answers. */
export function observationOf(seen: InvoiceSeen): Observation {
  return 'reason' in seen ? seen : { kind: 'same' };
}
