import { SimulatorError } from '../contract/error.ts';

/** The states of a purchase as the specification numbers them (CheckOutPurchaseState). */
export const STATE = {
  New: 0,
  BeingProcessed: 1,
  Completed: 2,
  Error: 3,
  WaitingForIdentityProvider: 4,
  SessionTimedOut: 5,
  WaitingForCardPayments: 6,
  WaitingForEidApp: 7,
  Cancelled: 8,
  WaitingForFinnishDirectPayment: 9,
  WaitingCreditApproval: 10,
  CreditNotApproved: 11,
  WaitingForMobilePayment: 12,
  PaymentHandledByMerchant: 13,
  ElectronicIdValidationRequired: 14,
} as const;

export type StateName = keyof typeof STATE;

const NAMES = new Map<number, string>(Object.entries(STATE).map(([name, value]) => [value, name]));

/** The states whose way out leads through the merchant's page: a broken page keeps customers here. */
export const PAGE_STATES: readonly number[] = [STATE.WaitingForIdentityProvider, STATE.WaitingForCardPayments];

/** The name of a state number, `Unknown(17)` for one that is not in the specification. */
export function nameOfState(value: number): string {
  return NAMES.get(value) ?? `Unknown(${value})`;
}

/** The number of the state in a field, given by name or number. Throws SimulatorError for anything but a name or a whole number. */
export function stateIn(field: string, state: string | number): number {
  const value = numberOfState(state);
  if (value !== null) return value;
  const detail = `is not a state; give a number, or one of ${Object.keys(STATE).join(', ')}`;
  throw new SimulatorError('invalid_request', detail, { field, value: state });
}

/** The number of a state given by name or number; any whole number is allowed, null for anything else. */
function numberOfState(state: string | number): number | null {
  if (Object.hasOwn(STATE, state)) return STATE[state as StateName];
  const value = typeof state === 'string' && /^-?\d+$/.test(state) ? Number(state) : state;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}
