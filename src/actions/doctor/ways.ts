/** Says which way each address is called, once a proxy is set for one of them. */

import { allowedFor } from '../../channels/http/address.ts';
import type { Settings } from '../../config/settings.ts';
import { type NamedAddress, namedAddresses, wayToWebhook } from '../../config/ways.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import { wayText } from '../../domain/values/way.ts';
import { type Finding, reporterOf } from '../overview/finding.ts';
import type { TriedWebhook } from './receivers.ts';

/** `webhooks` are those of the settings and of the API. */
export function checkWays(settings: Settings, webhooks: readonly TriedWebhook[]): Finding[] {
  const allowed = allowedFor('api', settings.webhooks);
  const ofApi = webhooks.flatMap(({ name, reach, namedBy }): Omit<NamedAddress, 'setting'>[] => {
    if (reach === null || namedBy !== 'api') return [];
    return [{ about: `receiver ${name}`, address: reach.url, way: wayToWebhook(reach.url, allowed, settings) }];
  });
  const all = [...namedAddresses(settings), ...ofApi];
  if (all.every(({ way }) => way.by === null)) return [];
  return all.map(({ about, address, way }) => reporterOf(about).ok(`${shownAddress(address)} is called ${wayText(way)}`));
}
