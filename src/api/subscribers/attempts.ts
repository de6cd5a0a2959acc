/** The latest attempts of a subscriber, over all of its deliveries. */

import { z } from '@hono/zod-openapi';
import { latestAttempts } from '../../actions/deliveries/deliveries.ts';
import { deliveryName } from '../../actions/subscribers/names.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { isoTime } from '../../domain/values/time.ts';
import { limitParameter } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { attemptSchema, oneSubscriber } from './fields.ts';

const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 100;

export function mountAttempts(app: Api, { sql }: ApiDeps): void {
  app.openapi(attemptsRoute, async (c) => {
    const { id } = await requireSubscriber(sql, c.req.valid('param').id);
    const attempts = await latestAttempts(sql, id, c.req.valid('query').limit ?? DEFAULT_LIMIT);
    return c.json(
      { data: attempts.map(({ delivery, at, ...each }) => ({ delivery: deliveryName(delivery), ...each, at: isoTime(at) })) },
      200,
    );
  });
}

const attemptsSchema = z.object({
  data: z.array(attemptSchema.extend({ delivery: z.string().openapi({ example: 'dlv_42' }) }).openapi('SubscriberAttempt')),
});

export type SubscriberAttemptsBody = z.output<typeof attemptsSchema>;

const attemptsRoute = route('GET /v1/subscribers/{id}/attempts', {
  summary: 'Read the latest attempts of a subscriber',
  description:
    'The latest first: of the deliveries that were delivered or given up last, and of those that fail now. It has no pages; the attempts of one delivery are read with the delivery.',
  ...oneSubscriber,
  query: { limit: limitParameter(MOST_LIMIT).openapi({ default: DEFAULT_LIMIT }).optional() },
  answers: { 200: jsonAnswer('The attempts.', attemptsSchema) },
});
