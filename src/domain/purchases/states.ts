/**
 * The states a checkout purchase can be in, as the specification lists them (CheckOutPurchaseState, values 0 to 14).
 * The service has grown this list over time, so a number that is not here is data, never an error.
 */
import { HOUR, MINUTE, type Milliseconds, SECOND } from '../values/time.ts';

/** How one state is polled. */
export interface StatePolicy {
  readonly poll: { readonly first: Milliseconds; readonly growth: number; readonly most: Milliseconds };
  /** Null: a purchase is never stuck here. Where `auto` is set, what holds until a limit is learned. */
  readonly stuckAfter: Milliseconds | null;
  /** Whether the limit is learned from customers who got on (domain/stays/dwell.ts). */
  readonly auto: boolean;
  /** A final state is not polled, except for its rechecks. */
  readonly final: boolean;
  /** Polls after reaching a final state, each counted from its first observation. */
  readonly recheck: readonly Milliseconds[];
}

/** What a checkout came to in a final state: `lost` says nothing about whether the page works, `refused` that it does. */
export type CheckoutEnd = 'paid' | 'refused' | 'lost';

/** Why purchases may be stuck in a state, and what to look at first. */
export interface StateAdvice {
  /** Completes "37 purchases stuck …". */
  readonly place: string;
  readonly cause: string;
  readonly remedy: string;
}

interface State {
  /** The specification's meaning, in short. */
  readonly meaning: string;
  /** The default plan. */
  readonly plan: StatePolicy;
  /** Null where the purchase can still change. */
  readonly end: CheckoutEnd | null;
  /** Null where nothing is waited for. */
  readonly advice: StateAdvice | null;
}

function waiting(first: Milliseconds, most: Milliseconds, stuckAfter: Milliseconds | null = null): StatePolicy {
  return { poll: { first, growth: 0.1, most }, stuckAfter, auto: false, final: false, recheck: [] };
}

function ended(end: CheckoutEnd, meaning: string): State {
  return { meaning, plan: { ...waiting(MINUTE, HOUR), final: true }, end, advice: null };
}

function open(meaning: string, plan: StatePolicy, advice: StateAdvice): State {
  return { meaning, plan, end: null, advice };
}

/** The plan of a state that is not listed. */
export const DEFAULT_STATE_POLICY: StatePolicy = waiting(10 * SECOND, 10 * MINUTE);

/** The first wait while a form, an app or a bank page is open: customers act within seconds to minutes. */
const CUSTOMER_ACTS = 5 * SECOND;
const customerActs = (stuckAfter: Milliseconds | null = null): StatePolicy => waiting(CUSTOMER_ACTS, 5 * MINUTE, stuckAfter);

/** What to do first where the specification names no cause. */
export const LOOK_AT_LATEST_DEPLOY = 'Start with what was deployed last on the checkout page';

