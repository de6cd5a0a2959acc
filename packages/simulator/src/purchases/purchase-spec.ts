/** Fields that a caller may give of a new purchase, and how the others are drawn. */
import { SimulatorError } from '../contract/error.ts';
import { LIFE_NAMES, type LifeName, PAYMENT_METHOD } from '../contract/names.ts';
import type { PurchaseSpec, Site } from '../contract/purchases.ts';
import { parseAmount } from '../values/amounts.ts';
import { pick, type Random } from '../values/random.ts';
import { drawLifeName, drawPaymentMethod, drawSteps, isLifeName, readScript, type Step } from './lives.ts';

/** The types of each field of a new purchase. */
const TYPES: ReadonlyMap<string, readonly string[]> = new Map([
  ['purchaseId', ['string']],
  ['site', ['string']],
  ['script', ['string', 'object']],
  ['paymentMethod', ['string', 'number']],
  ['price', ['string', 'number']],
  ['currency', ['string']],
  ['reference', ['string']],
  ['description', ['string']],
]);

/** Throws SimulatorError for a field that is unknown or of another type: programs without types call this, too. */
export function checkSpec(spec: PurchaseSpec): void {
  for (const [field, value] of Object.entries(spec)) {
    const types = TYPES.get(field);
    if (types === undefined)
      throw new SimulatorError('invalid_request', `is not known here; known: ${[...TYPES.keys()].join(', ')}`, { field });
    if (value === undefined || (types.includes(typeof value) && value !== null && value !== '')) continue;
    const expected = types.map((type) => (type === 'object' ? 'a list of steps' : type === 'string' ? 'text' : `a ${type}`));
    throw new SimulatorError('invalid_request', `must be ${expected.join(' or ')}, or left out`, { field, value });
  }
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
    const detail = `is not a life; there are ${LIFE_NAMES.join(', ')}`;
    throw new SimulatorError('invalid_request', detail, { field: 'script', value: script });
  }
  const life: LifeName = script ?? drawLifeName(random, site.country);
  return { life, steps: drawSteps(life, random, timeScale), usualMethod: drawPaymentMethod(life, random) };
}

/** The number of a payment method given by name or number. */
export function paymentMethodOf(given: PurchaseSpec['paymentMethod']): number | undefined {
  if (given === undefined || typeof given === 'number') return given;
  const number = Object.hasOwn(PAYMENT_METHOD, given) ? PAYMENT_METHOD[given] : undefined;
  if (number === undefined) {
    const detail = `is not a payment method; there are ${Object.keys(PAYMENT_METHOD).join(', ')}`;
    throw new SimulatorError('invalid_request', detail, { field: 'paymentMethod', value: given });
  }
  return number;
}

/** The text of a price, checked. */
export function priceOf(given: string | number | undefined): string | undefined {
  const text = typeof given === 'number' ? given.toFixed(2) : given;
  if (text !== undefined && parseAmount(text) === null)
    throw new SimulatorError('invalid_request', 'is not a price; write it like 249.50', { field: 'price', value: given });
  return text;
}

/** A price as shops have them, often small, sometimes large. */
export function drawPrice(random: Random): string {
  return `${Math.floor(39 * 150 ** random())}.${pick(random, ['00', '00', '50', '90', '95'])}`;
}

/** The site of a code. Throws SimulatorError where there is none. */
export function siteNamed(code: string, sites: readonly Site[]): Site {
  const site = sites.find((known) => known.code === code);
  if (site !== undefined) return site;
  const detail = `is not a site; there are ${sites.map((known) => known.code).join(', ')}`;
  throw new SimulatorError('unknown_site', detail, { field: 'site', value: code });
}
