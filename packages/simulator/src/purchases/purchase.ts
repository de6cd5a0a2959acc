/** One purchase and its way through its life. Time only passes when a purchase is read, so a clock may stand still or jump. */

import type { PurchaseView, Site } from '../contract/purchases.ts';
import { nameOfState, STATE } from '../values/states.ts';
import type { Step } from './lives.ts';

export interface Purchase {
  readonly id: string;
  /** Counts from 1 in the order of creation: the cursor of `recent`. */
  readonly number: number;
  readonly site: Site;
  /** Everything made up about this purchase follows from this number. */
  readonly seed: number;
  readonly life: string;
  readonly paymentMethod: number;
  readonly price: string;
  readonly currency: string;
  readonly reference: string;
  readonly description: string;
  /** Where the page sends the customer's browser; null: nowhere. */
  readonly returnUrl: string | null;
  readonly createdAt: number;
  steps: readonly Step[];
  /** Index of the step that comes next. */
  next: number;
  state: number;
  enteredAt: number;
  /** Answers that showed the present state. */
  shown: number;
  /** When a customer who was kept by a broken page comes back, once it is fixed. */
  backAt: number | null;
  beingProcessedAt: number | null;
  completedAt: number | null;
  cancelledAt: number | null;
  /** Whether an answer has shown what the customer typed. */
  customerShown: boolean;
  readonly history: { readonly state: number; readonly at: number }[];
}

/** Whether the broken page of a site keeps customers in a state. */
export type Keeps = (site: Site, state: number) => boolean;

/** Lets everything happen that is due by now. */
export function advance(purchase: Purchase, now: number, keeps: Keeps): void {
  for (;;) {
    const step = purchase.steps[purchase.next];
    if (step === undefined) return;
    const at = dueAt(purchase, step, now);
    if (at > now) return;
    // The service ends a session without the customer, so a broken page does not prevent that.
    if (step.state !== STATE.SessionTimedOut && keeps(purchase.site, purchase.state)) return;
    purchase.next += 1;
    enter(purchase, step.state, at);
  }
}

/** When the customer is back from where a broken page kept them; call it when the page is fixed. */
export function comeBack(purchase: Purchase, now: number, wait: number): void {
  const step = purchase.steps[purchase.next];
  if (step === undefined || step.state === STATE.SessionTimedOut) return;
  if (step.after === null || dueAt(purchase, step, now) <= now) purchase.backAt = now + wait;
}

/** Puts a purchase into a state and ends its life there. */
export function putIntoState(purchase: Purchase, state: number, now: number): void {
  purchase.steps = [];
  purchase.next = 0;
  enter(purchase, state, now);
}

/** Whether nothing more will happen by itself. */
export function isFinished(purchase: Purchase): boolean {
  return purchase.next >= purchase.steps.length;
}

function dueAt(purchase: Purchase, step: Step, now: number): number {
  if (purchase.backAt !== null) return purchase.backAt;
  if (step.after === null) return Number.POSITIVE_INFINITY;
  if (step.afterPolls !== undefined) return purchase.shown >= step.afterPolls ? now : Number.POSITIVE_INFINITY;
  return purchase.enteredAt + step.after;
}

/** Enters a state, with the dates that the status object shows for it. */
export function enter(purchase: Purchase, state: number, at: number): void {
  purchase.state = state;
  purchase.enteredAt = at;
  purchase.shown = 0;
  purchase.backAt = null;
  if (state !== STATE.New && state !== STATE.SessionTimedOut) purchase.beingProcessedAt ??= at;
  if (state === STATE.Completed) purchase.completedAt = at;
  if (state === STATE.Cancelled) purchase.cancelledAt = at;
  purchase.history.push({ state, at });
}

/** The purchase as the controls show it. */
export function viewOf(purchase: Purchase): PurchaseView {
  return {
    purchaseId: purchase.id,
    number: purchase.number,
    site: purchase.site.code,
    life: purchase.life,
    state: { value: purchase.state, name: nameOfState(purchase.state) },
    stateSince: purchase.enteredAt,
    createdAt: purchase.createdAt,
    finished: isFinished(purchase),
    price: purchase.price,
    currency: purchase.currency,
    reference: purchase.reference,
    returnUrl: purchase.returnUrl,
    history: [...purchase.history],
  };
}
