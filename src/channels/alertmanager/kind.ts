/** Alertmanager as a kind of channel. */

import type { ChannelSettings } from '../../config/settings.ts';
import { wayTo } from '../../config/ways.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';
import { exampleEvents } from '../people/examples.ts';
import { createAlertmanagerChannel, pingAlertmanager } from './alertmanager.ts';

const TIMEOUT: Milliseconds = 10_000;

/** Alertmanager groups, silences and limits by itself, so each alert is sent at once. */
export const alertmanagerKind: PeopleKindOf<ChannelSettings> = {
  audience: 'people',
  longestAttempt: TIMEOUT,
  open: ({ webhookUrl: url }, { setting, settings }) => ({
    channel: createAlertmanagerChannel({
      ...{ url, setting, consoleUrl: settings.consoleUrl, timeout: TIMEOUT },
      way: wayTo(url, settings),
    }),
    concurrency: 1,
    spacing: 0,
    timeout: TIMEOUT,
  }),
  examples: (now, size) => exampleEvents(now, size).filter(({ type }) => type !== 'incident.checkouts'),
  ping: { within: TIMEOUT, host: 'Alertmanager', ask: pingAlertmanager },
};
