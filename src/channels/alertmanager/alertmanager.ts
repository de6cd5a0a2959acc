/** The Alertmanager channel: incidents as alerts that fire until they are over. */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Way } from '../../domain/values/way.ts';
import { hiding } from '../http/hiding.ts';
import { createPoster, judge, type ServiceOptions, unanswered } from '../http/service.ts';
import type { Channel } from '../outgoing/channel.ts';
import type { Ping } from '../outgoing/channel-kind.ts';
import { alertsOf } from './alerts.ts';

const OPERATION = '/api/v2/alerts';

/**
 * A channel to one Alertmanager, at an address with the prefix of its paths. It sends an incident's present alert each time that it is given
 * one of the incident's events. No answer switches the channel off: an Alertmanager that moved, or got a proxy, is mended later, and alerts
 * must not stop for good.
 */
export function createAlertmanagerChannel(options: ServiceOptions): Channel {
  const { url, consoleUrl, timeout, setting } = options;
  const hide = hiding([url]);
  const poster = createPoster(options, OPERATION);
  return {
    send: async (event, attempt) => {
      const { now } = attempt;
      const outcome = await poster.post(JSON.stringify(alertsOf(event, { now, consoleUrl })), attempt);
      return judge(outcome, { service: 'Alertmanager', timeout, hide, now }, (status) => {
        if (status === 200) return null;
        const todo = isElsewhere(status) ? ` See that ${setting} is the address of Alertmanager, without ${OPERATION}.` : '';
        return { kind: 'failed', reason: `http_${status}`, detail: `Alertmanager answered ${status}.${todo}` };
      });
    },
    close: poster.close,
  };
}

/** Whether an Alertmanager answers: it takes a list without an alert, and shows nothing. */
export async function pingAlertmanager(url: string, timeout: Milliseconds, way: Way): Promise<Ping> {
  const poster = createPoster({ url, timeout, way }, OPERATION);
  try {
    const { status, tookMs, ...outcome } = await poster.post('[]');
    if (status === null || outcome.error !== null) {
      return { kind: 'silent', detail: unanswered('Alertmanager', { ...outcome, tookMs }, timeout).detail };
    }
    if (status === 200) return { kind: 'alive', tookMs };
    const todo = isElsewhere(status) ? `: set its own address, without ${OPERATION}` : '';
    return { kind: 'unclear', detail: `the answer was ${status}, not that of Alertmanager to an empty list${todo}` };
  } finally {
    await poster.destroy();
  }
}

/** Another program answers, or another path of Alertmanager. */
const isElsewhere = (status: number): boolean => status === 404 || (status >= 200 && status < 400);
