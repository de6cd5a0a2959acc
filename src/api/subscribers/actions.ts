/** Having something sent to a subscriber: a test, what it missed; and giving it a new secret. */

import { createRoute, z } from '@hono/zod-openapi';
import { type Addresses, deliveryDetails, subscriberBody } from '../../actions/subscribers/body.ts';
import { resumeSubscriber, waitAdvice } from '../../actions/subscribers/outlook.ts';
import { drainOf, replay, replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { DEFAULT_OVERLAP, MOST_OVERLAP, requireSubscriber, rotateSecret } from '../../actions/subscribers/subscribers.ts';
import { testSubscriber } from '../../actions/subscribers/test-event.ts';
import { waitForAttempt } from '../../actions/subscribers/wait.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { findDelivery } from '../../postgres/deliveries/delivery-list.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { needs } from '../access/scopes.ts';
import { exactJson, optionalJson } from '../http/body.ts';
import { type Api, BODY_PROBLEMS, goneSignal, jsonAnswer, jsonBody } from '../http/definitions.ts';
import { durationParameter, momentParameter } from '../http/fields.ts';
import { IDEMPOTENCY_PROBLEMS, idempotencyHeader, idempotent } from '../http/idempotency.ts';
import { strict } from '../http/invalid.ts';
import { CHANGE_PROBLEMS, Problem, problems } from '../http/problems.ts';
import { deliveryDetailsSchema, replaySchema, subscriberName, subscriberSchema, typesField } from './fields.ts';

const MOST_WAIT = 30_000;
const BODY_LIMIT = 16 * 1024;

export interface ActionParts extends Connection {
  /** Those that the settings name. */
  readonly configured: Addresses['configured'];
  /** Deliveries in flight at most, to each subscriber. */
  readonly concurrency: number;
}

/** Mounts the four calls. */
export function mountSubscriberActions(app: Api, parts: ActionParts): void {
  const { configured, concurrency, ...connection } = parts;
  const { sql, secrets } = connection;

  app.openapi(testRoute(connection), async (c) => {
    const subscriber = await requireSubscriber(sql, c.req.valid('param').id);
    if (subscriber.audience === 'people') {
      throw new Problem(
        'invalid_request',
        `${subscriber.name} gets incidents, not events; try it with "${commandLine`${subscriber.kind} test`}".`,
      );
    }
    const { wait = 0 } = c.req.valid('query');
    const now = await databaseNow(sql);
    const id = await testSubscriber(sql, subscriber, now);
    const attempted = await waitForAttempt(sql, id, { within: wait, signal: goneSignal(c) });
    const body = deliveryDetails((await findDelivery(sql, id))!);
    if (attempted) return c.json(body, 200);
    const advice = waitAdvice(subscriber, now, { secrets });
    const hint =
      advice !== null
        ? `It waits: ${advice}.`
        : wait === 0
          ? 'It is sent in a moment. To get the result in the answer, add ?wait=10s.'
          : 'No attempt was recorded in time; read it again later.';
    return c.json({ ...body, note: hint }, 202);
  });

  app.openapi(rotateRoute(connection), async (c) => {
    const { overlap = DEFAULT_OVERLAP } = c.req.valid('json');
    const now = await databaseNow(sql);
    const { secret, oldKeysUntil } = await rotateSecret(connection, c.req.valid('param').id, { overlap, now });
    return c.json({ secret, oldSecretsUntil: isoTimeOrNull(oldKeysUntil) }, 200);
  });

  app.openapi(resumeRoute, async (c) => {
    const { subscriber } = await resumeSubscriber(sql, c.req.valid('param').id);
    return c.json(subscriberBody(subscriber, { secrets, configured }), 200);
  });

  app.openapi(replayRoute(connection), async (c) => {
    const subscriber = await requireSubscriber(sql, c.req.valid('param').id);
    const refusal = whyNoReplay(subscriber);
    if (refusal !== null) throw new Problem('invalid_request', `${refusal}.`);
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
    const drain = dryRun ? await drainOf(sql, replayed, { subscriber: subscriber.id, concurrency }) : null;
    return c.json(replayedBody(replayed, { dryRun, advice: waitAdvice(subscriber, now, { secrets }), drain }), 200);
  });
}

const COMMON = [...CHANGE_PROBLEMS, 'subscriber_not_found'] as const;
const oneSubscriber = { params: z.object({ id: subscriberName }), headers: idempotencyHeader };
type Connection = { sql: Sql; secrets: Secrets | null };

const testRoute = (connection: Connection) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/test',
    security: needs('operate'),
    summary: 'Send a test',
    description:
      'Makes an event of the type `subscriber.test` and sends it to this subscriber alone, the way every event is sent. With `wait`, the answer waits for the first attempt. One that is off is sent nothing (`subscriber_off`).',
    tags: ['Subscribers'],
    middleware: idempotent(connection),
    request: { ...oneSubscriber, query: strict({ wait: durationParameter(MOST_WAIT).optional() }) },
    responses: {
      200: jsonAnswer('It was tried: the delivery with its attempts.', deliveryDetailsSchema),
      202: jsonAnswer(
        'It will be sent: the delivery, and why there is no result yet.',
        deliveryDetailsSchema.extend({ note: z.string() }),
      ),
      ...problems(...COMMON, 'subscriber_off', ...IDEMPOTENCY_PROBLEMS),
    },
  });

