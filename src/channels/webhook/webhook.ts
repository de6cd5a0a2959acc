/** The webhook channel: signed POSTs to one receiver (contract, "Events and webhooks"). */

import { Pool } from 'undici';
import { WITH_SYSTEMS } from '../../domain/deliveries/subscriber-health.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { monotonic } from '../../runtime/time.ts';
import { dialledBy, type NamedBy, permission } from '../http/address.ts';
import { wholeAnswer } from '../http/answer.ts';
import { excerpt } from '../http/excerpt.ts';
import { type Hide, hidingOf } from '../http/hiding.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import { DeadlinePassed, headerOf, type PostOutcome, post, retryAfterOf } from '../http/post.ts';
import { createProxiedConnector, createPublicConnector, type Resolve } from '../http/public-address.ts';
import type { Channel, OutgoingEvent, SendOptions, SendResult } from '../outgoing/channel.ts';
import { CLOUDEVENT_TYPE, toCloudEvent } from '../outgoing/cloudevent.ts';
import type { Reach } from '../outgoing/sealed.ts';
import { createAttemptSigner } from '../outgoing/signature.ts';

export interface WebhookOptions extends Pick<Reach, 'url' | 'keys'>, Partial<Omit<Reach, 'url' | 'keys'>> {
  /** For one attempt: connection, headers and body together. */
  readonly timeout: Milliseconds;
  /** Addresses that are not public and may be called all the same, as CIDR ranges. */
  readonly allowAddresses: readonly string[];
  /** Whose list that is; the operator's unless given. */
  readonly namedBy?: NamedBy;
  /** Connections at most, each with one request at a time. */
  readonly concurrency: number;
  readonly userAgent: string;
  /** Directly unless given. */
  readonly way?: Way;
  /** Finds the addresses of host names; the system's resolver when left out. */
  readonly resolve?: Resolve;
}

function receiverUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new AppError('configuration', 'a webhook needs an http or https address');
  }
  // User and password would end up in the logs of everything on the way; the signature is what proves who calls.
  if (url.username !== '' || url.password !== '') {
    throw new AppError('configuration', 'a webhook address must not contain a user name or a password');
  }
  return url;
}

/**
 * A channel to one receiver, with connections of its own that are kept open between deliveries. Throws AppError
 * `configuration` for an address, a key or a range that could never work; addresses are judged when they are dialled.
 */
export function createWebhookChannel(options: WebhookOptions): Channel {
  const { timeout, concurrency, userAgent, keys, format = 'standard', headers = {} } = options;
  const url = receiverUrl(options.url);
  if (keys.length === 0) throw new AppError('configuration', 'a webhook needs at least one secret');
  const sign = createAttemptSigner(keys);
  const hide = hidingOf({ keys, url, headers });
  const pool = new Pool(url.origin, {
    connections: concurrency,
    // Otherwise a pool that has no connection yet makes one alone, to see which protocol it speaks, and everything else waits
    // for it: until its own deadline, when the name server or the proxy says nothing.
    allowH2: false,
    connect: connectorOf(options, url),
    // One deadline of our own covers them.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const path = url.pathname + url.search;
  const isCloudEvent = format === 'cloudevents';
  const steady = [
    ...['content-type', isCloudEvent ? CLOUDEVENT_TYPE : 'application/json', 'user-agent', userAgent],
    ...Object.entries(headers).flat(),
  ];
  let closing: Promise<void> | undefined;

  return {
    async send(event: OutgoingEvent, { now, signal, mayLeave, trace }: SendOptions): Promise<SendResult> {
      const started = monotonic();
      const body = isCloudEvent ? toCloudEvent(event.body) : event.body;
      const { id, timestamp, signature } = sign(event.id, now, body);
      const outcome = await post(pool, {
        origin: url.origin,
        path,
        headers: [...steady, 'webhook-id', id, 'webhook-timestamp', timestamp, 'webhook-signature', signature],
        body,
        timeout,
        signal,
        mayLeave,
        trace,
      });
      return judge(outcome, { now, url, hide, timeout, tookMs: Math.round(monotonic() - started) });
    },
    close: () => {
      closing ??= pool.close();
      return closing;
    },
  };
}

function connectorOf({ timeout, allowAddresses, namedBy, resolve, clientCertificate, way = DIRECT }: WebhookOptions, url: URL) {
  const permitted = permission(allowAddresses, namedBy);
  const dialled = { dialled: dialledBy(url), permitted, timeout, resolve, clientCertificate };
  return way.proxy === null ? createPublicConnector(dialled) : createProxiedConnector({ ...dialled, way });
}

/**
 * The meaning of an outcome. A failing status counts although the rest of its answer never came; a good one only counts
 * when the answer is complete, because a receiver that breaks off may not have kept the event.
 */
function judge(
  outcome: PostOutcome,
  { now, url, hide, timeout, tookMs }: { now: Instant; url: URL; hide: Hide; timeout: Milliseconds; tookMs: Milliseconds },
): SendResult {
  const { status, headers, body, error, isSent } = outcome;
  const taken = { tookMs, excerpt: excerpt(body, hide) };
  if (error === null && status !== null && isGood(status)) return { kind: 'delivered', httpStatus: status, ...taken };
  const attempted = { ...taken, answer: wholeAnswer(outcome, hide) };
  if (status === null || isGood(status)) {
    const begun = status === null ? '' : ` It had begun to answer with ${status}.`;
    const { reason, detail, fault } =
      error instanceof DeadlinePassed
        ? { reason: 'timeout', detail: `There was no complete answer within ${timeout} ms.`, fault: 'receiver' as const }
        : networkFailureOf(error, { isSent });
    return { kind: 'failed', reason, detail: detail + begun, httpStatus: status, retryAfter: null, fault, ...attempted };
  }
  if (status === 410) {
    const detail = 'The receiver answered 410: it wants no more events.';
    return { kind: 'gone', reason: 'http_410', detail, httpStatus: status, ...attempted };
  }
  const redirected = status >= 300 && status < 400 && headers.location !== undefined;
  const retryAfter = retryAfterOf(headers, now);
  return {
    kind: 'failed',
    reason: redirected ? 'redirected' : `http_${status}`,
    detail: redirected
      ? redirectDetail(status, headerOf(headers, 'location'), url, hide)
      : `The receiver answered ${status}${restText(retryAfter)}.`,
    httpStatus: status,
    retryAfter,
    fault: 'receiver',
    ...attempted,
  };
}

/** The rest that a receiver asks for, beside its status: a reader of a pause's reason must see that the receiver asked for it. */
function restText(retryAfter: Milliseconds | null): string {
  if (retryAfter === null || retryAfter === 0) return '';
  const { longestPause } = WITH_SYSTEMS;
  const long = retryAfter > longestPause ? `more than ${humanDuration(longestPause)}` : humanDuration(retryAfter);
  return ` and asked to be left alone for ${long}`;
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

function redirectDetail(status: number, location: string, url: URL, hide: Hide): string {
  const target = URL.parse(location, url);
  const where = (target === null ? '' : excerpt(shownAddress(target.href), hide)) || 'somewhere else';
  return `The receiver answered ${status} and points to ${where}. Redirects are not followed: change the subscriber's address.`;
}
