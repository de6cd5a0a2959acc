/** The Teams channel: incident events as cards through a workflow of Teams, whose address is a secret. */

import { Pool } from 'undici';
import type { Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { connectBy } from '../../runtime/http/tunnel.ts';
import { wholeAnswer } from '../http/answer.ts';
import { excerpt } from '../http/excerpt.ts';
import { type Hide, hiding } from '../http/hiding.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import { DeadlinePassed, type PostOutcome, post, retryAfterOf } from '../http/post.ts';
import type { Channel, SendOptions, SendResult } from '../outgoing/channel.ts';
import { type TeamsMessage, teamsFolded, teamsMessage } from './card.ts';

export interface TeamsOptions {
  readonly url: string;
  /** Where people find the console; cards link to it. */
  readonly consoleUrl: string | null;
  /** For one attempt: connection, headers and body together. */
  readonly timeout: Milliseconds;
  /** Directly unless given. */
  readonly way?: Way;
  /** Where its address is set, for the person who must set another one. */
  readonly setting: string;
}

/** A page of a portal or proxy, and what connectors of before workflows answered with 200 where a message was refused. */
const NOT_TAKEN = /^\s*<|delivery failed/i;

/** A channel to one workflow. Pacing is the caller's. */
export function createTeamsChannel({ url, consoleUrl, timeout, setting, way = DIRECT }: TeamsOptions): Channel {
  // The signature in its query lets anyone post who has it, and the path names the workflow.
  const hide = hiding([url, ...new URL(url).searchParams.values().filter((value) => value.length > 8)]);
  const { origin, pathname, search } = new URL(url);
  const pool = new Pool(origin, { allowH2: false, headersTimeout: 0, bodyTimeout: 0, connect: connectBy(way, { timeout }) });
  let closing: Promise<void> | undefined;

  const send = async (message: TeamsMessage, { now, signal, mayLeave, trace }: SendOptions): Promise<SendResult> => {
    const started = performance.now();
    const headers = ['content-type', 'application/json'];
    const body = JSON.stringify(message);
    const path = pathname + search;
    const outcome = await post(pool, { origin, path, headers, body, timeout, signal, mayLeave, trace });
    const tookMs = Math.round(performance.now() - started);
    return judge(outcome, { hide, setting, timeout, tookMs, now });
  };

  return {
    send: (event, options) => send(teamsMessage(event.body, { consoleUrl }), options),
    sendAll: (events, { since, until, reason, incidents, ...options }) => {
      const bodies = events.map(({ body }) => body);
      return send(teamsFolded(bodies, { consoleUrl, since, until, now: options.now, reason, incidents }), options);
    },
    close: () => {
      closing ??= pool.close();
      return closing;
    },
  };
}

interface Circumstances extends Pick<TeamsOptions, 'setting' | 'timeout'> {
  readonly hide: Hide;
  readonly tookMs: Milliseconds;
  readonly now: number;
}

function judge(outcome: PostOutcome, { hide, setting, timeout, tookMs, now }: Circumstances): SendResult {
  const { status, headers, body, error, isSent } = outcome;
  if (status === null || error !== null) {
    const why =
      error instanceof DeadlinePassed
        ? { reason: 'timeout', detail: `Teams did not answer within ${timeout} ms.`, fault: 'receiver' as const }
        : networkFailureOf(error, { isSent });
    return { kind: 'failed', ...why, httpStatus: null, retryAfter: null, tookMs, excerpt: '' };
  }
  const taken = { httpStatus: status, tookMs, excerpt: excerpt(body, hide) };
  const isTaken = status >= 200 && status < 300;
  if (isTaken && !NOT_TAKEN.test(body)) return { kind: 'delivered', ...taken };
  const attempted = { ...taken, answer: wholeAnswer(outcome, hide) };
  if (status === 404 || status === 410) {
    const detail = `Teams has no such workflow any more (${status}). Make a new one and set ${setting} to its address.`;
    return { kind: 'gone', reason: `http_${status}`, detail, ...attempted };
  }
  const retryAfter = retryAfterOf(headers, now);
  const isLimit = status === 429 && retryAfter !== null;
  const reason = isTaken ? 'unexpected_answer' : `http_${status}`;
  return { kind: 'failed', reason, detail: detailOf(status, setting), fault: 'receiver', retryAfter, isLimit, ...attempted };
}

function detailOf(status: number, setting: string): string {
  if (status === 429) return 'Teams asks for fewer messages.';
  if (status >= 200 && status < 300) return `The answer was ${status}, but not that of a workflow that took the message.`;
  if (status === 401 || status === 403)
    return `Teams refuses the address (${status}): see that ${setting} holds all of it, and that the workflow may be called by anyone.`;
  if (status === 400) return 'Teams answered 400: the workflow is switched off, or does not take cards.';
  return `Teams answered ${status}.`;
}