/** In the specification's order: the index is the value on the wire. The causes of 4 and 6 are the specification's. */
const STATES = {
  New: open(
    'A session was negotiated; the form has not been shown yet',
    // Healthy for a day, as with payment links.
    waiting(10 * SECOND, 10 * MINUTE),
    {
      place: 'before the form is shown',
      cause: 'A session was negotiated, and the check-out form has not yet been shown in a browser.',
      remedy: `${LOOK_AT_LATEST_DEPLOY}: open it and see whether the form appears.`,
    },
  ),
  BeingProcessed: open('The customer is going through the check-out form', customerActs(), {
    place: 'in the check-out form',
    cause: 'The customers are going through the check-out wizard and do not get to its end.',
    remedy: `${LOOK_AT_LATEST_DEPLOY}: go through the form yourself and watch the browser's console.`,
  }),
  Completed: ended('paid', 'The check-out completed successfully'),
  Error: ended('lost', 'The user or an error cancelled the session'),
  WaitingForIdentityProvider: open(
    'The customer is at an external identity provider and has not come back',
    customerActs(10 * MINUTE),
    {
      place: 'waiting for the identity provider',
      cause:
        "The customers were redirected to an external identity provider and have not been redirected back: the merchant's hosting page may not handle redirects correctly.",
      remedy:
        'Identify yourself in a test purchase and come back: the page must show the same purchase again. If it does not, look at what was deployed last, at the content security policy (frames, form targets) and at frames that may not navigate the top page. If several sites have this at once, ask the provider.',
    },
  ),
  SessionTimedOut: ended('lost', 'The session timed out, or was not created for a long time'),
  WaitingForCardPayments: open('The customer is at a card payment provider and has not come back', customerActs(15 * MINUTE), {
    place: 'waiting for the card payment provider',
    cause:
      'The customers were redirected to a card payment provider and have not been redirected back: the hosting page may not be able to render itself repeatedly.',
    remedy:
      'Pay a test purchase by card: the page you return to must render the same purchase again instead of starting a new one. Banks return with a cross-site POST, which carries no SameSite=Lax cookie, so take the purchase id from the address, not from the session.',
  }),
  WaitingForEidApp: open('An electronic-ID application has not responded yet', customerActs(), {
    place: 'waiting for the electronic-ID app',
    cause: 'No response comes from the electronic-ID application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  }),
  Cancelled: ended('lost', 'The merchant cancelled the order'),
  WaitingForFinnishDirectPayment: open('The customer is at a Finnish bank for a direct payment', customerActs(), {
    place: 'waiting for a Finnish bank',
    cause: 'The customers were redirected to a Finnish bank for a direct payment and have not come back.',
    remedy: 'Pay a test purchase this way: the page must show the same purchase again when the bank returns you to it.',
  }),
  WaitingCreditApproval: open(
    'The merchant has not decided about the credit yet',
    // People decide.
    waiting(MINUTE, 30 * MINUTE),
    {
      place: 'waiting for credit approval',
      cause: 'The merchant has neither approved nor refused the credit.',
      remedy: 'Decide on these credits, or find out why decisions do not reach the service.',
    },
  ),
  CreditNotApproved: ended('refused', 'The merchant did not approve the credit'),
  WaitingForMobilePayment: open('A mobile payment application has not responded yet', customerActs(), {
    place: 'waiting for the mobile payment app',
    cause: 'No response comes from the mobile payment application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  }),
  PaymentHandledByMerchant: ended('paid', 'The customer started an external payment method'),
  ElectronicIdValidationRequired: open('The customer has not finished strong authentication', customerActs(), {
    place: 'waiting for strong authentication',
    cause: 'The end users have not finished the strong authentication that was asked of them.',
    remedy: 'Try a test purchase that needs it, and see where it stops.',
  }),
} satisfies Readonly<Record<string, State>>;

export type StateName = keyof typeof STATES;

/** In the order of their numbers. */
export const STATE_NAMES = Object.keys(STATES) as readonly StateName[];

const BY_NUMBER: readonly State[] = Object.values(STATES);

/** The default plans by state number. */
export const DEFAULT_STATE_POLICIES: ReadonlyMap<number, StatePolicy> = new Map(
  BY_NUMBER.map(({ plan }, value) => [value, plan]),
);

/** What is known about a state number; undefined when the specification does not list it. */
export function knownState(value: number): State | undefined {
  return BY_NUMBER[value];
}

/** Whether the customer is at work in this state: in the form, in an app, or at a bank or an identity provider. */
export function isCustomerAtWork(value: number): boolean {
  const state = knownState(value);
  return state?.end === null && state.plan.poll.first === CUSTOMER_ACTS;
}

/** The default plan of a state number, listed or not. */
export function defaultPolicyOf(value: number): StatePolicy {
  return knownState(value)?.plan ?? DEFAULT_STATE_POLICY;
}

/** The number of a state that the specification lists. */
export function numberOf(name: StateName): number {
  return STATE_NAMES.indexOf(name);
}

/** Whether the specification lists this number. */
export function isKnownState(value: number): boolean {
  return knownState(value) !== undefined;
}

/** What people and programs are shown: the number and its name (`Unknown(17)` for a number that is not listed). */
export type NamedState = { readonly value: number; readonly name: string };

/** The name of a state number; `Unknown(n)` when the specification does not list it. */
export function stateName(value: number): string {
  return STATE_NAMES[value] ?? `Unknown(${value})`;
}

/** The largest number of a state that an answer may have and a column holds; the lowest is one below its negative. */
const MOST_STATE = 2 ** 31 - 1;

/** The number of a state given by name or by number (`Completed`, `2`, `17`, `Unknown(17)`), or null when it is neither. */
export function stateValue(text: string): number | null {
  const index = (STATE_NAMES as readonly string[]).indexOf(text);
  if (index >= 0) return index;
  const [, shown, number = shown] = /^(?:Unknown\((-?\d{1,10})\)|(-?\d{1,10}))$/.exec(text) ?? [];
  // Zero has no sign.
  const value = number === undefined ? null : Number(number) + 0;
  return value !== null && value <= MOST_STATE && value >= -MOST_STATE - 1 ? value : null;
}

/** A state number with its name, as the API and the events show it. */
export function namedState(value: number): NamedState {
  return { value, name: stateName(value) };
}

/** What a checkout came to that left for this state; null while it goes on, and where the state is given by a name that is not listed. */
export function checkoutEnd(state: number | string): CheckoutEnd | null {
  const value = typeof state === 'string' ? stateValue(state) : state;
  return value === null ? null : (knownState(value)?.end ?? null);
}
