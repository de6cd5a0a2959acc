/** Having everything sent again that a subscriber was not sent. */

import { retryGivenUp } from '../../actions/subscribers/given-up.ts';
import { NOT_DELIVERED } from '../../domain/deliveries/delivery-status.ts';
import { flagField, wordParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { replayable, sentAgain } from './actions.ts';
import { oneSubscriber, replaySchema } from './fields.ts';

export function mountRetryAll(app: Api, deps: ApiDeps): void {
  const { changes: sql, secrets } = deps;
  app.openapi(retryAllRoute({ sql, secrets }), async (c) => {
    const subscriber = await replayable(sql, c.req.valid('param').id);
    const { status = 'exhausted', dryRun = false } = c.req.valid('json');
    const replayed = await retryGivenUp(sql, { subscriber: subscriber.id, status }, { dryRun, signal: c.env?.closing });
    return c.json(await sentAgain(deps, subscriber, { replayed, dryRun, things: 'deliveries' }), 200);
  });
}

const retryAllRoute = (connection: Pick<ApiDeps, 'sql' | 'secrets'>) =>
  route('POST /v1/subscribers/{id}/retry', {
    summary: 'Send again what was not delivered',
    description:
      'Everything whose schedule is used up (`exhausted`, the default), or that was never sent (`suppressed`), with its id and bytes, after all that is new. Answers when all of them are scheduled; while the subscriber is paused or off they wait, and `note` says so. `dryRun` counts them and reckons how long they will take. May be repeated. Slack is sent nothing again.',
    idempotent: connection,
    ...oneSubscriber,
    body: strict({
      status: wordParameter(NOT_DELIVERED, 'status').optional(),
      dryRun: flagField.optional().describe('Only counts.'),
    }),
    answers: { 200: jsonAnswer('What is sent again, or would be; `waiting` is 0.', replaySchema) },
  });
