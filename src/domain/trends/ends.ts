/** How customers' checkouts ended, added up. Pure. */
import type { Share } from './compare.ts';

/** How a purchase ended, as it is counted. `again`: the customer came again, and is counted with the later purchase. */
export type CountedOutcome = 'paid' | 'paid_by_another' | 'again' | 'not_paid' | 'open';

export interface OutcomeCount {
  readonly outcome: CountedOutcome;
  readonly customers: number;
}

/** Purchases by how they ended. */
export interface Ends {
  readonly paid: number;
  /** The customer paid with another purchase, and is counted there. */
  readonly paidByAnother: number;
  readonly notPaid: number;
  /** Given up or stopped before an end was seen. */
  readonly open: number;
}

export function endsOf(counts: readonly OutcomeCount[]): Ends {
  const of = (outcome: CountedOutcome) => counts.reduce((sum, each) => sum + (each.outcome === outcome ? each.customers : 0), 0);
  return { paid: of('paid'), paidByAnother: of('paid_by_another'), notPaid: of('not_paid'), open: of('open') };
}

/** Customers and those who paid: each once, however many purchases they began. */
export const customersOf = ({ paid, notPaid, open }: Ends): Share => ({ customers: paid + notPaid + open, paid });
