/** The fields of subscribers and deliveries: how they are checked and how they are shown. */

import { z } from '@hono/zod-openapi';
import { rowIdOf } from '../../actions/row-ids.ts';
import {
  LONGEST_DESCRIPTION,
  MOST_LISTED,
  readHeaders,
  readName,
  readSecret,
  readType,
  readUrl,
} from '../../actions/subscribers/rules.ts';
import { CHANNEL_KINDS } from '../../channels/registry.ts';
import { DELIVERY_STATUSES } from '../../domain/deliveries/delivery-status.ts';
import { HEALTH_STATUSES } from '../../domain/deliveries/subscriber-state.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import { isJsonObject } from '../../domain/values/exact-json.ts';
import {
  flagField,
  intOrNull,
  named,
  numberOrNull,
  orNull,
  parameter,
  siteField,
  stateField,
  subscriberParameter,
  textOrNull,
  wordParameter,
} from '../http/fields.ts';
import type { IssueNote } from '../http/invalid.ts';

/** The settings that a subscriber's fields are checked against. */
export interface CheckedAgainst {
  readonly sites: readonly string[];
  readonly webhooks: Parameters<typeof readUrl>[1];
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

/** For calls about one subscriber. */
export const oneSubscriber = { params: { id: subscriberName }, problems: ['subscriber_not_found'] } as const;

/** An address may hold a token, so no message repeats it. */
export function urlField({ webhooks }: CheckedAgainst) {
  return parameter((value) => readUrl(value, webhooks), { hideValue: true }).openapi({
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

/** Values of headers give access to something, so no message repeats them. Not a record of zod's, which drops `__proto__`. */
const headersField = z
  .custom<Readonly<Record<string, string>>>()
  .superRefine((headers: unknown, ctx) => {
    const found = isJsonObject(headers)
      ? readHeaders(headers)
      : { name: null, problem: 'must be an object of names and values, or null for none' };
    if ('is' in found) return;
    const path = found.name === null ? [] : [found.name];
    ctx.addIssue({ code: 'custom', path, message: found.problem, params: { hideValue: true } satisfies IssueNote });
  })
  .openapi({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description:
      'Headers of your own that every request has; up to 20, with 4 KB in all. They replace those there were. Nothing shows their values again.',
    example: { authorization: 'Bearer 7Yk2' },
  });

/** How a subscriber gets its events; an absent field stays as it is, or has its default. */
export const extraFields = {
  format: z
    .enum(['standard', 'cloudevents'], { error: 'must be standard or cloudevents' })
    .optional()
    .describe('What the body is: `standard` as in the feed (the default), or a CloudEvent around the same data.'),
  headers: headersField.nullish(),
  asymmetric: flagField.optional().describe('Whether an ed25519 key signs beside the secret; `publicKey` is what checks it.'),
};

const typeField = parameter(readType).openapi({ type: 'string', enum: [...EVENT_TYPES] });

function fewOf<Item extends z.ZodType>(item: Item, description: string) {
  return z
    .array(item, { error: 'must be a list, or null for all' })
    .min(1, 'is empty; list at least one, or give null for all')
    .max(MOST_LISTED, `lists more than ${MOST_LISTED}`)
    .openapi({ description });
}

export const typesField = fewOf(typeField, 'Which events it gets; null for all.');

/** Which events a subscriber gets; what is absent stays as it is, or is all. */
export function filterFields({ sites }: CheckedAgainst) {
  return {
    types: typesField.nullish(),
    sites: fewOf(siteField(sites), 'Of which sites; null for all.').nullish(),
    states: fewOf(stateField, 'Of which states a purchase changed to, by name or number; null for all.').nullish(),
    description: z
      .string({ error: 'must be text' })
      .min(1, 'is empty; give null for none')
      .max(LONGEST_DESCRIPTION, `is longer than ${LONGEST_DESCRIPTION} characters`)
      .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'contains invalid Unicode')
      .nullish(),
  };
}

/** Whether a subscriber takes what it is sent. */
export const healthSchema = named('SubscriberHealth', {
  status: z
    .enum(HEALTH_STATUSES)
    .describe(
      'ok; failing: it failed lately; unreached: our name server, proxy or network lets nothing through to it, or (ourFailures 0) a daemon cannot use what is stored of it; it is not held against it; paused: it failed so often that it is left alone, and what is for it is parked; off: the same, until somebody switches it on.',
    ),
  failures: z.int().describe('Failures in a row that were its own; 0 while it is well.'),
  failingSince: textOrNull.describe('The first of these failures.'),
  pausedUntil: textOrNull.describe(
    'Nothing is sent before; then one delivery tries, and the others follow when it gets through.',
  ),
  lastError: textOrNull,
  ourFailures: z
    .int()
    .describe(
      'Failures in a row that were ours (name server, proxy, network), from the fourth on; 0 when something got through, and when a daemon cannot use what is stored of it.',
    ),
  ourFailingSince: textOrNull.describe('The first of these failures.'),
  ourError: textOrNull.describe('Why the last of them failed.'),
});

export const subscriberSchema = named('Subscriber', {
  name: z.string(),
  kind: z.enum(CHANNEL_KINDS),
  origin: z.enum(['configuration', 'api']).describe('What the configuration names is changed there.'),
  url: textOrNull.describe(
    'Scheme, host and port, and `/…` where there is more: paths, queries and credentials are secrets. Null where it is not known here, and for Slack.',
  ),
  format: z.enum(['standard', 'cloudevents']),
  headers: z.array(z.string()).describe('Names of its own headers; their values are shown to nobody.'),
  publicKey: textOrNull.describe(
    'Checks the `v1a` signatures: `whpk_` and base64 of an ed25519 key. Null when only the secret signs.',
  ),
  types: z.array(z.string()).nullable(),
  sites: z.array(z.string()).nullable(),
  states: z.array(z.union([z.string(), z.int()])).nullable(),
  description: textOrNull,
  status: z.enum(['active', 'off']).describe('Off: what waits stays, what comes is suppressed.'),
  statusReason: textOrNull,
  health: healthSchema,
  oldSecretsUntil: textOrNull.describe('Until when a replaced secret still signs beside the new one.'),
  createdAt: z.string(),
});

export type SubscriberBody = z.output<typeof subscriberSchema>;

export const deliveryIdField = parameter(rowIdOf('dlv')).openapi({
  type: 'string',
  pattern: '^dlv_[1-9][0-9]{0,15}$',
  example: 'dlv_42',
});

export const deliveryStatusParameter = wordParameter(DELIVERY_STATUSES, 'status');

export const deliverySchema = named('Delivery', {
  id: z.string(),
  status: z
    .enum(DELIVERY_STATUSES)
    .describe(
      'pending waits for its turn or its next try; in_flight: an attempt has been under way for a moment; parked waits until its subscriber gets events again; delivered; exhausted: the schedule is used up; suppressed: it is never sent.',
    ),
  reason: textOrNull.describe('Why it is parked or suppressed; null when it is neither.'),
  subscriber: z.string(),
  event: z.object({ id: z.string(), type: z.string() }),
  purchaseId: textOrNull,
  site: textOrNull,
  sequence: intOrNull,
  tries: z.int().describe('How many attempts were made.'),
  replayed: z.boolean().describe('Whether a replay asked for it last; it goes after all that is new.'),
  lastError: textOrNull.describe('Why the last attempt failed; null when it did not.'),
  createdAt: z.string().describe('When the event was made.'),
  dueAt: textOrNull.describe('When it is sent, or could be if it were not parked; null when it is settled.'),
  settledAt: textOrNull,
});

export type DeliveryBody = z.output<typeof deliverySchema>;

export const attemptSchema = named('Attempt', {
  number: z.int(),
  at: z.string().describe('When it ended.'),
  tookMs: z.int(),
  httpStatus: intOrNull,
  outcome: z.string().describe('`delivered`, or a stable word for what went wrong, such as `timeout` or `http_503`.'),
  fault: z
    .enum(['receiver', 'ours'])
    .nullable()
    .describe(
      'Whose fault a failure was: ours (name server, proxy, no free socket) is not held against the subscriber. Null for one that delivered, and where it was not noted.',
    ),
  excerpt: textOrNull.describe('The beginning of the answer.'),
});

export const answerSchema = named('ReceiverAnswer', {
  number: z.int().describe('Which attempt it answered, from 1.'),
  at: z.string().describe('When that attempt ended.'),
  text: z.string().openapi({
    description:
      'Status line, headers and body, up to 8 kB. Of headers that may give access, such as cookies, the names alone are kept, and secrets of the subscriber are hidden.',
    example: 'HTTP/1.1 500 Internal Server Error\ncontent-type: application/json\n\n{"error": "internal"}',
  }),
});

export const deliveryDetailsSchema = deliverySchema
  .extend({
    attempts: z.array(attemptSchema),
    answer: orNull(answerSchema).describe(
      'The whole answer to the last attempt that failed; null when none came, or it is not kept any more.',
    ),
  })
  .openapi('DeliveryDetails');

export type DeliveryDetailsBody = z.output<typeof deliveryDetailsSchema>;

/** The result of a replay, or of its dry run. */
export const replaySchema = named('Replay', {
  count: z.int().describe('So many are sent again.'),
  waiting: z.int().describe('So many of the range wait in any case and are left alone.'),
  oldest: textOrNull,
  newest: textOrNull,
  dryRun: z.boolean(),
  expectedDrain: z
    .object({
      ms: numberOrNull.describe(
        'Milliseconds; null when nothing is known to reckon with, and while the subscriber is paused or off.',
      ),
      text: z.string().describe('How it was reckoned, or why it was not.'),
    })
    .optional()
    .describe('Of a dry run: until all of them have arrived, by what was measured lately.'),
  note: z.string().optional().describe('Why they wait, when the subscriber is paused or off.'),
});

export type ReplayBody = z.output<typeof replaySchema>;
