/** When the notifier will send deliveries that wait: at once, later, or not before a person does something. */

import { isUntried } from '../../domain/deliveries/subscriber-health.ts';
import { afterFailures, healthStatus, isAskedFor } from '../../domain/deliveries/subscriber-state.ts';
import { untilText } from '../../domain/explain/standing.ts';
import { noDaemonText } from '../../domain/replicas/daemon-silence.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { clause, inBrackets } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { bringForward } from '../../postgres/deliveries/bring-forward.ts';
import { type DeliveryRow, findDelivery, laneHead } from '../../postgres/deliveries/delivery-list.ts';
import { eraseFailures, eraseHealth } from '../../postgres/deliveries/subscriber-health.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { daemonSilence, livingReplicas } from '../../postgres/shards/living-replicas.ts';
import { findSubscriber, type StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { deliveryName } from './names.ts';
import { Refused } from './refused.ts';
import { requireSubscriber, type SubscriberDeps, unreachableReason } from './subscribers.ts';
import { offAdvice } from './test-event.ts';

/** The key that opens addresses. Left out, nothing is known of whether they can be read. */
export type Opening = Pick<SubscriberDeps, 'secrets'>;

/** Why a subscriber's deliveries wait, and how to change that; null while they are delivered. */
export function waitAdvice(subscriber: StoredSubscriber, now: Instant, opening?: Opening): string | null {
  return offAdvice(subscriber) ?? unreadableAdvice(subscriber, opening) ?? pauseAdvice(subscriber, now) ?? wayAdvice(subscriber);
}

/** Advice about a subscriber whose address cannot be read. No pause ends that, so this advice comes first. */
function unreadableAdvice(subscriber: StoredSubscriber, opening: Opening | undefined): string | null {
  // Without a key here nothing is known of the daemons' one.
  const why = opening === undefined || opening.secrets === null ? null : unreachableReason(opening, subscriber);
  if (why === null) return null;
  const reason = clause(why).replace(/^Its/, 'its');
  return `nothing can be sent to ${subscriber.name} (${reason}); set that key for every daemon and restart, or remove the subscriber and add it again`;
}

/** Advice about a subscriber that is not reached for a reason on this side. */
function wayAdvice({ name, unreached }: StoredSubscriber): string | null {
  if (unreached === null) return null;
  const why = inBrackets(unreached.error);
  if (isUntried(unreached))
    return `a daemon sends nothing to ${name}${why}; give every daemon the settings that it was added under, SECRETS_KEY above all, and restart them`;
  return `we do not get through to ${name}${why}, which is tried again every few minutes; once that is mended, at once: ${commandLine`subscribers resume ${name}`}, or POST /v1/subscribers/${name}/resume`;
}

function pauseAdvice(subscriber: StoredSubscriber, now: Instant): string | null {
  const { name, health } = subscriber;
  if (health === null || healthStatus(subscriber) !== 'paused') return null;
  const until =
    health.pausedUntil! > now
      ? `paused until ${untilText(health.pausedUntil!, now)}`
      : 'paused until the one delivery that is tried now gets through';
  const paused = `${name} is ${until} ${afterFailures(health.failures)}${inBrackets(health.lastError)}`;
  if (isAskedFor(health)) return `${paused}; it goes on by itself then`;
  return `${paused}; end that at once: ${commandLine`subscribers resume ${name}`}, or POST /v1/subscribers/${name}/resume`;
}

/** Why a delivery that is sent again waits, as a sentence; null when the notifier sends it at once. */
export async function whyItWaits(
  sql: Queries,
  delivery: Pick<DeliveryRow, 'id' | 'subscriber' | 'purchaseId' | 'replayed'>,
  opening?: Opening,
): Promise<string | null> {
  const { id, subscriber: name } = delivery;
  const [subscriber, head, replicas, now] = await Promise.all([
    findSubscriber(sql, name),
    laneHead(sql, id),
    livingReplicas(sql),
    databaseNow(sql),
  ]);
  const advice = subscriber === null ? null : waitAdvice(subscriber, now, opening);
  if (advice !== null) return `It waits: ${advice}.`;
  if (replicas.length === 0) return `It waits: ${noDaemonText(await daemonSilence(sql))}.`;
  if (head === null || head.id === id) return null;
  const when = head.dueAt > now ? `, which is tried again at ${untilText(head.dueAt, now)}` : '';
  return `It waits for ${deliveryName(head.id)}, ${headText(delivery, (await findDelivery(sql, head.id))?.replayed === true)}${when}.`;
}

/** The event before a delivery in its lane, in words. A lane is of one purchase, or of all events that are of no single one. */
function headText({ purchaseId, replayed }: Pick<DeliveryRow, 'purchaseId' | 'replayed'>, isHeadReplayed: boolean): string {
  const of = purchaseId === null ? 'that is of no single purchase' : 'of the same purchase';
  // Perhaps a later one: events that are sent again go after all new ones.
  return replayed && !isHeadReplayed ? `an event ${of} that is new and goes first` : `an earlier event ${of}`;
}

/**
 * Ends the pause of a subscriber at once, whatever it was for, and the waits of its deliveries; answers it as it is then,
 * whether anything was held back, and why nothing is sent all the same: a daemon that cannot use its address is not helped
 * by this. Throws Refused for one that is off.
 */
export async function resumeSubscriber(sql: Queries, name: string) {
  const before = await requireSubscriber(sql, name);
  const off = offAdvice(before);
  if (off !== null) throw new Refused('subscriber_off', `nothing was resumed: ${off}`);
  const untried = isUntried(before.unreached);
  await (untried ? eraseFailures(sql, before.id) : eraseHealth(sql, before.id));
  const freed = await bringForward(sql, before.id, { kind: 'all' }, await databaseNow(sql));
  const status = healthStatus(before);
  const wasPaused = freed > 0 || status === 'paused' || (status === 'unreached' && !untried);
  const held = untried ? wayAdvice(before) : null;
  return { subscriber: await requireSubscriber(sql, name), wasPaused, held };
}
