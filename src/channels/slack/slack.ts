/** The Slack channel: incident events as messages through one incoming webhook, whose address is a secret. */

import { setTimeout } from 'node:timers/promises';
import { IncomingWebhook } from '@slack/webhook';
import { Pool } from 'undici';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { connectBy } from '../../runtime/http/tunnel.ts';
import { excerpt } from '../http/excerpt.ts';
import { type Hide, hiding } from '../http/hiding.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import { type PostOutcome, post, retryAfterOf } from '../http/post.ts';
import type { Channel, OutgoingEvent, SendOptions, SendResult } from '../outgoing/channel.ts';
import { inert } from './layout.ts';
import { type SlackMessage, slackFolded, slackMessage } from './message.ts';

export interface SlackOptions {
  readonly url: string;
  /** Where people find the console; messages link to it. */
  readonly consoleUrl: string | null;
  /** For one attempt: connection, headers and body together. */
  readonly timeout: Milliseconds;
  /** Directly unless given. */
  readonly way?: Way;
  /** Where its address is set, for the person who must set another one. */
  readonly setting?: string;
}

/** Slack drops what comes faster than one a second, even when it answers 200. */
export const BETWEEN_MESSAGES: Milliseconds = 1_000;
/** Answers after which this webhook will never work again, whatever their status. */
const PERMANENT = new Set([
  'invalid_token',
  'action_prohibited',
  'no_service',
  'no_service_id',
  'no_active_hooks',
  'no_team',
  'team_disabled',
  'channel_is_archived',
  'channel_not_found',
]);
/** Answers that object to how the message is built, not to the message. */
const BAD_PAYLOAD = /^invalid_(blocks|payload|attachments)/;

/** What Slack answered to one message, or why it did not. */
type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly word: string; readonly retryAfter: Milliseconds | null }
  | { readonly kind: 'silent'; readonly error: unknown; readonly isSent: boolean };

function answerOf({ status, headers, body, error, isSent }: PostOutcome, now: Instant): Answer {
  if (status === null || error !== null) return { kind: 'silent', error, isSent };
  const retryAfter = retryAfterOf(headers, now);
  return { kind: 'answered', status, word: body, retryAfter };
}

/** A channel to one incoming webhook. Pacing is the caller's: Slack takes about one message per second. */
export function createSlackChannel({
  url,
  consoleUrl,
  timeout,
  way = DIRECT,
  setting = 'SLACK_WEBHOOK_URL',
}: SlackOptions): Channel {
  const hide = hiding([url]);
  const { origin, pathname, search } = new URL(url);
  // One deadline of our own covers headers and body.
  const pool = new Pool(origin, { allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: connectBy(way, { timeout }) });
  let closing: Promise<void> | undefined;

  async function postMessage(
    message: SlackMessage | { text: string },
    { now, mayLeave, trace }: SendOptions,
    signal: AbortSignal,
  ): Promise<Answer> {
    let outcome: PostOutcome | undefined;
    // The library reports neither the headers of a refusal nor how far a request came, so a webhook per message keeps what came back.
    const webhook = new IncomingWebhook(url, {
      fetch: async (_address, { headers = {}, body } = {}) => {
        const request = { origin, path: pathname + search, headers: Object.entries(headers).flat(), body: String(body) };
        outcome = await post(pool, { ...request, timeout, signal, mayLeave, trace });
        return new Response(outcome.body);
      },
    });
    try {
      await webhook.send({ ...message, unfurl_links: false, unfurl_media: false });
    } catch (error) {
      return { kind: 'silent', error, isSent: false };
    }
    return answerOf(outcome!, now);
  }

  const postOnce = async (message: SlackMessage, options: SendOptions): Promise<SendResult> => {
    const { signal } = options;
    const started = performance.now();
    const deadline = AbortSignal.timeout(timeout);
    const ended = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    let answer = await postMessage(message, options, ended);
    if (answer.kind === 'answered' && answer.status === 400 && BAD_PAYLOAD.test(answer.word.trim())) {
      // One message a second, whatever it answered.
      await setTimeout(BETWEEN_MESSAGES, undefined, { signal: ended }).catch(() => undefined);
      answer = await postMessage({ text: inert(message.text) }, options, ended);
    }
    return judge(answer, {
      ...{ hide, setting, timeout },
      timedOut: deadline.aborted,
      tookMs: Math.round(performance.now() - started),
    });
  };

  return {
    send: (event: OutgoingEvent, options: SendOptions) => postOnce(slackMessage(event.body, { consoleUrl }), options),
    sendAll: (events, { since, until, reason, incidents, ...options }) => {
      const bodies = events.map(({ body }) => body);
      return postOnce(slackFolded(bodies, { consoleUrl, since, until, now: options.now, reason, incidents }), options);
    },
    close: () => {
      closing ??= pool.close();
      return closing;
    },
  };
}

interface Circumstances {
  readonly hide: Hide;
  readonly setting: string;
  readonly timedOut: boolean;
  readonly timeout: Milliseconds;
  readonly tookMs: Milliseconds;
}

function judge(answer: Answer, { hide, setting, timedOut, timeout, tookMs }: Circumstances): SendResult {
  if (answer.kind === 'silent') {
    const why = timedOut
      ? { reason: 'timeout', detail: `Slack did not answer within ${timeout} ms.`, fault: 'receiver' as const }
      : networkFailureOf(answer.error, answer);
    return { kind: 'failed', ...why, httpStatus: null, retryAfter: null, tookMs, excerpt: '' };
  }
  const { status, retryAfter } = answer;
  const word = excerpt(answer.word, hide);
  const attempted = { httpStatus: status, tookMs, excerpt: word };
  // Slack says ok in so many letters; anything else with 200 is a proxy's or a portal's page.
  if (status === 200 && word === 'ok') return { kind: 'delivered', ...attempted };
  if (status === 404 || status === 410 || PERMANENT.has(word)) {
    const reason = PERMANENT.has(word) ? word : `http_${status}`;
    const detail = `Slack refuses this webhook for good (${reason}). Make a new incoming webhook and set ${setting} to it.`;
    return { kind: 'gone', reason, detail, ...attempted };
  }
  const reason = status === 200 ? 'unexpected_answer' : /^[a-z_]{3,40}$/.test(word) ? word : `http_${status}`;
  const detail =
    status === 429
      ? 'Slack asks for fewer messages.'
      : status === 200
        ? 'The answer was 200, but not the "ok" of Slack.'
        : `Slack answered ${status} (${reason}).`;
  const isLimit = status === 429 && retryAfter !== null;
  return { kind: 'failed', reason, detail, fault: 'receiver', retryAfter, isLimit, ...attempted };
}
