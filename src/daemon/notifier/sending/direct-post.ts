/** Posts to the channels for people without the outbox, while the database cannot keep a delivery. */

import type { ConfiguredSubscriber } from '../../../channels/recipients.ts';
import { eventBody } from '../../../domain/events/make-event.ts';
import type { IncidentEventType } from '../../../domain/events/people-event-types.ts';
import { audienceOf, type ChannelRule } from '../../../domain/incidents/audience.ts';
import type { JsonValue } from '../../../domain/values/exact-json.ts';
import { newEventId } from '../../../postgres/events/events.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Logger } from '../../../runtime/logger.ts';

export interface DirectPosts {
  /** Posts to every channel that gets alerts about replicas; false when no channel accepted the message. Never rejects. */
  post(stage: 'opened' | 'ended', data: { readonly [key: string]: JsonValue }): Promise<boolean>;
}

export function createDirectPosts({
  clock,
  log,
  configured,
  channels,
}: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly configured: readonly ConfiguredSubscriber[];
  readonly channels: readonly ChannelRule[];
}): DirectPosts {
  const audience = audienceOf({ kind: 'replica', severity: Number.POSITIVE_INFINITY, subscriber: null }, [], channels);
  const people = configured.filter(({ definition: { audience: whom, name } }) => whom === 'people' && audience.includes(name));

  const postTo = async ({ definition, open }: ConfiguredSubscriber, type: IncidentEventType, body: string, id: string) => {
    const { channel } = open();
    const result = await channel.send({ id, type, body }, { attempt: 1, now: clock.now() });
    await channel.close();
    if (result.kind === 'delivered') return true;
    log.error({ subscriber: definition.name, reason: result.reason, detail: result.detail }, 'replica.not_posted');
    return false;
  };

  return {
    post: async (stage, data) => {
      const type: IncidentEventType = `incident.${stage}`;
      const at = clock.now();
      const id = newEventId(at);
      const body = eventBody(id, { type, sequence: null, at, state: null, data });
      const taken = await Promise.all(people.map((each) => postTo(each, type, body, id)));
      return taken.includes(true);
    },
  };
}
