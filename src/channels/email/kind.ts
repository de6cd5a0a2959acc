/** E-mail as a kind of channel. */

import type { ChannelOf } from '../../config/settings.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';
import { exampleEvents } from '../people/examples.ts';
import { SERVICE_TIMEOUT } from '../people/service-kind.ts';
import { createEmailChannel, pingEmail } from './email.ts';

/** Mail servers greet slowly on purpose, to strangers above all. */
const ATTEMPT = 3 * SERVICE_TIMEOUT;

export const emailKind: PeopleKindOf<ChannelOf<'email'>> = {
  audience: 'people',
  longestAttempt: ATTEMPT,
  open: ({ webhookUrl: url, from, to, maxPerHour }, { setting, settings: { consoleUrl } }) => ({
    channel: createEmailChannel({ url, from, to, consoleUrl, timeout: ATTEMPT, setting }),
    concurrency: 1,
    spacing: 1_000,
    timeout: ATTEMPT,
    ...(maxPerHour !== null && { maxPerHour }),
  }),
  examples: exampleEvents,
  ping: { within: ATTEMPT, host: 'the mail server', ask: pingEmail },
};
