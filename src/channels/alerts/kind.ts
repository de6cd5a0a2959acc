/** Alert webhooks as a kind of channel: alerts as signed events for the system that pages people. */

import type { ChannelOf } from '../../config/settings.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';
import { foreverKeys } from '../outgoing/sealed.ts';
import { exampleEvents } from '../people/examples.ts';
import { openWebhook } from '../webhook/open.ts';

/**
 * Each event is sent by itself and in order, however many there are: a program opens and closes alarms by them, so
 * neither one message for several nor a ceiling of an hour would do.
 */
export const alertsKind: PeopleKindOf<ChannelOf<'alerts'>> = {
  audience: 'people',
  // That of webhooks, which counts anyway.
  longestAttempt: 0,
  open: ({ webhookUrl: url, secret, oldSecrets }, { settings }) => {
    const reach = {
      url,
      keys: foreverKeys(secret, ...oldSecrets),
      format: 'standard',
      headers: {},
      clientCertificate: null,
    } as const;
    return { ...openWebhook(reach, settings, 'configuration'), concurrency: 1 };
  },
  examples: exampleEvents,
};
