/** The fields of subscribers and deliveries: how they are checked and how they are shown. */
import { z } from '@hono/zod-openapi';
import { EVENT_TYPES } from '../core/events.ts';
import { DELIVERY_STATUSES } from '../store/delivery-list.ts';
import { deliveryNumber } from '../subscription/replay.ts';
import { LONGEST_DESCRIPTION, MOST_LISTED, readName, readSecret, readState, readType, readUrl } from '../subscription/rules.ts';
import { parameter, siteField, subscriberParameter } from './fields.ts';

/** What a subscriber's fields are checked against. */
export interface Known {
  readonly sites: readonly string[];
  readonly allowAddresses: readonly string[];
}

const NAME = { example: 'shop', description: 'Up to 63 small letters, digits, - and _.' };

export const nameField = parameter(readName).openapi({ type: 'string', pattern: '^[a-z0-9][a-z0-9_-]{0,62}$', ...NAME });

/** A subscriber in a path; `@slack` is one too. */
export const subscriberName = subscriberParameter.openapi({
  ...NAME,
  minLength: 1,
  maxLength: 64,
  description: 'The name of the subscriber.',
});

/** An address may hold a token, so no message repeats it. */
export function urlField({ allowAddresses }: Known) {
  return parameter((value) => readUrl(value, allowAddresses), { hideValue: true }).openapi({
    type: 'string',
    format: 'uri',
    description: 'Where events are posted.',
    example: 'https://shop.example/hooks',
  });
}

export const secretField = parameter(readSecret, { hideValue: true }).openapi({
  type: 'string',
  description: 'A signing secret of your own, as `whsec_` and base64 of 24 to 64 bytes. One is made when this is left out.',
});

const typeField = parameter(readType).openapi({ type: 'string', enum: [...EVENT_TYPES] });

const stateField = z
  .union([z.string(), z.number()], { error: 'must be a state, by name or number' })
  .transform((value, ctx) => {
    const found = readState(String(value));
    if ('is' in found) return found.is;
    ctx.addIssue({ code: 'custom', message: found.problem });
    return z.NEVER;
  })
  .openapi({ type: ['string', 'integer'], example: 'Completed' });

function listOf<Item extends z.ZodType>(item: Item, description: string) {
  return z
    .array(item, { error: 'must be a list, or null for all' })
    .min(1, 'is empty; list at least one, or give null for all')
    .max(MOST_LISTED, `lists more than ${MOST_LISTED}`)
    .openapi({ description });
}

export const typesField = listOf(typeField, 'Of which events it is told; null for all.');

/** Of what a subscriber is told; what is absent stays as it is, or is all. */
export function wishFields({ sites }: Known) {
  return {
    types: typesField.nullish(),
    sites: listOf(siteField(sites), 'Of which sites; null for all.').nullish(),
    states: listOf(stateField, 'Of which states a purchase changed to, by name or number; null for all.').nullish(),
    description: z
      .string({ error: 'must be text' })
      .min(1, 'is empty; give null for none')
      .max(LONGEST_DESCRIPTION, `is longer than ${LONGEST_DESCRIPTION} characters`)
      .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'holds what is no character')
      .nullish(),
  };
}

export const subscriberSchema = z
  .object({
    name: z.string(),
    kind: z.enum(['webhook', 'slack']),
    origin: z.enum(['configuration', 'api']).openapi({ description: 'What the configuration names is changed there.' }),
    url: z.string().nullable().openapi({ description: 'Without its query. Null where it is not known here, and for Slack.' }),
    types: z.array(z.string()).nullable(),
    sites: z.array(z.string()).nullable(),
    states: z.array(z.union([z.string(), z.int()])).nullable(),
    description: z.string().nullable(),
    status: z.enum(['active', 'off']).openapi({ description: 'Off: what waits stays, what comes is suppressed.' }),
    statusReason: z.string().nullable(),
    oldSecretsUntil: z
      .string()
      .nullable()
      .openapi({ description: 'Until when a replaced secret still signs beside the new one.' }),
    createdAt: z.string(),
  })
  .openapi('Subscriber');

export const deliveryIdField = parameter((value) => {
  const id = deliveryNumber(value);
  return id === null ? { problem: 'is no id of a delivery; they look like dlv_42' } : { is: id };
}).openapi({ type: 'string', pattern: '^dlv_[1-9][0-9]{0,15}$', example: 'dlv_42' });

export const deliveryStatusParameter = parameter((value) => {
  const status = DELIVERY_STATUSES.find((each) => each === value);
  return status === undefined ? { problem: `is no status; there are ${DELIVERY_STATUSES.join(', ')}` } : { is: status };
}).openapi({ type: 'string', enum: [...DELIVERY_STATUSES] });

export const deliverySchema = z
  .object({
    id: z.string(),
    status: z.enum(['pending', 'delivered', 'exhausted', 'suppressed']),
    subscriber: z.string(),
    event: z.object({ id: z.string(), type: z.string() }),
    purchaseId: z.string().nullable(),
    site: z.string().nullable(),
    sequence: z.int().nullable(),
    tries: z.int().openapi({ description: 'How many attempts were made.' }),
    lastError: z.string().nullable(),
    createdAt: z.string().openapi({ description: 'When the event was made.' }),
    dueAt: z.string().nullable().openapi({ description: 'When it is sent; null when it is settled.' }),
    settledAt: z.string().nullable(),
  })
  .openapi('Delivery');

const attemptSchema = z
  .object({
    number: z.int(),
    at: z.string(),
    tookMs: z.int(),
    httpStatus: z.int().nullable(),
    outcome: z
      .string()
      .openapi({ description: '`delivered`, or a stable word for what went wrong, such as `timeout` or `http_503`.' }),
    excerpt: z.string().nullable().openapi({ description: 'The beginning of the answer.' }),
  })
  .openapi('Attempt');

export const deliveryDetailsSchema = deliverySchema.extend({ attempts: z.array(attemptSchema) }).openapi('DeliveryDetails');
