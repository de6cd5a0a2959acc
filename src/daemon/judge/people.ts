/** The channels for people, as the judge has read them. */

import type { ChannelRule } from '../../domain/incidents/audience.ts';
import type { peopleChannels } from '../../postgres/subscribers/symptoms.ts';

export type PeopleChannels = Awaited<ReturnType<typeof peopleChannels>>;

/** The configured channels, each with whether it takes messages; one that no subscriber has the name of takes none. */
export const withDeafness = (channels: readonly ChannelRule[], people: PeopleChannels): ChannelRule[] =>
  channels.map((channel) => ({ ...channel, isDeaf: people.find(({ name }) => name === channel.name)?.isDeaf ?? true }));

/** The row ids of a channel's subscriber: one, or none while it is not there. */
export const idsIn = (people: PeopleChannels) => (channel: string) =>
  people.filter(({ name }) => name === channel).map(({ id }) => id);
