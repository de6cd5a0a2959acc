/** Slack as a kind of channel. */

import type { ChannelSettings } from '../../config/settings.ts';
import { wayTo } from '../../config/ways.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';
import { exampleEvents } from '../people/examples.ts';
import { pingSlack } from './ping.ts';
import { BETWEEN_MESSAGES, createSlackChannel } from './slack.ts';

const TIMEOUT: Milliseconds = 10_000;
/** A message that is refused for how it is built is sent once more as plain text. */
const LONGEST_ATTEMPT = 2 * TIMEOUT;

export const slackKind: PeopleKindOf<ChannelSettings> = {
  audience: 'people',
  longestAttempt: LONGEST_ATTEMPT,
  open: ({ webhookUrl: url, maxPerHour }, { setting, settings }) => ({
    channel: createSlackChannel({ url, setting, consoleUrl: settings.consoleUrl, timeout: TIMEOUT, way: wayTo(url, settings) }),
    concurrency: 1,
    spacing: BETWEEN_MESSAGES,
    timeout: LONGEST_ATTEMPT,
    ...(maxPerHour !== null && { maxPerHour }),
  }),
  examples: exampleEvents,
  ping: { within: TIMEOUT, host: 'hooks.slack.com', ask: pingSlack },
};
