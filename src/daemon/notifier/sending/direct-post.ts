/** Posts to the channels for people without the outbox, while the database cannot keep a delivery. */

import type { ConfiguredSubscriber } from '../../../channels/outgoing/channel-kind.ts';
import { draftOf } from '../../../domain/events/make-event.ts';
import type { IncidentEventData } from '../../../domain/events/people-event-types.ts';
import { audienceOf } from '../../../domain/incidents/audience.ts';
import { type EventRow, eventRow, SITE_SHARD } from '../../../postgres/events/events.ts';
import type { Deps } from '../../deps.ts';

/** An event that was posted, and the names of the channels that took it. */
export interface DirectPost {
  readonly event: EventRow;
  readonly channels: readonly string[];
}

interface DirectPostsOptions extends Pick<Deps, 'clock' | 'log' | 'channels'> {
  readonly configured: readonly ConfiguredSubscriber[];
}

export function createDirectPosts({ clock, log, configured, channels }: DirectPostsOptions) {
  const audience = audienceOf({ kind: 'replica', severity: Number.POSITIVE_INFINITY, subscriber: null }, [], channels);
  const people = configured.filter(({ definition: { audience: whom, name } }) => whom === 'people' && audience.includes(name));

  const isTaken = async ({ definition, open }: ConfiguredSubscriber, event: EventRow): Promise<boolean> => {
    const { channel } = open();
    const result = await channel.send(event, { attempt: 1, now: clock.now() });
    await channel.close();
    if (result.kind === 'delivered') return true;
    log.error({ subscriber: definition.name, reason: result.reason, detail: result.detail }, 'replica.not_posted');
    return false;
  };

  return {
    /** Posts to every channel that gets alerts about replicas; null when no channel took the message. Never rejects. */
    post: async (data: IncidentEventData<'incident.opened'>): Promise<DirectPost | null> => {
      const draft = draftOf('incident.opened', { at: clock.now() }, data);
      const event = eventRow({ draft, site: '', purchase: null, shard: SITE_SHARD, incident: data.incidentId });
      const taken = await Promise.all(people.map((each) => isTaken(each, event)));
      const names = people.filter((_each, place) => taken[place]).map(({ definition }) => definition.name);
      return names.length === 0 ? null : { event, channels: names };
    },
  };
}
