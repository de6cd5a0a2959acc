/** The settings that the daemons of a world have. */
import type { Variation } from './acts/act.ts';
import { type Outside, SECRET } from './outside.ts';

/** The ceiling of calls a second at each site, over all daemons together. */
export const MAX_RPS = 20;
/** Calls of a daemon under way at a time. */
export const CONCURRENCY = 8;
const NEXT_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

/** The text of a settings file. */
export function settingsOf(outside: Outside, variation: Variation): string {
  const { giveUpAfter, schedule, isBrief, concurrency, maxRps, most, isRotating, hasSecondSite } = variation;
  const site = {
    baseUrl: outside.simulator.url,
    clientId: 'demo-client',
    clientSecret: 'demo-secret',
    concurrency: concurrency ?? CONCURRENCY,
    maxRps: maxRps ?? MAX_RPS,
  };
  const secrets = isRotating ? { secret: NEXT_SECRET, oldSecrets: [SECRET] } : { secret: SECRET };
  return JSON.stringify({
    sites: { default: site, ...(hasSecondSite ? { second: site } : {}) },
    polling: { giveUpAfter: giveUpAfter ?? '30d', sessionLength: '5m', atRisk: { before: '220s', minimumAmount: { SEK: 100 } } },
    states: {
      WaitingForIdentityProvider: { stuckAfter: '1m' },
      WaitingForCardPayments: { stuckAfter: '1m' },
      ...(most === undefined ? {} : { BeingProcessed: { poll: { most } } }),
    },
    slack: {
      ...{ groupWait: '5s', groupInterval: '30s', quietFor: '20s', maxPerHour: 200 },
      channels: { ops: { webhookUrl: outside.slackUrl } },
    },
    alerts: { channels: { pager: { webhookUrl: outside.pager.url, secret: SECRET } } },
    webhooks: {
      // Nothing is given up within the time of a world.
      schedule: [...(schedule ?? ['5s', '20s', '1m', '2m']), ...Array.from({ length: isBrief ? 0 : 30 }, () => '5m')],
      timeout: '5s',
      concurrency: concurrency ?? 64,
      allowAddresses: ['127.0.0.0/8'],
    },
    subscribers: Object.fromEntries(outside.receivers.map(({ name, url }) => [name, { url, ...secrets }])),
  });
}
