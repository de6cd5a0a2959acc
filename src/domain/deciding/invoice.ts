/**
 * Invoices of completed purchases: what events have of one, and what follows from asking for it. A purchase whose invoice is
 * wanted is due; its poll asks for the status as always and then, when that says Completed, for the invoice. Pure.
 */

import type { InvoiceFacts } from '../events/system-event-types.ts';
import { failureBackoff, policyOf, postponement, STRIKES_UNTIL_OWN_TROUBLE, withJitter } from '../polling/poll-plan.ts';
import type { Observation, Purchase, Trouble } from '../purchases/purchase.ts';
import { timeAfter } from '../values/clock-steps.ts';
import type { Instant } from '../values/time.ts';
import type { DecideContext } from './outcome.ts';

/** The specification's `Completed`: the only state that has invoices. */
export const COMPLETED = 2;

/** The changes that a poll makes to the invoice of its purchase. */
interface InvoiceStep {
  readonly invoice: NonNullable<Purchase['invoice']>;
  /** The facts to announce. */
  readonly ready: InvoiceFacts | null;
  /** When to ask again, no later; null when nothing is left to ask. */
  readonly again: Instant | null;
  readonly failures: number;
  readonly lastError: string | null;
}

type InvoiceContext = Pick<DecideContext, 'now' | 'policy' | 'spread' | 'strikes' | 'skipped' | 'invoices' | 'invoice'>;

/** So many failures in a row that are the purchase's own: about two hours with the usual plan. */
export const MOST_INVOICE_FAILURES = 8;
/** A call that found no place in the site's calls a second looks for one again after this. */
const NO_TURN = 1_000;

/** Whether a poll of a purchase whose invoice is wanted goes on to ask for it: only when no other event comes first. */
export function asksForInvoice({ invoice, state }: Purchase, seen: Observation): boolean {
  if (invoice !== 'wanted' || state !== COMPLETED) return false;
  return seen.kind === 'same' || (seen.kind === 'seen' && seen.state === COMPLETED);
}

/** The step that a good poll makes with the invoice; null when none is wanted. `seen` is the state that the poll showed. */
export function decideInvoice(before: Purchase, seen: number, context: InvoiceContext): InvoiceStep | null {
  const moved = before.state !== seen;
  const completes = moved && seen === COMPLETED && context.invoices === true && before.invoice !== 'ready';
  if (before.invoice !== 'wanted' && !completes) return null;
  if (seen !== COMPLETED) return over('none');
  const { now, spread, invoice = null } = context;
  // The event of the change comes first; whatever becomes of the invoice must not hold it up.
  if (moved) return { invoice: 'wanted', ready: null, again: now, failures: 0, lastError: null };
  if (invoice === null) return { ...over('wanted'), again: now + withJitter(NO_TURN, spread), failures: before.failures };
  switch (invoice.kind) {
    case 'invoice':
      return { ...over('ready'), ready: invoice.facts };
    case 'not_eligible':
    // The service knows the purchase, for it has just answered that the purchase is completed: it knows no invoice of it.
    case 'unknown':
      return over('none');
    case 'not_completed':
    case 'malformed':
      return tryAgain(before, { retryAfter: null, ...invoice }, context, true);
    // The pause that is asked for is one for all the site's polls, so where every call ends like this they must become rare.
    case 'throttled':
      return tryAgain(before, invoice, { ...context, strikes: STRIKES_UNTIL_OWN_TROUBLE }, false);
    default:
      return tryAgain(before, invoice, context, false);
  }
}

function tryAgain(
  before: Purchase,
  { detail, retryAfter }: Pick<Trouble, 'detail' | 'retryAfter'>,
  { now, policy, spread, strikes, skipped = [] }: InvoiceContext,
  own: boolean,
): InvoiceStep {
  const lastError = `The invoice could not be read. ${detail}`;
  const asked = now + (retryAfter ?? 0);
  if (!own && strikes < STRIKES_UNTIL_OWN_TROUBLE) {
    const again = Math.max(now + withJitter(postponement(strikes), spread), asked);
    return { ...over('wanted'), again, failures: before.failures, lastError };
  }
  const failures = before.failures + 1;
  // An outage of the invoices alone may last; an answer that is no invoice stays what it is.
  const givenUp = own
    ? failures >= MOST_INVOICE_FAILURES
    : now >= timeAfter(before.stateSince ?? now, policy.giveUpAfter, skipped);
  if (givenUp) return { ...over('none'), failures, lastError };
  const again = Math.max(now + failureBackoff(policyOf(policy, COMPLETED), failures, spread), asked);
  return { ...over('wanted'), again, failures, lastError };
}

function over(invoice: InvoiceStep['invoice']): InvoiceStep {
  return { invoice, ready: null, again: null, failures: 0, lastError: null };
}
