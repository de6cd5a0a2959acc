/** Purchases and transitions as the API shows them (contract, "HTTP API"). */

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { OUTCOMES } from '../../actions/purchases/list.ts';
import { state } from '../../domain/events/fields.ts';
import { PURCHASE_STATUSES } from '../../domain/purchases/purchase.ts';
import { LIMIT_SOURCES } from '../../domain/stays/dwell.ts';
import type { JsonObject, JsonValue } from '../../domain/values/exact-json.ts';
import { intOrNull, named, orNull, textOrNull } from '../http/fields.ts';

export const timeSchema = z.string().openapi({ format: 'date-time', example: '2026-11-20T09:15:02.123Z' });
export const timeOrNull = timeSchema.nullable();
export const stateSchema = z
  .object(state.shape)
  .openapi('State', { description: state.description ?? '', example: { value: 2, name: 'Completed' } });
export const stateOrNull = orNull(stateSchema);
/** A field that passes is always there: the description says so. */
export const isThere = (value: unknown) => value !== undefined;
const stored = (type: 'string' | 'number') =>
  z.custom<JsonValue>(isThere).openapi({
    type: [type, 'null'],
    ...(type === 'number' ? { format: 'decimal' } : {}),
    description: 'As the service sent it, a long text cut; null when it is not stored.',
  });
const objectSchema = z.custom<JsonObject>(isThere).openapi({ type: 'object', additionalProperties: true });

export const statusSchema = z.enum(PURCHASE_STATUSES).openapi('PurchaseStatus', {
  description:
    '`watching`: polled. `settled`: in a final state. `unreadable`: the service does not know the id, or its answers cannot be used or recorded. `expired`: given up. `stopped`: a person or program stopped it.',
});

export const purchaseSchema = named('Purchase', {
  purchaseId: z.string(),
  site: z.string(),
  status: statusSchema,
  outcome: z.enum(OUTCOMES).describe('The outcome so far, in a word for lists. `paid_late`: paid after it had been stuck.'),
  state: stateOrNull.describe('Null until the first good answer.'),
  stateSince: timeOrNull,
  stuckSince: timeOrNull.describe('Null while it is not stuck.'),
  reference: textOrNull,
  metadata: z.custom<JsonObject | null>(isThere).openapi({ type: ['object', 'null'], additionalProperties: true }),
  registeredAt: timeSchema,
  lastPolledAt: timeOrNull,
  nextPollAt: timeOrNull,
  polls: z.int(),
  failures: z.int().describe('Failed polls in a row.'),
  lastError: textOrNull,
  price: stored('number'),
  currency: stored('string'),
  orderReference: stored('string'),
  details: objectSchema.describe("The other fields that `store.fields` names, by the specification's names."),
  // Not describe(): schemas that extend this one would not refer to it.
}).openapi({ description: 'Times are UTC with milliseconds.' });

export type PurchaseBody = z.output<typeof purchaseSchema>;

export const transitionSchema = named('Transition', {
  sequence: z.int(),
  from: stateOrNull.describe('Null on the first observation.'),
  to: stateSchema,
  notBefore: timeOrNull,
  notAfter: timeSchema,
}).describe('A change of state: after `notBefore`, no later than `notAfter`.');

/** A change of state in an answer. */
export type TransitionBody = z.output<typeof transitionSchema>;

/** When a stay becomes stuck, and what that rests on. */
export const limitSchema = named('Limit', {
  limitMs: z
    .int()
    .describe('Time in the state after which it is stuck; time in which the site could not be polled does not count.'),
  source: z
    .enum(LIMIT_SOURCES)
    .describe(
      '`configured`: by the settings. `learned`: from customers of this site who got on. `pooled`: from those of all sites. `default`: too few are known yet.',
    ),
  usualMs: intOrNull.describe('The median of customers who got on; null while too few are known.'),
  p95Ms: intOrNull.describe('95 % of them were faster than this.'),
  purchases: intOrNull.describe('How many purchases of the last 14 days this is known from.'),
  text: z.string().openapi({
    description: 'The same for people; the words may change.',
    example: '11 min here; usual 38 s, 95 % under 2 min 10 s, limit 6 min 30 s, from 412 purchases',
  }),
}).describe('When a stay in a state becomes stuck, and what that rests on.');

/** A JSON text as the answer. Its type is that of no schema: the text was made to fit the route's. */
export function answerText(c: Context, text: string, status: ContentfulStatusCode = 200): never {
  return c.body(text, status, { 'content-type': 'application/json' }) as never;
}
