/** What a caller may ask of a new purchase, and what is drawn otherwise. */
import { parseAmount } from '../values/amounts.ts';
import { ControlError } from '../values/control-error.ts';
import { pick, type Random } from '../values/random.ts';
import {
  drawLifeName,
  drawPaymentMethod,
  drawSteps,
  isLifeName,
  LIFE_NAMES,
  type LifeName,
  PAYMENT_METHOD,
  readScript,
  type ScriptStep,
  type Step,
} from './lives.ts';
import type { Site } from './purchase.ts';

/** What a new purchase should be like; everything that is missing is drawn. */
export interface PurchaseSpec {
  readonly purchaseId?: string | undefined;
  /** Code of the site. */
  readonly site?: string | undefined;
  /** The name of a life, or its steps. */
  readonly script?: string | readonly ScriptStep[] | undefined;
  readonly paymentMethod?: string | number | undefined;
  /** A text like `249.50` keeps its digits; a number gets two decimals. */
  readonly price?: string | number | undefined;
  readonly currency?: string | undefined;
}

/** The life that was asked for, or one drawn as the load draws them, and how its customer usually pays. */
export function lifeOf(
  script: PurchaseSpec['script'],
  site: Site,
  random: Random,
  timeScale: number,
): { life: string; steps: readonly Step[]; usualMethod: number } {
  if (typeof script === 'object')
    return { life: 'script', steps: readScript(script, timeScale), usualMethod: PAYMENT_METHOD.card };
  if (script !== undefined && !isLifeName(script)) {
    throw new ControlError(400, `there is no life "${script}"; there are ${LIFE_NAMES.join(', ')}`);
  }
  const life: LifeName = script ?? drawLifeName(random, site.country);
  return { life, steps: drawSteps(life, random, timeScale), usualMethod: drawPaymentMethod(life, random) };
}

/** The number of a payment method given by name or number. */
export function paymentMethodOf(given: string | number | undefined): number | undefined {
  if (given === undefined || typeof given === 'number') return given;
  const number = Object.hasOwn(PAYMENT_METHOD, given) ? PAYMENT_METHOD[given as keyof typeof PAYMENT_METHOD] : undefined;
  if (number === undefined)
    throw new ControlError(400, `there is no payment method "${given}"; there are ${Object.keys(PAYMENT_METHOD).join(', ')}`);
  return number;
}

/** The text of a price, checked. */
export function priceOf(given: string | number | undefined): string | undefined {
  const text = typeof given === 'number' ? given.toFixed(2) : given;
  if (text !== undefined && parseAmount(text) === null)
    throw new ControlError(400, `"${text}" is not a price; write it like 249.50`);
  return text;
}

/** A price as shops have them, often small, sometimes large. */
export function drawPrice(random: Random): string {
  return `${Math.floor(39 * 150 ** random())}.${pick(random, ['00', '00', '50', '90', '95'])}`;
}
