/** Acts of a customer on the page of the checkout, and the states that follow. */
import { SimulatorError } from '../contract/error.ts';
import { CUSTOMER_ACTS, type CustomerAct, PAYMENT_METHOD } from '../contract/names.ts';
import { nameOfState, STATE } from '../values/states.ts';
import { SESSION_SECONDS, type Step } from './lives.ts';
import { enter, isFinished, type Purchase } from './purchase.ts';

/** Where a customer is while the payment is made, by payment method. */
const PAYS_IN: ReadonlyMap<number, number> = new Map([
  [PAYMENT_METHOD.card, STATE.WaitingForCardPayments],
  [PAYMENT_METHOD['mobile-payment'], STATE.WaitingForMobilePayment],
  [PAYMENT_METHOD['direct-payment'], STATE.WaitingForFinnishDirectPayment],
  [PAYMENT_METHOD.invoice, STATE.WaitingForIdentityProvider],
  [PAYMENT_METHOD.loan, STATE.WaitingForIdentityProvider],
  [PAYMENT_METHOD['part-payment'], STATE.WaitingForIdentityProvider],
  [PAYMENT_METHOD['business-invoice'], STATE.WaitingForIdentityProvider],
]);
/** States that no customer leaves. */
const ENDED: readonly number[] = [
  STATE.Completed,
  STATE.Error,
  STATE.SessionTimedOut,
  STATE.Cancelled,
  STATE.WaitingCreditApproval,
  STATE.CreditNotApproved,
  STATE.PaymentHandledByMerchant,
];

/** Whether the customer of a purchase in a state can still act. */
export function canActIn(state: number): boolean {
  return !ENDED.includes(state);
}

/**
 * Lets the customer of a purchase act at a moment. From then on the purchase has no life but this customer's: it times out when
 * the customer does nothing more. Throws SimulatorError when the purchase is over.
 */
export function act(purchase: Purchase, doing: CustomerAct, { now, timeScale }: { now: number; timeScale: number }): void {
  if (!CUSTOMER_ACTS.includes(doing)) {
    const detail = `is nothing that a customer does; give one of ${CUSTOMER_ACTS.join(', ')}`;
    throw new SimulatorError('invalid_request', detail, { field: 'does', value: doing });
  }
  const session: Step = { state: STATE.SessionTimedOut, after: Math.round((SESSION_SECONDS * 1_000) / timeScale) };
  if (doing === 'opens') {
    // A life of its own goes on by itself, also while a developer looks at its page.
    const isWaiting = purchase.life === 'waits-for-customer' || isFinished(purchase);
    if (purchase.state === STATE.New && isWaiting) goTo(purchase, STATE.BeingProcessed, now, [session]);
    return;
  }
  if (!canActIn(purchase.state)) {
    const detail = `purchase ${purchase.id} is in state ${nameOfState(purchase.state)}, in which no customer acts; negotiate another one`;
    throw new SimulatorError('purchase_ended', detail);
  }
  if (purchase.state === STATE.New) enter(purchase, STATE.BeingProcessed, now);
  if (doing === 'cancels') goTo(purchase, STATE.Error, now, []);
  else if (purchase.paymentMethod === PAYMENT_METHOD.external) goTo(purchase, STATE.PaymentHandledByMerchant, now, []);
  else {
    goTo(purchase, PAYS_IN.get(purchase.paymentMethod) ?? purchase.state, now, [session]);
    // A step, and not a state at once: a broken page keeps the customer.
    if (doing === 'pays') purchase.steps = [{ state: STATE.Completed, after: now - purchase.enteredAt }];
  }
}

function goTo(purchase: Purchase, state: number, now: number, then: readonly Step[]): void {
  if (purchase.state !== state) enter(purchase, state, now);
  purchase.backAt = null;
  purchase.steps = then;
  purchase.next = 0;
}