const newSecretSchema = z.object({ secret: z.string(), oldSecretsUntil: z.string().nullable() }).openapi('NewSecret');

export type NewSecretBody = z.output<typeof newSecretSchema>;

const rotateRoute = (connection: Connection) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/rotate-secret',
    security: needs('operate'),
    summary: 'Give a subscriber a new secret',
    description:
      'The answer shows the new secret, and nothing shows it again. Both sign until `overlap` has passed, so that the receiver can change over at its leisure.',
    tags: ['Subscribers'],
    middleware: [optionalJson(BODY_LIMIT), idempotent(connection)] as const,
    request: {
      ...oneSubscriber,
      body: {
        required: false,
        content: {
          'application/json': {
            schema: strict({
              overlap: durationParameter(MOST_OVERLAP).optional().openapi({
                description: 'How long the old secret signs too; 24h by default, 30d at most, 0 to drop it at once.',
                example: '24h',
              }),
            }),
          },
        },
      },
    },
    responses: {
      200: jsonAnswer('The new secret.', newSecretSchema),
      ...problems(
        ...COMMON,
        ...BODY_PROBLEMS,
        'subscriber_configured',
        'secrets_key_missing',
        'secrets_key_wrong',
        'too_many_secrets',
        ...IDEMPOTENCY_PROBLEMS,
      ),
    },
  });

const resumeRoute = createRoute({
  method: 'post',
  path: '/v1/subscribers/{id}/resume',
  security: needs('operate'),
  summary: 'End the pause of a subscriber',
  description:
    'For one whose receiver was mended: what is parked for it goes out at once, in order, few at first. One that gets events already stays as it is; one that is off is switched on with PATCH (`subscriber_off`). Should it still fail, it is paused again.',
  tags: ['Subscribers'],
  request: { params: z.object({ id: subscriberName }) },
  responses: {
    200: jsonAnswer('The subscriber as it is now.', subscriberSchema),
    ...problems(...COMMON, 'subscriber_off'),
  },
});

const replayRoute = (connection: Connection) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers/{id}/replay',
    security: needs('operate'),
    summary: 'Send past events again',
    description:
      "Every event of the range that the subscriber's filters let through is sent again, with its own id and bytes, in the order of each purchase; those made before the subscriber was added too. They go after all that is new, and what waits for its first or its next try is left alone. Answers when all of them are scheduled; while the subscriber is paused or off they wait, and `note` says so. `dryRun` counts them and reckons how long they will take. May be repeated. Slack is sent nothing again.",
    tags: ['Subscribers'],
    middleware: [exactJson(BODY_LIMIT), idempotent(connection)] as const,
    request: {
      ...oneSubscriber,
      body: jsonBody(
        strict({
          since: momentParameter,
          until: momentParameter.optional(),
          types: typesField.nullish(),
          dryRun: z.boolean({ error: 'must be true or false' }).optional().openapi({ description: 'Only counts.' }),
        }),
      ),
    },
    responses: {
      200: jsonAnswer('What is sent again, or would be.', replaySchema),
      ...problems(...COMMON, ...BODY_PROBLEMS, ...IDEMPOTENCY_PROBLEMS),
    },
  });
