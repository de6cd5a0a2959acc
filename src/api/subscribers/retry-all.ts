/** Having everything sent again that a subscriber was not sent. */

import { retryGivenUp } from '../../actions/subscribers/given-up.ts';
import { waitAdvice } from '../../actions/subscribers/outlook.ts';
import { drainOf, replayedBody, whyNoReplay } from '../../actions/subscribers/replay.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { NOT_DELIVERED } from '../../domain/deliveries/delivery-status.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { flagField, wordParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { Problem } from '../http/problems.ts';
import { type Api, type Deps, jsonAnswer, route } from '../http/route.ts';
import { replaySchema, subscriberName } from './fields.ts';

export function mountRetryAll(app: Api, { changes: sql, secrets, settings }: Deps): void {
  app.openapi(retryAllRoute({ sql, secrets }), async (c) => {
    const subscriber = await requireSubscriber(sql, c.req.valid('param').id);
    const refusal = whyNoReplay(subscriber);
    if (refusal !== null) throw new Problem('invalid_request', `${refusal}.`);
    const { status = 'exhausted', dryRun = false } = c.req.valid('json');
    const retried = await retryGivenUp(sql, { subscriber: subscriber.id, status }, { dryRun, signal: c.env?.closing });
    if (!retried.complete) {
      throw new Problem(
        'unavailable',
        `The daemon is stopping; ${retried.count} deliveries are scheduled. Repeat the request for the rest.`,
      );
    }
    const advice = waitAdvice(subscriber, await databaseNow(sql), { secrets });
    const drain = dryRun
      ? await drainOf(sql, retried, { subscriber: subscriber.id, concurrency: settings.webhooks.concurrency })
      : null;
    return c.json(replayedBody(retried, { dryRun, advice, drain }), 200);
  });
}

const retryAllRoute = (connection: Pick<Deps, 'sql' | 'secrets'>) =>
  route('POST /v1/subscribers/{id}/retry', {
    summary: 'Send again what was not delivered',
    description:
      'Everything whose schedule is used up (`exhausted`, the default), or that was never sent (`suppressed`), with its id and bytes, after all that is new. Answers when all of them are scheduled; while the subscriber is paused or off they wait, and `note` says so. `dryRun` counts them and reckons how long they will take. May be repeated. Slack is sent nothing again.',
    idempotent: connection,
    params: { id: subscriberName },
    body: strict({
      status: wordParameter(NOT_DELIVERED, 'status').optional(),
      dryRun: flagField.optional().describe('Only counts.'),
    }),
    answers: { 200: jsonAnswer('What is sent again, or would be; `waiting` is 0.', replaySchema) },
    problems: ['subscriber_not_found'],
  });
