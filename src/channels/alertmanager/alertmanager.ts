/** The Alertmanager channel: incidents as alerts that fire until they are over. */

import { Pool } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Way } from '../../domain/values/way.ts';
import { connectBy } from '../../runtime/http/tunnel.ts';
import { wholeAnswer } from '../http/answer.ts';
import { excerpt } from '../http/excerpt.ts';
import { hiding } from '../http/hiding.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import { DeadlinePassed, type PostOutcome, post, retryAfterOf } from '../http/post.ts';
import type { Channel, SendResult } from '../outgoing/channel.ts';
import type { Ping } from '../outgoing/channel-kind.ts';
import { alertsOf } from './alerts.ts';

export interface AlertmanagerOptions {
  /** Where Alertmanager is, with the prefix of its paths if it has one. */
  readonly url: string;
  /** Where people find the console; alerts link to it. */
  readonly consoleUrl: string | null;
  /** For one attempt: connection, headers and body together. */
  readonly timeout: Milliseconds;
  readonly way: Way;
  /** Where its address is set, for the person who must set another one. */
  readonly setting: string;
}

/** A channel to one Alertmanager. It sends an incident's present alert each time that it is given one of the incident's events. */
export function createAlertmanagerChannel({ url, consoleUrl, timeout, setting, way }: AlertmanagerOptions): Channel {
  const { pool, origin, path } = placeOf(url, '/api/v2/alerts', way, timeout);
  let closing: Promise<void> | undefined;
  return {
    send: async (event, { now, signal, mayLeave, trace }) => {
      const started = performance.now();
      const headers = ['content-type', 'application/json'];
      const body = JSON.stringify(alertsOf(event, { now, consoleUrl }));
      const outcome = await post(pool, { origin, path, headers, body, timeout, signal, mayLeave, trace });
      return judge(outcome, { url, setting, timeout, now, tookMs: Math.round(performance.now() - started) });
    },
    close: () => {
      closing ??= pool.close();
      return closing;
    },
  };
}

/** Whether an Alertmanager answers: it takes a list without an alert, and shows nothing. */
export async function pingAlertmanager(url: string, timeout: Milliseconds, way: Way): Promise<Ping> {
  const { pool, origin, path } = placeOf(url, '/api/v2/alerts', way, timeout);
  const began = performance.now();
  try {
    const headers = ['content-type', 'application/json'];
    const outcome = await post(pool, { origin, path, headers, body: '[]', timeout, signal: undefined });
    const tookMs = Math.round(performance.now() - began);
    if (outcome.status === null || outcome.error !== null) return { kind: 'silent', detail: silence(outcome, timeout).detail };
    if (outcome.status === 200) return { kind: 'alive', tookMs };
    const todo = isElsewhere(outcome.status) ? ': set its own address, without /api/v2/alerts' : '';
    return { kind: 'unclear', detail: `the answer was ${outcome.status}, not that of Alertmanager to an empty list${todo}` };
  } finally {
    await pool.destroy();
  }
}

function placeOf(url: string, operation: string, way: Way, timeout: Milliseconds) {
  const { origin, pathname, search } = new URL(url);
  const pool = new Pool(origin, { allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: connectBy(way, { timeout }) });
  return { pool, origin, path: pathname.replace(/\/+$/, '') + operation + search };
}

/** Another program answers, or another path of Alertmanager. */
const isElsewhere = (status: number): boolean => status === 404 || (status >= 200 && status < 400);

function silence({ error, isSent }: PostOutcome, timeout: Milliseconds) {
  if (!(error instanceof DeadlinePassed)) return networkFailureOf(error, { isSent });
  return { reason: 'timeout', detail: `Alertmanager did not answer within ${timeout} ms.`, fault: 'receiver' as const };
}

interface Circumstances extends Pick<AlertmanagerOptions, 'url' | 'setting' | 'timeout'> {
  readonly now: number;
  readonly tookMs: Milliseconds;
}

/** No answer switches the channel off: an Alertmanager that moved, or got a proxy, is mended later, and alerts must not stop for good. */
function judge(outcome: PostOutcome, { url, setting, timeout, now, tookMs }: Circumstances): SendResult {
  const { status, headers, body, error } = outcome;
  if (status === null || error !== null)
    return { kind: 'failed', ...silence(outcome, timeout), httpStatus: null, retryAfter: null, tookMs, excerpt: '' };
  const hide = hiding([url]);
  const taken = { httpStatus: status, tookMs, excerpt: excerpt(body, hide) };
  if (status === 200) return { kind: 'delivered', ...taken };
  const attempted = { ...taken, answer: wholeAnswer(outcome, hide) };
  const retryAfter = retryAfterOf(headers, now);
  const todo = isElsewhere(status) ? ` See that ${setting} is the address of Alertmanager, without /api/v2/alerts.` : '';
  const detail = `Alertmanager answered ${status}.${todo}`;
  return { kind: 'failed', reason: `http_${status}`, detail, fault: 'receiver', retryAfter, ...attempted };
}
