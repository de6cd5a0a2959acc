/** Slack as a kind of channel. */

import { exampleEvents } from '../people/examples.ts';
import { SERVICE_TIMEOUT, serviceKind } from '../people/service-kind.ts';
import { pingSlack } from './ping.ts';
import { BETWEEN_MESSAGES, createSlackChannel } from './slack.ts';

export const slackKind = serviceKind({
  create: createSlackChannel,
  spacing: BETWEEN_MESSAGES,
  // A message that is refused for how it is built is sent once more as plain text.
  longestAttempt: 2 * SERVICE_TIMEOUT,
  examples: exampleEvents,
  ping: { within: SERVICE_TIMEOUT, host: 'hooks.slack.com', ask: pingSlack },
});
