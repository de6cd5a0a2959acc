/** Microsoft Teams as a kind of channel. */

import type { ChannelSettings } from '../../config/settings.ts';
import { wayTo } from '../../config/ways.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';
import { exampleEvents } from '../people/examples.ts';
import { createTeamsChannel } from './teams.ts';

const TIMEOUT: Milliseconds = 10_000;
/** Teams takes a few messages a second. */
const SPACING: Milliseconds = 1_000;

/** It cannot be asked whether it is alive: a workflow runs, and fails visibly, with whatever it is sent. */
export const teamsKind: PeopleKindOf<ChannelSettings> = {
  audience: 'people',
  longestAttempt: TIMEOUT,
  open: ({ webhookUrl: url, maxPerHour }, { setting, settings }) => ({
    channel: createTeamsChannel({ url, setting, consoleUrl: settings.consoleUrl, timeout: TIMEOUT, way: wayTo(url, settings) }),
    concurrency: 1,
    spacing: SPACING,
    timeout: TIMEOUT,
    ...(maxPerHour !== null && { maxPerHour }),
  }),
  examples: exampleEvents,
};
