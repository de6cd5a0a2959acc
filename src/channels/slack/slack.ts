/** The Slack channel: incident events as messages through one incoming webhook, whose address is a secret. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic, timeoutSignal } from '../../runtime/time.ts';
import { hiding } from '../http/hiding.ts';
import { DeadlinePassed } from '../http/post.ts';
import { createPoster, judge, type ServiceOptions, type ServiceRefusal } from '../http/service.ts';
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

  const postMessage = (message: SlackMessage | { text: string }, attempt: SendOptions, signal: AbortSignal) =>
    poster.post(JSON.stringify({ ...message, unfurl_links: false, unfurl_media: false }), { ...attempt, signal });

  const send = async (message: SlackMessage, attempt: SendOptions): Promise<SendResult> => {
    const started = monotonic();
    const deadline = timeoutSignal(timeout);
    const ended = attempt.signal === undefined ? deadline : AbortSignal.any([attempt.signal, deadline]);
    let outcome = await postMessage(message, attempt, ended);
    if (outcome.error === null && outcome.status === 400 && BAD_PAYLOAD.test(outcome.body.trim())) {
      // One message a second, whatever it answered.
      await delay(BETWEEN_MESSAGES, undefined, { signal: ended }).catch(() => undefined);
      outcome = await postMessage({ text: inert(message.text) }, attempt, ended);
    }
    const tookMs = Math.round(monotonic() - started);
    const error = outcome.error !== null && deadline.aborted ? new DeadlinePassed() : outcome.error;
    const means = { service: 'Slack', timeout, hide, now: attempt.now };
    return judge({ ...outcome, error, tookMs }, means, (status, word) => refusalOf(status, word, setting));
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

function refusalOf(status: number, word: string, setting: string): ServiceRefusal {
  // Slack says ok in so many letters; anything else with 200 is a proxy's or a portal's page.
  if (status === 200 && word === 'ok') return null;
  if (status === 404 || status === 410 || DEAD_WORDS.has(word)) {
    const reason = DEAD_WORDS.has(word) ? word : `http_${status}`;
    const detail = `Slack refuses this webhook for good (${reason}). Make a new incoming webhook and set ${setting} to it.`;
    return { kind: 'gone', reason, detail };
  }
  if (status === 200) {
    return { kind: 'failed', reason: 'unexpected_answer', detail: 'The answer was 200, but not the "ok" of Slack.' };
  }
  const reason = /^[a-z_]{3,40}$/.test(word) ? word : `http_${status}`;
  const detail = status === 429 ? 'Slack asks for fewer messages.' : `Slack answered ${status} (${reason}).`;
  return { kind: 'failed', reason, detail };
}
