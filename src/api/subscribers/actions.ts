/** Having something sent to a subscriber: a test, what it missed; and giving it a new secret. */

import { z } from '@hono/zod-openapi';
import { databaseNow, type Sql } from '../../actions/database.ts';
import { findDelivery } from '../../actions/deliveries/deliveries.ts';
import { deliveryDetails, subscriberBody } from '../../actions/subscribers/body.ts';
import { resumeSubscriber, waitAdvice } from '../../actions/subscribers/outlook.ts';
import { type Replayed, replay, replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { DEFAULT_OVERLAP, MOST_OVERLAP, requireSubscriber, rotateSecret } from '../../actions/subscribers/subscribers.ts';
import { testSubscriber } from '../../actions/subscribers/test-event.ts';
import { waitForAttempt } from '../../actions/subscribers/wait.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { isoTimeOrNull } from '../../domain/values/time.ts';
import { durationParameter, flagField, momentParameter, named, textOrNull } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { fieldProblem, Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, goneSignal, jsonAnswer, route } from '../http/route.ts';
import { deliveryDetailsSchema, oneSubscriber, replaySchema, subscriberSchema, typesField } from './fields.ts';

const MOST_WAIT = 30_000;

export function mountSubscriberActions(app: Api, deps: ApiDeps): void {
  const { changes: sql, secrets, settings } = deps;
  const connection = { sql, secrets };

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
    return c.json(subscriberBody(subscriber, { secrets, configured: settings.subscribers }), 200);
  });

  app.openapi(replayRoute(connection), async (c) => {
    const subscriber = await replayable(sql, c.req.valid('param').id);
    const { since, until, types = null, dryRun = false } = c.req.valid('json');
    const now = await databaseNow(sql);
    const range = { subscriber: subscriber.id, since: since(now), until: until?.(now) ?? Number.POSITIVE_INFINITY, types };
    if (range.since > range.until) {
      throw fieldProblem('since', 'is later than until');
    }
    const replayed = await replay(sql, range, { dryRun, signal: c.env?.closing });
    return c.json(await sentAgain(deps, subscriber, { replayed, dryRun, things: 'events' }), 200);
  });
}

/** The subscriber of this name, if it can be sent past events. */
export async function replayable(sql: Sql, name: string): ReturnType<typeof requireSubscriber> {
  const subscriber = await requireSubscriber(sql, name);
  const refusal = whyNoReplay(subscriber);
  if (refusal !== null) throw new Problem('invalid_request', `${refusal}.`);
  return subscriber;
}

/** The body that says what is sent again, or would be. Throws Problem when not all of it was scheduled. */
export async function sentAgain(
  { changes: sql, secrets, settings }: ApiDeps,
  subscriber: Awaited<ReturnType<typeof requireSubscriber>>,
  { replayed, dryRun, things }: { replayed: Replayed; dryRun: boolean; things: string },
) {
  const { complete, count } = replayed;
  if (!complete) {
    const detail = `The daemon is stopping; ${count} ${things} are scheduled. Repeat the request for the rest.`;
    throw new Problem('unavailable', detail);
  }
  const { concurrency } = settings.webhooks;
  return replayedBody(sql, replayed, { subscriber, dryRun, concurrency, opening: { secrets } });
}

type Connection = Pick<ApiDeps, 'sql' | 'secrets'>;

const testRoute = (connection: Connection) =>
  route('POST /v1/subscribers/{id}/test', {
    summary: 'Send a test',
    description:
      'Makes an event of the type `subscriber.test` and sends it to this subscriber alone, the way every event is sent. With `wait`, the answer waits for the first attempt. One that is off is sent nothing (`subscriber_off`).',
    idempotent: connection,
    ...oneSubscriber,
    query: { wait: durationParameter(MOST_WAIT).optional() },
    answers: {
      200: jsonAnswer('It was tried: the delivery with its attempts.', deliveryDetailsSchema),
      202: jsonAnswer(
        'It will be sent: the delivery, and why there is no result yet.',
        deliveryDetailsSchema.extend({ note: z.string() }),
      ),
    },
    problems: ['subscriber_not_found', 'subscriber_off'],
  });

const newSecretSchema = named('NewSecret', { secret: z.string(), oldSecretsUntil: textOrNull });

export type NewSecretBody = z.output<typeof newSecretSchema>;

const rotateRoute = (connection: Connection) =>
  route('POST /v1/subscribers/{id}/rotate-secret', {
    summary: 'Give a subscriber a new secret',
    description:
      'The answer shows the new secret, and nothing shows it again. Both sign until `overlap` has passed, so that the receiver can change over at its leisure.',
    isBodyOptional: true,
    idempotent: connection,
    ...oneSubscriber,
    body: strict({
      overlap: durationParameter(MOST_OVERLAP).optional().openapi({
        description: 'How long the old secret signs too; 24h by default, 30d at most, 0 to drop it at once.',
        example: '24h',
      }),
    }),
    answers: { 200: jsonAnswer('The new secret.', newSecretSchema) },
    problems: ['subscriber_not_found', 'subscriber_configured', 'secrets_key_missing', 'secrets_key_wrong', 'too_many_secrets'],
  });

const resumeRoute = route('POST /v1/subscribers/{id}/resume', {
  summary: 'End the pause of a subscriber',
  description:
    'For one whose receiver was mended: what is parked for it goes out at once, in order, few at first. One that gets events already stays as it is; one that is off is switched on with PATCH (`subscriber_off`). Should it still fail, it is paused again.',
  ...oneSubscriber,
  answers: { 200: jsonAnswer('The subscriber as it is now.', subscriberSchema) },
  problems: ['subscriber_not_found', 'subscriber_off'],
});

const replayRoute = (connection: Connection) =>
  route('POST /v1/subscribers/{id}/replay', {
    summary: 'Send past events again',
    description:
      "Every event of the range that the subscriber's filters let through is sent again, with its own id and bytes, in the order of each purchase; those made before the subscriber was added too. They go after all that is new, and what waits for its first or its next try is left alone. Answers when all of them are scheduled; while the subscriber is paused or off they wait, and `note` says so. `dryRun` counts them and reckons how long they will take. May be repeated. Slack is sent nothing again.",
    idempotent: connection,
    ...oneSubscriber,
    body: strict({
      since: momentParameter,
      until: momentParameter.optional(),
      types: typesField.nullish(),
      dryRun: flagField.optional().describe('Only counts.'),
    }),
    answers: { 200: jsonAnswer('What is sent again, or would be.', replaySchema) },
  });
