/** The Slack channel: incident events as messages through one incoming webhook, whose address is a secret. */

import { setTimeout } from 'node:timers/promises';
import { IncomingWebhook } from '@slack/webhook';
import type { Milliseconds } from '../../domain/values/time.ts';
import { excerpt } from '../http/excerpt.ts';
import { hiding } from '../http/hiding.ts';
import { DeadlinePassed, type PostOutcome, retryAfterOf } from '../http/post.ts';
import { createPoster, type ServiceOptions, unanswered } from '../http/service.ts';
import type { Channel, SendOptions, SendResult } from '../outgoing/channel.ts';
import { inert } from './layout.ts';
import { type SlackMessage, slackFolded, slackMessage } from './message.ts';
import { DEAD_WORDS } from './ping.ts';

/** Slack drops what comes faster than one a second, even when it answers 200. */
export const BETWEEN_MESSAGES: Milliseconds = 1_000;
/** Answers that object to how the message is built, not to the message. */
const BAD_PAYLOAD = /^invalid_(blocks|payload|attachments)/;

/** A channel to one incoming webhook. Pacing is the caller's: Slack takes about one message per second. */
export function createSlackChannel(options: ServiceOptions): Channel {
  const { url, consoleUrl, timeout, setting } = options;
  const hide = hiding([url]);
  const poster = createPoster(options);

  async function postMessage(message: SlackMessage | { text: string }, attempt: SendOptions, signal: AbortSignal) {
    let outcome: PostOutcome | undefined;
    // The library reports neither the headers of a refusal nor how far a request came, so a webhook per message keeps what came back.
    const webhook = new IncomingWebhook(url, {
      fetch: async (_address, { headers = {}, body } = {}) => {
        outcome = await poster.post(String(body), { ...attempt, signal }, Object.entries(headers).flat());
        return new Response(outcome.body);
      },
    });
    try {
      await webhook.send({ ...message, unfurl_links: false, unfurl_media: false });
      return outcome!;
    } catch (error) {
      return { status: null, headers: {}, body: '', error, isSent: false };
    }
  }

  const send = async (message: SlackMessage, attempt: SendOptions): Promise<SendResult> => {
    const started = performance.now();
    const deadline = AbortSignal.timeout(timeout);
    const ended = attempt.signal === undefined ? deadline : AbortSignal.any([attempt.signal, deadline]);
    let outcome = await postMessage(message, attempt, ended);
    if (outcome.error === null && outcome.status === 400 && BAD_PAYLOAD.test(outcome.body.trim())) {
      // One message a second, whatever it answered.
      await setTimeout(BETWEEN_MESSAGES, undefined, { signal: ended }).catch(() => undefined);
      outcome = await postMessage({ text: inert(message.text) }, attempt, ended);
    }
    const { status, headers, body, isSent } = outcome;
    const tookMs = Math.round(performance.now() - started);
    if (status === null || outcome.error !== null) {
      const error = deadline.aborted ? new DeadlinePassed() : outcome.error;
      return unanswered('Slack', { error, isSent, tookMs }, timeout);
    }
    const retryAfter = retryAfterOf(headers, attempt.now);
    return judge(status, { httpStatus: status, tookMs, excerpt: excerpt(body, hide) }, { setting, retryAfter });
  };

  return {
    send: (event, attempt) => send(slackMessage(event.body, { consoleUrl }), attempt),
    sendAll: (events, together) => {
      const bodies = events.map(({ body }) => body);
      return send(slackFolded(bodies, { ...together, consoleUrl }), together);
    },
    close: poster.close,
  };
}

function judge(
  status: number,
  attempted: { readonly httpStatus: number; readonly tookMs: Milliseconds; readonly excerpt: string },
  { setting, retryAfter }: { readonly setting: string; readonly retryAfter: Milliseconds | null },
): SendResult {
  const word = attempted.excerpt;
  // Slack says ok in so many letters; anything else with 200 is a proxy's or a portal's page.
  if (status === 200 && word === 'ok') return { kind: 'delivered', ...attempted };
  if (status === 404 || status === 410 || DEAD_WORDS.has(word)) {
    const reason = DEAD_WORDS.has(word) ? word : `http_${status}`;
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
