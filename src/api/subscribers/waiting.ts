/** Deliveries that wait for a subscriber, by type, and its last answer. */

import { z } from '@hono/zod-openapi';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { waitingBody } from '../../actions/subscribers/waiting.ts';
import { listOf, named, orNull, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { answerSchema, oneSubscriber } from './fields.ts';

export function mountWaiting(app: Api, { sql, settings }: ApiDeps): void {
  app.openapi(waitingRoute, async (c) =>
    c.json(await waitingBody(sql, await requireSubscriber(sql, c.req.valid('param').id), settings.webhooks.concurrency), 200),
  );
}

const waitingSchema = named('SubscriberWaiting', {
  count: z.int().openapi({ description: 'Deliveries that wait, parked ones among them; counted to 100 000.', example: 9520 }),
  atLeast: z.boolean().describe('Whether there may be more than were counted.'),
  oldest: textOrNull.describe('When the first of their events was made.'),
  types: listOf({ type: z.string(), count: z.int(), oldest: z.string() }).describe('The same by type of event, the most first.'),
  untyped: z.int().describe('How many of `count` are in no type: types are counted of the oldest 20 000.'),
  nextTryAt: textOrNull.describe('When the next delivery is tried; null when none waits, or the subscriber is off.'),
  deliveredAt: textOrNull.describe('When it last took one of its newest deliveries.'),
  givenUp: z.int().describe('Deliveries given up since the trouble began; counted to 100 000.'),
  givenUpAtLeast: z.boolean(),
  drain: orNull(z.object({ ms: z.number(), perSecond: z.number() })).describe(
    'Milliseconds until all of them have arrived once it takes deliveries again, and the deliveries a second that this is, by what was measured lately; null when nothing is known to reckon with.',
  ),
  lastAnswer: orNull(answerSchema.extend({ delivery: z.string().openapi({ example: 'dlv_42' }) })).describe(
    'The whole answer to the last attempt that failed; null when none is kept.',
  ),
});

export type SubscriberWaitingBody = z.output<typeof waitingSchema>;

const waitingRoute = route('GET /v1/subscribers/{id}/waiting', {
  summary: 'Read what waits for a subscriber',
  description: 'How many deliveries wait and of which types, when the next is tried, and what the subscriber answered last.',
  ...oneSubscriber,
  answers: { 200: jsonAnswer('What waits.', waitingSchema) },
});
