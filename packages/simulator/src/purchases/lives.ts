/**
 * Lives of purchases: a life is a list of states and how long each is waited for. Named lives are drawn with
 * dwell times as customers, banks and credit officers have them; tests may spell out their own.
 */
import { SimulatorError } from '../contract/error.ts';
import { LIFE_NAMES, type LifeName, PAYMENT_METHOD, type PaymentMethodName } from '../contract/names.ts';
import type { ScriptStep } from '../contract/purchases.ts';
import { milliseconds } from '../values/duration.ts';
import type { Random } from '../values/random.ts';
import { STATE, type StateName, stateIn } from '../values/states.ts';

/** One move of a life. The first step of a life is its beginning. */
export interface Step {
  readonly state: number;
  /** Milliseconds after the state before it was entered; null: not before the page is fixed. */
  readonly after: number | null;
  /** Instead of a time: once the state before it was shown in so many answers. */
  readonly afterPolls?: number;
}

/** How long a session lives; a customer who went away and did not come back times out at its end. */
export const SESSION_SECONDS = 30 * 60;
const DAY_SECONDS = 24 * 3_600;

/** Seconds: shortest and longest, `session-end`, `page-fixed`, or `poll` (when the state before it was shown once). */
type Dwell = readonly [shortest: number, longest: number] | 'session-end' | 'page-fixed' | 'poll';
type Move = readonly [state: StateName, dwellBefore: Dwell];

const OPENED: Move = ['BeingProcessed', [4, 60]];
const FORM: Dwell = [20, 180];
const BANK: Dwell = [15, 120];
const CREDIT: Dwell = [0.8 * DAY_SECONDS, 1.2 * DAY_SECONDS];

/** The customer opens the page, fills in the form and so comes to a state, and what follows. */
const through = (state: StateName, ...then: readonly Move[]): readonly Move[] => [OPENED, [state, FORM], ...then];

const LIVES = {
  'card-paid': { pays: 'card', moves: through('WaitingForCardPayments', ['Completed', BANK]) },
  'invoice-eid-app': { pays: 'invoice', moves: through('WaitingForEidApp', ['Completed', [8, 60]]) },
  'invoice-identity-provider': { pays: 'invoice', moves: through('WaitingForIdentityProvider', ['Completed', [15, 90]]) },
  'mobile-payment': { pays: 'mobile-payment', moves: through('WaitingForMobilePayment', ['Completed', [8, 45]]) },
  'finnish-direct-payment': {
    pays: 'direct-payment',
    moves: through('WaitingForFinnishDirectPayment', ['Completed', [40, 240]]),
  },
  'strong-authentication': { pays: 'part-payment', moves: through('ElectronicIdValidationRequired', ['Completed', [20, 150]]) },
  'credit-approved': { pays: 'loan', moves: through('WaitingCreditApproval', ['Completed', CREDIT]) },
  'credit-not-approved': { pays: 'loan', moves: through('WaitingCreditApproval', ['CreditNotApproved', CREDIT]) },
  'cancelled-after-completion': {
    pays: 'invoice',
    moves: through('WaitingForEidApp', ['Completed', [8, 60]], ['Cancelled', [600, 2 * DAY_SECONDS]]),
  },
  'external-payment': { pays: 'external', moves: through('PaymentHandledByMerchant') },
  'user-cancels': { pays: 'card', moves: through('WaitingForCardPayments', ['Error', BANK]) },
  'never-opened': { pays: 'card', moves: [['SessionTimedOut', [3_600, 3_600]]] },
  'abandoned-in-form': { pays: 'card', moves: [OPENED, ['SessionTimedOut', 'session-end']] },
  'abandoned-at-bank': { pays: 'card', moves: through('WaitingForCardPayments', ['SessionTimedOut', 'session-end']) },
  'abandoned-at-identity-provider': {
    pays: 'invoice',
    moves: through('WaitingForIdentityProvider', ['SessionTimedOut', 'session-end']),
  },
  'stuck-at-card-payments': { pays: 'card', moves: through('WaitingForCardPayments', ['Completed', 'page-fixed']) },
  'stuck-at-identity-provider': { pays: 'invoice', moves: through('WaitingForIdentityProvider', ['Completed', 'page-fixed']) },
  'paid-at-second-poll': { pays: 'card', moves: [['Completed', 'poll']] },
  'waits-for-customer': { pays: 'card', moves: [['SessionTimedOut', [3_600, 3_600]]] },
} satisfies Record<LifeName, { pays: PaymentMethodName; moves: readonly Move[] }>;

