/** The latest attempts of a subscriber, over all of its deliveries. */

import { createRoute, z } from '@hono/zod-openapi';
import { deliveryName } from '../../actions/subscribers/names.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { latestAttempts } from '../../postgres/deliveries/attempts-list.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { strict } from '../http/invalid.ts';
import { limitParameter } from '../http/page.ts';
import { problems, READ_PROBLEMS } from '../http/problems.ts';
import { attemptSchema, subscriberName } from './fields.ts';

const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 100;

/** Mounts the call. */
export function mountAttempts(app: Api, { sql }: { sql: Sql }): void {
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

const attemptsRoute = createRoute({
  method: 'get',
  path: '/v1/subscribers/{id}/attempts',
  security: needs('read'),
  summary: 'Read the latest attempts of a subscriber',
  description:
    'The latest first: of the deliveries that were delivered or given up last, and of those that fail now. It has no pages; the attempts of one delivery are read with the delivery.',
  tags: ['Subscribers'],
  request: {
    params: z.object({ id: subscriberName }),
    query: strict({ limit: limitParameter(MOST_LIMIT).openapi({ default: DEFAULT_LIMIT }).optional() }),
  },
  responses: {
    200: jsonAnswer('The attempts.', attemptsSchema),
    ...problems(...READ_PROBLEMS, 'subscriber_not_found'),
  },
});
