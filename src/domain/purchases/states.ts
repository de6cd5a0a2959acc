/**
 * The states a checkout purchase can be in, as the specification lists them (CheckOutPurchaseState, values 0 to 14).
 * The service has grown this list over time, so a number that is not here is data, never an error.
 */

/** Specification order: the index is the value on the wire. */
export const STATE_NAMES = [
  'New',
  'BeingProcessed',
  'Completed',
  'Error',
  'WaitingForIdentityProvider',
  'SessionTimedOut',
  'WaitingForCardPayments',
  'WaitingForEidApp',
  'Cancelled',
  'WaitingForFinnishDirectPayment',
  'WaitingCreditApproval',
  'CreditNotApproved',
  'WaitingForMobilePayment',
  'PaymentHandledByMerchant',
  'ElectronicIdValidationRequired',
] as const;

/** What people and programs are shown: the number and its name (`Unknown(17)` for a number nobody knows). */
export interface NamedState {
  readonly value: number;
  readonly name: string;
}

/** The name of a state number; `Unknown(n)` when the specification does not list it. */
export function stateName(value: number): string {
  return STATE_NAMES[value] ?? `Unknown(${value})`;
}

/** Whether the specification lists this number. */
export function isKnownState(value: number): boolean {
  return value in STATE_NAMES;
}

/** The number of a state given by name or by number (`Completed`, `2`, `17`), or null when it is neither. */
export function stateValue(text: string): number | null {
  const index = (STATE_NAMES as readonly string[]).indexOf(text);
  if (index >= 0) return index;
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** A state number with its name, as the API and the events show it. */
export function namedState(value: number): NamedState {
  return { value, name: stateName(value) };
}
