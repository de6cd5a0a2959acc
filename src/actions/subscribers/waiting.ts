/** Deliveries that wait for a subscriber, why, and when the next try is: for a person who decides whether to resume it. */
import { drainAfterResume } from '../../domain/deliveries/drain.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { lastAnswer } from '../../postgres/deliveries/answers.ts';
import { paceOf } from '../../postgres/deliveries/pace.ts';
import { MOST_TYPED, MOST_WAITING, waitingTypes } from '../../postgres/deliveries/waiting.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import type { StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { subscriberCondition } from '../../postgres/subscribers/symptoms.ts';
import { answerBody } from './body.ts';
import { deliveryName } from './names.ts';

export { MOST_WAITING, waitingFor } from '../../postgres/deliveries/waiting.ts';

/** All that waits for a subscriber, as programs see it. `concurrency`: deliveries in flight at most, for each daemon. */
export async function waitingBody(sql: Queries, { id, name, health, unreached }: StoredSubscriber, concurrency: number) {
  const now = await databaseNow(sql);
  const since = health?.failingSince ?? unreached?.since ?? now;
  const [condition, types, answer, pace] = await Promise.all([
    subscriberCondition(sql, { name, since }),
    waitingTypes(sql, id),
    lastAnswer(sql, id),
    paceOf(sql, id),
  ]);
  const { waiting = 0, givenUp = 0 } = condition ?? {};
  const typed = types.reduce((sum, { count }) => sum + count, 0);
  return {
    count: waiting,
    atLeast: waiting >= MOST_WAITING,
    oldest: isoTimeOrNull(types.length === 0 ? null : Math.min(...types.map(({ oldest }) => oldest))),
    types: types.map(({ oldest, ...each }) => ({ ...each, oldest: isoTime(oldest) })),
    // Deliveries that came or went between the two counts are no rest.
    untyped: typed < MOST_TYPED ? 0 : Math.max(waiting - typed, 0),
    nextTryAt: isoTimeOrNull(condition?.nextTryAt ?? null),
    deliveredAt: isoTimeOrNull(condition?.deliveredAt ?? null),
    givenUp,
    givenUpAtLeast: givenUp >= MOST_WAITING,
    drain: drainAfterResume({ ...pace, concurrency }),
    lastAnswer: answer === null ? null : { delivery: deliveryName(answer.delivery), ...answerBody(answer) },
  };
}
