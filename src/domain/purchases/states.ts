/**
 * The states a checkout purchase can be in, as the specification lists them (CheckOutPurchaseState, values 0 to 14).
 * The service has grown this list over time, so a number that is not here is data, never an error.
 */

/** How a checkout ended in a final state: `lost` says nothing about whether the page works, `refused` that the page does. */
export type CheckoutEnd = 'paid' | 'refused' | 'lost';

/** Why purchases may be stuck in a state, and what to look at first. */
export interface StateAdvice {
  readonly cause: string;
  readonly remedy: string;
}

interface State {
  /** The state for people; of one that can still change, the words also follow "37 purchases stuck". */
  readonly words: string;
  /** The specification's meaning, in short. */
  readonly meaning: string;
  /** Null where the purchase can still change. */
  readonly end: CheckoutEnd | null;
  /** Null where nothing is waited for. */
  readonly advice: StateAdvice | null;
}

function ended(end: CheckoutEnd, words: string, meaning: string): State {
  return { words, meaning, end, advice: null };
}

function open(words: string, { meaning, ...advice }: StateAdvice & Pick<State, 'meaning'>): State {
  return { words, meaning, end: null, advice };
}

/** The first step of a remedy where the specification names no cause. */
export const LOOK_AT_LATEST_DEPLOY = 'Start with what was deployed last on the checkout page';

/** In the specification's order: the index is the value on the wire. The causes of 4 and 6 are the specification's. */
const STATES = {
  New: open('before the form', {
    meaning: 'A session was negotiated; the form has not been shown yet',
    cause: 'A session was negotiated, and the check-out form has not yet been shown in a browser.',
    remedy: `${LOOK_AT_LATEST_DEPLOY}: open it and see whether the form appears.`,
  }),
  BeingProcessed: open('in the check-out form', {
    meaning: 'The customer is going through the check-out form',
    cause: 'The customers are going through the check-out wizard and do not get to its end.',
    remedy: `${LOOK_AT_LATEST_DEPLOY}: go through the form yourself and watch the browser's console.`,
  }),
  Completed: ended('paid', 'completed', 'The check-out completed successfully'),
  Error: ended('lost', 'broken off or failed', 'The user or an error cancelled the session'),
  WaitingForIdentityProvider: open('waiting for identification', {
    meaning: 'The customer is at an external identity provider and has not come back',
    cause:
      "The customers were redirected to an external identity provider and have not been redirected back: the merchant's hosting page may not handle redirects correctly.",
    remedy:
      'Identify yourself in a test purchase and come back: the page must show the same purchase again. If it does not, look at what was deployed last, at the content security policy (frames, form targets) and at frames that may not navigate the top page. If several sites have this at once, ask the provider.',
  }),
  SessionTimedOut: ended('lost', 'timed out', 'The session timed out, or was not created for a long time'),
  WaitingForCardPayments: open('waiting for the card provider', {
    meaning: 'The customer is at a card payment provider and has not come back',
    cause:
      'The customers were redirected to a card payment provider and have not been redirected back: the hosting page may not be able to render itself repeatedly.',
    remedy:
      'Pay a test purchase by card: the page you return to must render the same purchase again instead of starting a new one. Banks return with a cross-site POST, which carries no SameSite=Lax cookie, so take the purchase id from the address, not from the session.',
  }),
  WaitingForEidApp: open('waiting for the electronic-ID app', {
    meaning: 'An electronic-ID application has not responded yet',
    cause: 'No response comes from the electronic-ID application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  }),
  Cancelled: ended('lost', 'cancelled by the shop', 'The merchant cancelled the order'),
  WaitingForFinnishDirectPayment: open('waiting for a Finnish bank', {
    meaning: 'The customer is at a Finnish bank for a direct payment',
    cause: 'The customers were redirected to a Finnish bank for a direct payment and have not come back.',
    remedy: 'Pay a test purchase this way: the page must show the same purchase again when the bank returns you to it.',
  }),
  WaitingCreditApproval: open('waiting for credit approval', {
    meaning: 'The merchant has not decided about the credit yet',
    cause: 'The merchant has neither approved nor refused the credit.',
    remedy: 'Decide on these credits, or find out why decisions do not reach the service.',
  }),
  CreditNotApproved: ended('refused', 'credit not approved', 'The merchant did not approve the credit'),
  WaitingForMobilePayment: open('waiting for the mobile payment app', {
    meaning: 'A mobile payment application has not responded yet',
    cause: 'No response comes from the mobile payment application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  }),
  PaymentHandledByMerchant: ended('paid', 'external payment started', 'The customer started an external payment method'),
  ElectronicIdValidationRequired: open('waiting for strong authentication', {
    meaning: 'The customer has not finished strong authentication',
    cause: 'The end users have not finished the strong authentication that was asked of them.',
    remedy: 'Try a test purchase that needs it, and see where it stops.',
  }),
} satisfies Readonly<Record<string, State>>;

export type StateName = keyof typeof STATES;

/** In the order of their numbers. */
export const STATE_NAMES = Object.keys(STATES) as readonly StateName[];

const BY_NUMBER: readonly State[] = Object.values(STATES);

/** The row of a state number in the table; undefined when the specification does not list the number. */
export function knownState(value: number): State | undefined {
  return BY_NUMBER[value];
}

/** The number of a state that the specification lists. */
export function numberOf(name: StateName): number {
  return STATE_NAMES.indexOf(name);
}

/** Whether the specification lists this number. */
export function isKnownState(value: number): boolean {
  return knownState(value) !== undefined;
}

/** A state as people and programs are shown it: the number and its name (`Unknown(17)` for a number that is not listed). */
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
  // NaN without a number, which no bound lets through. Zero has no sign.
  const value = Number(number) + 0;
  return value <= MOST_STATE && value >= -MOST_STATE - 1 ? value : null;
}

/** A state in words, for people; given by number or name. A text that is neither is repeated. */
export function stateWords(state: number | string): string {
  const value = stateValue(String(state));
  if (value === null) return String(state);
  return knownState(value)?.words ?? `state ${value}, which is not in the specification`;
}

/** The words of a state with its name, which options and filters take: `waiting for the card provider (WaitingForCardPayments)`. */
export function stateBoth(state: number | string): string {
  const [words, name] = [stateWords(state), besideWords(state)];
  return name === null ? words : `${words} (${name})`;
}

/** The specification's name of a state, to stand beside its words; null where it says no more than they do. */
export function besideWords(state: number | string): StateName | null {
  const name = STATE_NAMES[stateValue(String(state)) ?? -1];
  return name === undefined || name.toLowerCase() === stateWords(state) ? null : name;
}

/** Where purchases are, in words that follow "stuck" or "2 purchases". */
export function statePlace(value: number): string {
  const state = knownState(value);
  if (state === undefined) return `in state ${value} (not in the specification)`;
  return state.end === null ? state.words : `in the state ${state.words}`;
}

/** A state number with its name, as the API and the events show it. */
export function namedState(value: number): NamedState {
  return { value, name: stateName(value) };
}

/** How a checkout ended that left for this state; null while it goes on, and for a name of a state that is not listed. */
export function checkoutEnd(state: number | string): CheckoutEnd | null {
  return knownState(stateValue(String(state)) ?? -1)?.end ?? null;
}
