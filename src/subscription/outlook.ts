/** What will come of deliveries that are to be sent: at once, later, or not before somebody does something. */

import { untilText } from '../core/explain-standing.ts';
import type { Instant } from '../core/purchase.ts';
import { afterFailures, healthStatus } from '../core/standing.ts';
import type { Queries } from '../store/database.ts';
import { laneHead } from '../store/delivery-list.ts';
import { eraseHealth } from '../store/health.ts';
import { databaseNow } from '../store/overview.ts';
import { livingReplicas } from '../store/replicas.ts';
import { findSubscriber, type StoredSubscriber } from '../store/subscribers.ts';
import { deliveryName } from './names.ts';
import { Refused } from './refused.ts';
import { offAdvice, requireSubscriber } from './subscribers.ts';

/** Why what is for a subscriber waits, and how to change that; null while it is told. */
export function waitAdvice(subscriber: StoredSubscriber, now: Instant): string | null {
  return offAdvice(subscriber) ?? pauseAdvice(subscriber, now);
}

function pauseAdvice({ name, status, health }: StoredSubscriber, now: Instant): string | null {
  if (health === null || healthStatus({ status, health }) !== 'paused') return null;
  const why = health.lastError === null ? '' : ` (${health.lastError.replace(/\.$/, '')})`;
  const until =
    health.pausedUntil! > now
      ? `paused until ${untilText(health.pausedUntil!, now)}`
      : 'paused until the one delivery that is tried now gets through';
  return `${name} is ${until} ${afterFailures(health.failures)}${why}; end that at once: purchase-watch subscribers resume ${name}, or POST /v1/subscribers/${name}/resume`;
}

/** What happens to a delivery that was asked for again, as a sentence; null when it leaves at once. */
export async function whyItWaits(
  sql: Queries,
  { id, subscriber: name }: { id: number; subscriber: string },
): Promise<string | null> {
  const [subscriber, head, daemons, now] = await Promise.all([
    findSubscriber(sql, name),
    laneHead(sql, id),
    livingReplicas(sql),
    databaseNow(sql),
  ]);
  const advice = subscriber === null ? null : waitAdvice(subscriber, now);
  if (advice !== null) return `It waits: ${advice}.`;
  if (daemons.length === 0) return 'It waits: no daemon is running on this database; start one with "purchase-watch start".';
  if (head === null || head.id === id) return null;
  const when = head.dueAt > now ? `, which is tried again at ${untilText(head.dueAt, now)}` : '';
  return `It waits for ${deliveryName(head.id)}, an earlier event of the same purchase${when}.`;
}

/**
 * Ends the pause of a subscriber at once, whatever it was for; answers it as it is then. One that is told stays as it is;
 * throws Refused for one that is off.
 */
export async function resumeSubscriber(sql: Queries, name: string): Promise<StoredSubscriber> {
  const subscriber = await requireSubscriber(sql, name);
  const off = offAdvice(subscriber);
  if (off !== null) throw new Refused('subscriber_off', `nothing was resumed: ${off}`);
  await eraseHealth(sql, subscriber.id);
  return requireSubscriber(sql, name);
}
