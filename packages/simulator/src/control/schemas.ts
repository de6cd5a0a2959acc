/** Bodies, parameters and answers of the controls. Every message says what was expected. */
import { z } from '@hono/zod-openapi';
import { CUSTOMER_ACTS, FAULT_KINDS, LIFE_NAMES, OPERATIONS, PAYMENT_METHOD } from '../contract/names.ts';

const PAYMENT_METHODS = Object.keys(PAYMENT_METHOD) as [keyof typeof PAYMENT_METHOD];
const DURATION = 'must be a duration such as 250ms, 5s, 10m, 24h or 30d, or milliseconds';

/** An object with these fields and no others; the error for another field lists them all. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `is not known here; ${known.length === 0 ? 'nothing is' : `known: ${known.join(', ')}`}`
        : 'must be an object',
  });
}

/** A word of a list; the error names them all. */
function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, `must be one of ${words.join(', ')}`);
}

function wholeNumber(least: number, most?: number) {
  const error = `must be a whole number ${most === undefined ? `of ${least} or more` : `from ${least} to ${most}`}`;
  const number = z.int({ error }).min(least, { error });
  return most === undefined ? number : number.max(most, { error });
}

function line(what: string) {
  return z.string(`must be ${what}`).min(1, `is empty; give ${what}, or leave it out`).max(200, 'is longer than 200 characters');
}

const amount = z.number('must be a number').min(0, 'must be 0 or more');
const LETTERS = 'must be three letters, such as SEK';
const SHARE = 'must be a share from 0 to 1';
const state = z.union([z.string(), z.int()], 'must be a state, by name or number').openapi({ example: 'Completed' });
const duration = z
  .union([z.string().regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, DURATION), z.number().min(0, DURATION)], DURATION)
  .openapi({ example: '30m' });

const step = fields({
  state,
  after: z.union([z.literal('page-fixed'), ...duration.def.options], `${DURATION}, or page-fixed`).optional(),
  afterPolls: wholeNumber(1).optional(),
}).openapi('Step', { description: 'A state, and how long the state before it lasts.' });

const specShape = {
  site: line('the code of a site').optional(),
  script: z
    .union([z.enum(LIFE_NAMES), z.array(step).min(1)], `must be a list of steps, or one of ${LIFE_NAMES.join(', ')}`)
    .optional(),
  paymentMethod: z
    .union([z.enum(PAYMENT_METHODS), z.int()], `must be a number, or one of ${PAYMENT_METHODS.join(', ')}`)
    .optional(),
  price: z
    .union([z.string(), z.number()], 'must be a price; write it like "249.50"')
    .optional()
    .openapi({ example: '249.50', description: 'Text keeps its digits; a number gets two decimals.' }),
  currency: z.string(LETTERS).length(3, LETTERS).optional(),
  reference: line("the shop's own reference").optional().openapi({ description: '`OrderReference` in answers of the service.' }),
  description: line('text').optional().openapi({ description: '`Description` in answers of the service.' }),
};
const purchaseId = line('a Purchase ID').optional();

export const addBody = fields({ count: wholeNumber(1, 100_000).default(1), purchaseId, ...specShape }).openapi('NewPurchases', {
  description: 'All that is left out is drawn.',
});
export const negotiateBody = fields({
  purchaseId,
  ...specShape,
  returnUrl: z
    .string('must be an address')
    .optional()
    .openapi({ description: "Where the customer's browser goes from the page.", example: 'https://shop.example/thanks' }),
}).openapi('Negotiation', { description: 'The first site, a card and a customer who waits, unless given.' });
export const customerBody = fields({ does: word(CUSTOMER_ACTS) });
export const stateBody = fields({ state });
export const pageBody = fields({
  site: specShape.site,
  states: z.array(state, 'must be a list of states').optional(),
}).openapi('Page', { description: "Every site's page, and both states in which a page is waited for, unless given." });
export const loadBody = fields({ perMinute: amount });
export const latencyBody = fields({ ms: amount });
export const advanceBody = fields({ by: duration });
export const resetBody = fields({ all: z.boolean('must be true or false').optional() });
export const faultBody = fields({
  kind: word(FAULT_KINDS),
  times: wholeNumber(1).optional(),
  for: duration.optional(),
  only: word(OPERATIONS).optional(),
  purchaseId,
  share: z.number(SHARE).min(0, SHARE).max(1, SHARE).optional(),
  retryAfter: z.number('must be a number of seconds').min(0, 'must be 0 or more').optional(),
  state: z.int('must be a whole number').optional(),
  code: z.union([z.string(), z.number()], 'must be a text or a number').optional(),
  message: z.string('must be a text').optional(),
}).openapi('NewFault');
/** While the listener is closed no call could ask for `up`, so over HTTP the outage ends by itself. */
export const downBody = fields({ for: duration.default('30s') });
export const nothing = fields({});

