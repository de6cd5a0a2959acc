/** Having something sent to a subscriber: a test, what it missed; and giving it a new secret. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { isoTimeOrNull } from '../core/events.ts';
import type { Secrets } from '../runtime/secrets.ts';
import type { Sql } from '../store/database.ts';
import { findDelivery } from '../store/delivery-list.ts';
import { databaseNow } from '../store/overview.ts';
import { deliveryDetails } from '../subscription/body.ts';
import { readMoment } from '../subscription/moment.ts';
import { replay, replayedBody } from '../subscription/replay.ts';
import { DEFAULT_OVERLAP, offAdvice, requireSubscriber, rotateSecret, testSubscriber } from '../subscription/subscribers.ts';
import { waitForAttempt } from '../subscription/wait.ts';
import { exactJson, optionalJson } from './body.ts';
import { durationParameter, parameter } from './fields.ts';
import { IDEMPOTENCY_PROBLEMS, idempotencyHeader, idempotent } from './idempotency.ts';
import { strict } from './invalid.ts';
import { Problem, problems } from './problems.ts';
import type { ApiBindings } from './serve.ts';
import { deliveryDetailsSchema, subscriberName, typesField } from './subscriber-fields.ts';

const MOST_WAIT = 30_000;
const MOST_OVERLAP = 30 * 86_400_000;
const BODY_LIMIT = 16 * 1024;

/** Mounts the three calls. */
export function mountSubscriberActions(
  app: OpenAPIHono<{ Bindings: ApiBindings }>,
  means: { sql: Sql; secrets: Secrets | null },
): void {
  const { sql } = means;

  app.openapi(testRoute(means), async (c) => {
    const subscriber = await requireSubscriber(sql, c.req.valid('param').id);
    if (subscriber.kind === 'slack') {
      throw new Problem('invalid_request', 'Slack is told of incidents, not of events; try it with "purchase-watch slack test".');
    }
    const { wait = 0 } = c.req.valid('query');
    const now = await databaseNow(sql);
    const id = await testSubscriber(sql, subscriber, now);
    const gone = [c.req.raw.signal, c.env?.closing].filter((signal) => signal !== undefined);
    const attempted = await waitForAttempt(sql, id, { within: wait, signal: AbortSignal.any(gone) });
    const body = deliveryDetails((await findDelivery(sql, id))!);
    if (attempted) return c.json(body, 200);
    const hint =
      wait === 0
        ? 'It is sent in a moment. To get the result in the answer, add ?wait=10s.'
        : 'No attempt was recorded in time; read it again later.';
    return c.json({ ...body, note: hint }, 202);
  });

  app.openapi(rotateRoute(means), async (c) => {
    const { overlap = DEFAULT_OVERLAP } = c.req.valid('json');
    const now = await databaseNow(sql);
    const { secret, oldKeysUntil } = await rotateSecret(means, c.req.valid('param').id, { overlap, now });
    return c.json({ secret, oldSecretsUntil: isoTimeOrNull(oldKeysUntil) }, 200);
  });

  app.openapi(replayRoute(means), async (c) => {
    const subscriber = await requireSubscriber(sql, c.req.valid('param').id);
    const { since, until, types = null, dryRun = false } = c.req.valid('json');
    const now = await databaseNow(sql);
    const range = { subscriber: subscriber.id, since: since(now), until: until?.(now) ?? Number.POSITIVE_INFINITY, types };
    if (range.since > range.until) {
      const detail = 'is later than until';
      throw new Problem('invalid_request', `since: ${detail}.`, { errors: [{ field: 'since', detail }] });
    }
    const replayed = await replay(sql, range, { dryRun, signal: c.env?.closing });
    if (!replayed.complete) {
      throw new Problem(
        'unavailable',
        `The daemon is stopping; ${replayed.count} events are scheduled. Repeat the request for the rest.`,
      );
    }
    return c.json(replayedBody(replayed, { dryRun, off: offAdvice(subscriber) }), 200);
  });
}

