/** How customers' checkouts ended, added up. Pure. */
import type { Share } from './compare.ts';

/** How a purchase ended, as it is counted. `again`: the customer came again, and is counted with the later purchase. */
export type CountedOutcome = 'paid' | 'paid_by_another' | 'again' | 'not_paid' | 'open';

/** The outcomes that a list of ended purchases may ask for. `customer`: of purchases that stand for a customer each; `counted`: all but `again`. */
export const LISTED_ENDS = {
  customer: ['paid', 'not_paid', 'open'],
  counted: ['paid', 'paid_by_another', 'not_paid', 'open'],
  paid: ['paid'],
  paid_by_another: ['paid_by_another'],
  not_paid: ['not_paid'],
  open: ['open'],
} as const satisfies Readonly<Record<string, readonly CountedOutcome[]>>;
export type ListedEnd = keyof typeof LISTED_ENDS;

const CUSTOMER_OUTCOMES: readonly CountedOutcome[] = LISTED_ENDS.customer;

export interface OutcomeCount {
  readonly outcome: CountedOutcome;
  readonly customers: number;
  /** How many of them were deleted since, so that no list has them any more. */
  readonly gone: number;
  /** A poll found them stuck at some time; left out where that is not counted apart. */
  readonly wasStuck?: boolean;
}

/** Purchases by how they ended. */
export interface Ends {
  readonly paid: number;
  /** Customers of `paid` who had been stuck before. */
  readonly paidLate: number;
  /** The customer paid with another purchase, and is counted there. */
  readonly paidByAnother: number;
  readonly notPaid: number;
  /** Given up or stopped before an end was seen. */
  readonly open: number;
  /** Customers who were stuck at some time. */
  readonly stuck: number;
  /** Purchases of these customers that were deleted since. */
  readonly gone: number;
}

export function endsOf(counts: readonly OutcomeCount[]): Ends {
  const sum = (matches: (count: OutcomeCount) => boolean, of = (count: OutcomeCount): number => count.customers) =>
    counts.reduce((total, count) => total + (matches(count) ? of(count) : 0), 0);
  const isCustomer = ({ outcome }: OutcomeCount): boolean => CUSTOMER_OUTCOMES.includes(outcome);
  return {
    paid: sum(({ outcome }) => outcome === 'paid'),
    paidLate: sum(({ outcome, wasStuck }) => outcome === 'paid' && wasStuck === true),
    paidByAnother: sum(({ outcome }) => outcome === 'paid_by_another'),
    notPaid: sum(({ outcome }) => outcome === 'not_paid'),
    open: sum(({ outcome }) => outcome === 'open'),
    stuck: sum((count) => isCustomer(count) && count.wasStuck === true),
    gone: sum(isCustomer, ({ gone }) => gone),
  };
}

/** Customers and those who paid: each once, however many purchases they began. */
export const customersOf = ({ paid, notPaid, open }: Pick<Ends, 'paid' | 'notPaid' | 'open'>): Share => ({
  customers: paid + notPaid + open,
  paid,
});
