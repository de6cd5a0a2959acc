/** Alertmanager as a kind of channel. */

import { exampleEvents } from '../people/examples.ts';
import { SERVICE_TIMEOUT, serviceKind } from '../people/service-kind.ts';
import { createAlertmanagerChannel, pingAlertmanager } from './alertmanager.ts';

/** Alertmanager groups, silences and limits by itself, so each alert is sent at once. */
export const alertmanagerKind = serviceKind({
  create: createAlertmanagerChannel,
  spacing: 0,
  examples: (now, size) => exampleEvents(now, size).filter(({ type }) => type !== 'incident.checkouts'),
  ping: { within: SERVICE_TIMEOUT, host: 'Alertmanager', ask: pingAlertmanager },
});
