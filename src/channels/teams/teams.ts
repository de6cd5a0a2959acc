/** The Teams channel: incident events as cards through a workflow of Teams, whose address is a secret. */

import { hiding } from '../http/hiding.ts';
import { createPoster, judge, type ServiceOptions, type ServiceRefusal } from '../http/service.ts';
import type { Channel, SendOptions, SendResult } from '../outgoing/channel.ts';
import { type TeamsMessage, teamsFolded, teamsMessage } from './card.ts';

/** A page of a portal or proxy, and what connectors of before workflows answered with 200 where a message was refused. */
const NOT_TAKEN = /^\s*<|delivery failed/i;

/** A channel to one workflow. Pacing is the caller's. */
export function createTeamsChannel(options: ServiceOptions): Channel {
  const { url, consoleUrl, timeout, setting } = options;
  // The signature in its query lets anyone post who has it, and the path names the workflow.
  const hide = hiding([url, ...new URL(url).searchParams.values().filter((value) => value.length > 8)]);
  const poster = createPoster(options);

  const send = async (message: TeamsMessage, attempt: SendOptions): Promise<SendResult> => {
    const outcome = await poster.post(JSON.stringify(message), attempt);
    const means = { service: 'Teams', timeout, hide, now: attempt.now };
    return judge(outcome, means, (status) => refusalOf(status, outcome.body, setting));
  };

  return {
    send: (event, attempt) => send(teamsMessage(event.body, { consoleUrl }), attempt),
    sendAll: (events, together) => {
      const bodies = events.map(({ body }) => body);
      return send(teamsFolded(bodies, { ...together, consoleUrl }), together);
    },
    close: poster.close,
  };
}

function refusalOf(status: number, body: string, setting: string): ServiceRefusal {
  const isGood = status >= 200 && status < 300;
  if (isGood && !NOT_TAKEN.test(body)) return null;
  if (status === 404 || status === 410) {
    const detail = `Teams has no such workflow any more (${status}). Make a new one and set ${setting} to its address.`;
    return { kind: 'gone', reason: `http_${status}`, detail };
  }
  return { kind: 'failed', reason: isGood ? 'unexpected_answer' : `http_${status}`, detail: detailOf(status, setting) };
}

function detailOf(status: number, setting: string): string {
  if (status === 429) return 'Teams asks for fewer messages.';
  if (status >= 200 && status < 300) return `The answer was ${status}, but not that of a workflow that took the message.`;
  if (status === 401 || status === 403)
    return `Teams refuses the address (${status}): see that ${setting} holds all of it, and that the workflow may be called by anyone.`;
  if (status === 400) return 'Teams answered 400: the workflow is switched off, or does not take cards.';
  return `Teams answered ${status}.`;
}