/** How often the load draws each life, in parts of their sum. Those that are missing are only lived on request. */
const MIX: readonly (readonly [LifeName, number])[] = [
  ['card-paid', 40],
  ['invoice-eid-app', 18],
  ['invoice-identity-provider', 12],
  ['mobile-payment', 10],
  ['finnish-direct-payment', 4],
  ['strong-authentication', 3],
  ['user-cancels', 3],
  ['never-opened', 2],
  ['abandoned-in-form', 2],
  ['abandoned-at-bank', 1.5],
  ['abandoned-at-identity-provider', 0.5],
  ['cancelled-after-completion', 1.5],
  ['external-payment', 1],
  ['credit-approved', 1],
  ['credit-not-approved', 0.5],
];
const MIX_SUM = MIX.reduce((sum, [, parts]) => sum + parts, 0);

/** The life of the next customer who comes along; Finnish banks are for Finnish sites. */
export function drawLifeName(random: Random, country: string): LifeName {
  let rest = random() * MIX_SUM;
  const drawn = MIX.find(([, parts]) => {
    rest -= parts;
    return rest < 0;
  });
  const name = drawn?.[0] ?? 'card-paid';
  return name === 'finnish-direct-payment' && country !== 'FIN' ? 'card-paid' : name;
}

/** Whether there is a life of this name. */
export function isLifeName(name: string): name is LifeName {
  return (LIFE_NAMES as readonly string[]).includes(name);
}

/** How the customer of a named life pays. Invoice is what the shopper sees; loans and part payments hide behind it. */
export function drawPaymentMethod(name: LifeName, random: Random): number {
  const { pays } = LIVES[name];
  if (pays !== 'invoice') return PAYMENT_METHOD[pays];
  const share = random();
  if (share < 0.75) return PAYMENT_METHOD.invoice;
  return share < 0.9 ? PAYMENT_METHOD['part-payment'] : PAYMENT_METHOD['business-invoice'];
}

/** Draws the steps of a named life. Times are realistic ones divided by the scale. */
export function drawSteps(name: LifeName, random: Random, timeScale: number): Step[] {
  const steps: Step[] = [{ state: STATE.New, after: 0 }];
  const scaled = (seconds: number): number => Math.round((seconds * 1_000) / timeScale);
  let elapsed = 0;
  for (const [state, dwell] of LIVES[name].moves as readonly Move[]) {
    if (dwell === 'poll') steps.push({ state: STATE[state], after: 0, afterPolls: 1 });
    else if (dwell === 'page-fixed') steps.push({ state: STATE[state], after: null });
    else {
      const after = dwell === 'session-end' ? scaled(SESSION_SECONDS) - elapsed : scaled(drawSeconds(dwell, random));
      elapsed += after;
      steps.push({ state: STATE[state], after });
    }
  }
  return steps;
}

/** Waiting times have a long tail: most customers are quick, a few are slow. Hence even on a logarithmic scale. */
function drawSeconds([shortest, longest]: readonly [number, number], random: Random): number {
  return shortest * (longest / shortest) ** random();
}

/** Reads a script that is spelled out. Without a first step that begins at once, a purchase begins as New. */
export function readScript(script: readonly ScriptStep[], timeScale: number): Step[] {
  const steps = script.map((written, index): Step => {
    const at = `script[${index}]`;
    const state = stateIn(`${at}.state`, written.state);
    if (written.afterPolls !== undefined) return { state, after: 0, afterPolls: written.afterPolls };
    if (written.after === 'page-fixed') return { state, after: null };
    if (written.after === undefined && index > 0)
      throw new SimulatorError('invalid_request', 'says not when it comes; give "after" or "afterPolls"', { field: at });
    return { state, after: milliseconds(written.after ?? 0, `${at}.after`) / timeScale };
  });
  const first = steps[0];
  const beginsAtOnce = first !== undefined && first.after === 0 && first.afterPolls === undefined;
  return beginsAtOnce ? steps : [{ state: STATE.New, after: 0 }, ...steps];
}