export const idParameter = z.object({ id: z.string().openapi({ example: 'shop-1', description: 'A Purchase ID.' }) });
const limit = z.coerce.number().pipe(wholeNumber(1, 10_000)).optional().openapi({ type: 'integer', minimum: 1, maximum: 10_000 });
export const listQuery = z.object({
  limit,
  site: z.string().optional(),
  state: z.string().optional(),
  finished: z
    .stringbool('must be true or false')
    .optional()
    .openapi({ type: 'string', enum: ['true', 'false'] }),
});
export const recentQuery = z.object({
  after: z.coerce.number().pipe(wholeNumber(0)).optional().openapi({ type: 'integer', minimum: 0 }),
  limit,
});

const moment = z.number().openapi({ description: 'Epoch milliseconds.' });
export const purchaseSchema = z
  .object({
    purchaseId: z.string(),
    number: z.int().openapi({ description: 'Counts from 1 in the order of creation.' }),
    site: z.string(),
    life: z.string(),
    state: z.object({ value: z.int(), name: z.string() }),
    stateSince: moment,
    createdAt: moment,
    finished: z.boolean().openapi({ description: 'Whether nothing more will happen by itself.' }),
    price: z.string(),
    currency: z.string(),
    reference: z.string(),
    returnUrl: z.string().nullable(),
    history: z.array(z.object({ state: z.int(), at: moment })).readonly(),
  })
  .openapi('Purchase');
export const negotiatedSchema = purchaseSchema
  .extend({ pageUrl: z.string().openapi({ description: 'Where the customer pays, in a browser.' }) })
  .openapi('Negotiated');
export const clockSchema = z
  .object({ now: moment, advanced: z.number().openapi({ description: 'Milliseconds.' }) })
  .openapi('Clock', { description: 'The clock of the purchases.' });
const faultSchema = z
  .object({
    ...faultBody.shape,
    id: z.int(),
    remaining: z.number().nullable().openapi({ description: 'Calls; null: only time ends it.' }),
    until: moment.nullable().openapi({ description: 'Epoch milliseconds; null: only calls end it.' }),
  })
  .openapi('Fault');
export const settingsSchema = z
  .object({
    sites: z.array(z.object({ code: z.string(), currency: z.string(), country: z.string(), timeZone: z.string() })).readonly(),
    timeScale: z.number(),
    load: z.number(),
    latency: z.number(),
    brokenPages: z.array(z.object({ site: z.string(), state: z.string() })).readonly(),
    faults: z.array(faultSchema).readonly(),
    purchases: z.int(),
    clock: clockSchema,
  })
  .openapi('Settings');
const perOperation = Object.fromEntries(OPERATIONS.map((operation) => [operation, z.int()]));
export const countersSchema = z
  .object({
    calls: z.object(perOperation),
    elsewhere: z.int(),
    faults: z.int(),
    mostPerSecond: z.object({ all: z.int(), ...perOperation }),
    inFlight: z.int(),
    mostInFlight: z.int(),
    mostInFlightPerPurchase: z.int(),
    overlapping: z.array(z.string()).readonly(),
  })
  .openapi('Counters');
export const namespacesSchema = z.object({
  namespaces: z.array(z.object({ name: z.string(), url: z.string(), purchases: z.int() }).openapi('Namespace')),
});