const COMMON = ['invalid_request', 'unauthorized', 'read_only_key', 'cross_site', 'unavailable', 'subscriber_not_found'] as const;
const BODY = ['not_json', 'too_deep', 'too_large', 'unsupported_media_type'] as const;
const oneSubscriber = { params: z.object({ id: subscriberName }), headers: idempotencyHeader };
type Means = { sql: Sql; secrets: Secrets | null };

const testRoute = (means: Means) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/test',
    summary: 'Send a test',
    description:
      'Makes an event of the type `subscriber.test` and sends it to this subscriber alone, the way every event is sent. With `wait`, the answer waits for the first attempt. One that is off is sent nothing (`subscriber_off`).',
    tags: ['Subscribers'],
    middleware: idempotent(means),
    request: { ...oneSubscriber, query: strict({ wait: durationParameter(MOST_WAIT).optional() }) },
    responses: {
      200: {
        description: 'It was tried: the delivery with its attempts.',
        content: { 'application/json': { schema: deliveryDetailsSchema } },
      },
      202: {
        description: 'It will be sent: the delivery, and why there is no result yet.',
        content: { 'application/json': { schema: deliveryDetailsSchema.extend({ note: z.string() }) } },
      },
      ...problems(...COMMON, 'subscriber_off', ...IDEMPOTENCY_PROBLEMS),
    },
  });

const rotateRoute = (means: Means) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/rotate-secret',
    summary: 'Give a subscriber a new secret',
    description:
      'The answer shows the new secret, and nothing shows it again. Both sign until `overlap` has passed, so that the receiver can change over at its leisure.',
    tags: ['Subscribers'],
    middleware: [optionalJson(BODY_LIMIT), idempotent(means)] as const,
    request: {
      ...oneSubscriber,
      body: {
        required: false,
        content: {
          'application/json': {
            schema: strict({
              overlap: durationParameter(MOST_OVERLAP).optional().openapi({
                description: 'How long the old secret signs too; 24h unless told, 30d at most, 0 to drop it at once.',
                example: '24h',
              }),
            }),
          },
        },
      },
    },
    responses: {
      200: {
        description: 'The new secret.',
        content: {
          'application/json': {
            schema: z.object({ secret: z.string(), oldSecretsUntil: z.string().nullable() }).openapi('NewSecret'),
          },
        },
      },
      ...problems(
        ...COMMON,
        ...BODY,
        'subscriber_configured',
        'secrets_key_missing',
        'secrets_key_wrong',
        ...IDEMPOTENCY_PROBLEMS,
      ),
    },
  });

/** A moment whose meaning depends on the database's clock. */
const momentField = parameter((value) => {
  const checked = readMoment(value, 0);
  if ('problem' in checked) return checked;
  return {
    is: (now: number): number => {
      const read = readMoment(value, now);
      return 'is' in read ? read.is : now;
    },
  };
}).openapi({ type: 'string', example: '2h', description: 'A time with its zone, or a duration back from now.' });

const replayRoute = (means: Means) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/replay',
    summary: 'Send past events again',
    description:
      "Every event of the range that the subscriber's filters let through is sent again, with its own id and bytes, in the order of each purchase; those made before the subscriber was added too. Answers when all of them are scheduled; while the subscriber is off they wait, and `note` says so. May be repeated.",
    tags: ['Subscribers'],
    middleware: [exactJson(BODY_LIMIT), idempotent(means)] as const,
    request: {
      ...oneSubscriber,
      body: {
        required: true,
        content: {
          'application/json': {
            schema: strict({
              since: momentField,
              until: momentField.optional(),
              types: typesField.nullish(),
              dryRun: z.boolean({ error: 'must be true or false' }).optional().openapi({ description: 'Only counts.' }),
            }),
          },
        },
      },
    },
    responses: {
      200: {
        description: 'What is sent again, or would be.',
        content: {
          'application/json': {
            schema: z
              .object({
                count: z.int(),
                oldest: z.string().nullable(),
                newest: z.string().nullable(),
                dryRun: z.boolean(),
                note: z.string().optional().openapi({ description: 'Why they wait, when the subscriber is off.' }),
              })
              .openapi('Replay'),
          },
        },
      },
      ...problems(...COMMON, ...BODY, ...IDEMPOTENCY_PROBLEMS),
    },
  });
