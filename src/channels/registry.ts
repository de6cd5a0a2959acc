/** Every kind of channel. A new one is a folder here, its settings in `config`, and a line in this table. */

import type { PeopleKind } from '../config/kinds/people-kinds.ts';
import type { ChannelKind, ChannelOf, ChannelSettings, Settings, SubscriberSettings } from '../config/settings.ts';
import type { Audience } from '../domain/deliveries/subscriber-health.ts';
import { alertmanagerKind } from './alertmanager/kind.ts';
import { alertsKind } from './alerts/kind.ts';
import { createNatsChannel } from './brokers/nats.ts';
import { createRabbitChannel } from './brokers/rabbitmq.ts';
import { emailKind } from './email/kind.ts';
import type { Channel } from './outgoing/channel.ts';
import type { Opened, PeopleKindOf, SystemsKind } from './outgoing/channel-kind.ts';
import { foreverKeys } from './outgoing/sealed.ts';
import { slackKind } from './slack/kind.ts';
import { teamsKind } from './teams/kind.ts';
import { configuredReach, openWebhook } from './webhook/open.ts';

type SystemKind = SubscriberSettings['kind'];
type SystemKinds = { readonly [Kind in SystemKind]: SystemsKind<Extract<SubscriberSettings, { kind: Kind }>> };
type PeopleKinds = { readonly [Kind in PeopleKind]: PeopleKindOf<ChannelOf<Kind>> };

const CHANNELS: SystemKinds & PeopleKinds = {
  webhook: {
    audience: 'systems',
    open: (subscriber, settings) => openWebhook(configuredReach(subscriber), settings, 'configuration'),
  },
  nats: {
    audience: 'systems',
    open: (subscriber, { webhooks }) => opened(createNatsChannel({ ...subscriber, ...atBroker(subscriber, webhooks) }), webhooks),
  },
  rabbitmq: {
    audience: 'systems',
    open: (subscriber, { webhooks }) =>
      opened(createRabbitChannel({ ...subscriber, ...atBroker(subscriber, webhooks) }), webhooks),
  },
  slack: slackKind,
  teams: teamsKind,
  email: emailKind,
  alerts: alertsKind,
  alertmanager: alertmanagerKind,
};

export const CHANNEL_KINDS = Object.keys(CHANNELS) as [ChannelKind, ...ChannelKind[]];

/** For whom a kind of channel is. */
export function audienceOfKind(kind: ChannelKind): Audience {
  return CHANNELS[kind].audience;
}

/** The methods and limits of a kind of channel for people. */
export function peopleKind(kind: PeopleKind): PeopleKindOf<ChannelSettings> {
  return CHANNELS[kind];
}

/** Opens the channel of a subscriber that the settings name. */
export function openSystem(subscriber: SubscriberSettings, settings: Settings): Opened {
  const { open } = CHANNELS[subscriber.kind] as SystemsKind<SubscriberSettings>;
  return open(subscriber, settings);
}

function opened(channel: Channel, { timeout, concurrency }: Settings['webhooks']): Opened {
  return { channel, concurrency, spacing: 0, timeout };
}

function atBroker(
  { secret, oldSecrets, signingKey, ...pair }: Extract<SubscriberSettings, { kind: 'nats' | 'rabbitmq' }>,
  { timeout }: Settings['webhooks'],
) {
  const { clientCertificate: certificate, clientKey: key } = pair;
  const clientCertificate = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return { timeout, clientCertificate, keys: foreverKeys(secret, ...oldSecrets, signingKey) };
}
