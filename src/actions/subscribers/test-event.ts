/** Test events: one subscriber, and no other, gets an event that says it is a test. */

import { draftOf } from '../../domain/events/make-event.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { clause } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { announceTest } from '../../postgres/events/test-events.ts';
import type { StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { Refused } from './refused.ts';

/** Why a subscriber is off and how to switch it on, or null while it is on. */
export function offAdvice({ name, audience, status, statusReason }: StoredSubscriber): string | null {
  if (status !== 'off') return null;
  const remedy =
    audience === 'people'
      ? 'give it another address in the settings'
      : `${commandLine`subscribers change ${name} --status active`}, or PATCH /v1/subscribers/${name} with {"status": "active"}`;
  return `${name} is off (${clause(statusReason ?? 'no reason is known')}); switch it on: ${remedy}`;
}

/** Has a test event sent to one subscriber alone; answers its delivery's id. Throws Refused when it is off. */
export async function testSubscriber(sql: Queries, subscriber: StoredSubscriber, now: Instant): Promise<number> {
  const { id, name } = subscriber;
  const off = offAdvice(subscriber);
  if (off !== null) throw new Refused('subscriber_off', `nothing was sent: ${off}`);
  const note = 'A test: nothing happened to any purchase.';
  const draft = draftOf('subscriber.test', { at: Math.floor(now) }, { subscriber: name, note });
  return announceTest(sql, { subscriber: id, draft });
}
