/** The e-mail channel: incident events as messages through the SMTP server of the shop, whose password is a secret. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import { excerpt } from '../http/excerpt.ts';
import { type Hide, hiding } from '../http/hiding.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import type { Channel, OutgoingEvent, SendOptions, SendResult } from '../outgoing/channel.ts';
import type { Ping } from '../outgoing/channel-kind.ts';
import { type EmailMessage, emailFolded, emailMessage } from './message.ts';
import { converse, SmtpFailure } from './smtp.ts';

export interface EmailOptions {
  readonly url: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly consoleUrl: string | null;
  readonly timeout: Milliseconds;
  /** Where its server is set, for the person who must change it. */
  readonly setting: string;
}

/** A channel to a few addresses. Each message is a connection of its own: there are a few an hour. */
export function createEmailChannel({ url, from, to, consoleUrl, timeout, setting }: EmailOptions): Channel {
  const hide = hidingOf(url);

  const send = async ({ id }: Pick<OutgoingEvent, 'id'>, message: EmailMessage, attempt: SendOptions): Promise<SendResult> => {
    const started = monotonic();
    const took = (): { tookMs: Milliseconds } => ({ tookMs: Math.round(monotonic() - started) });
    const mail = { ...message, from, to, messageId: `<${id}@purchase-watch>`, date: new Date(attempt.now) };
    try {
      const { answer, refused } = await converse(mail, { url, timeout, signal: attempt.signal, mayLeave: attempt.mayLeave });
      const partly = refused === 0 ? '' : `${refused} of ${to.length} recipients were refused. `;
      return { kind: 'delivered', httpStatus: null, excerpt: partly + excerpt(answer, hide), ...took() };
    } catch (error) {
      const failure = error instanceof SmtpFailure ? error : new SmtpFailure({ code: 'UNEXPECTED' });
      const answer = excerpt(failure.answer, hide);
      const why = { ...explained(failure, { timeout, setting }), httpStatus: null, excerpt: answer, ...took() };
      return { kind: 'failed', retryAfter: null, ...why };
    }
  };

  return {
    send: (event, attempt) => send(event, emailMessage(event.body, { consoleUrl }), attempt),
    sendAll: (events, together) => {
      const bodies = events.map(({ body }) => body);
      return send(events[0]!, emailFolded(bodies, { ...together, consoleUrl }), together);
    },
    close: async () => undefined,
  };
}

/** Signs in at the server and sends nothing. */
export async function pingEmail(url: string, timeout: Milliseconds): Promise<Ping> {
  const started = monotonic();
  try {
    await converse(null, { url, timeout });
    return { kind: 'alive', tookMs: Math.round(monotonic() - started) };
  } catch (error) {
    if (!(error instanceof SmtpFailure)) throw error;
    const { detail } = explained(error, { timeout, setting: 'its address' });
    return { kind: error.status === null ? 'silent' : 'dead', detail };
  }
}

/** The password, as servers may repeat it. */
function hidingOf(url: string): Hide {
  const { username, password } = new URL(url);
  const plain = decodeURIComponent(password);
  return hiding(
    [plain, Buffer.from(`\0${decodeURIComponent(username)}\0${plain}`).toString('base64')].filter(
      (secret) => password !== '' && secret !== '',
    ),
  );
}

type Explained = { readonly reason: string; readonly detail: string; readonly fault: 'receiver' | 'ours' };

function explained({ status, code }: SmtpFailure, { timeout, setting }: Pick<EmailOptions, 'timeout' | 'setting'>): Explained {
  const receiver = { fault: 'receiver' } as const;
  if (code === 'STOPPED') return { reason: 'stopped', detail: 'The attempt was stopped.', fault: 'ours' };
  if (code === 'TIMEOUT' || code === 'ETIMEDOUT')
    return { reason: 'timeout', detail: `The mail server did not answer within ${timeout} ms.`, ...receiver };
  if (status !== null) return { reason: `smtp_${status}`, detail: detailOf(status, code, setting), ...receiver };
  if (code === 'ETLS')
    return {
      reason: 'tls',
      detail: `The mail server offers no encryption (STARTTLS) or none that can be trusted: see that ${setting} names the right port, or use smtps.`,
      ...receiver,
    };
  if (code === 'EDNS') return { reason: 'dns_failed', detail: 'The name of the mail server was not found.', fault: 'ours' };
  if (code === 'ECONNECTION' || code === 'ESOCKET' || code === 'EPROTOCOL')
    return {
      reason: 'connection_lost',
      detail: `The connection to the mail server ended before it took the message (${code}).`,
      ...receiver,
    };
  return networkFailureOf(Object.assign(new Error('smtp'), { code }));
}

function detailOf(status: number, code: string, setting: string): string {
  if (code === 'EAUTH' || status === 530 || status === 535)
    return `The mail server refuses the user or the password (${status}): correct ${setting}.`;
  if (status === 421 || status === 450 || status === 451 || status === 452)
    return `The mail server asks to try again later (${status}).`;
  if (status === 550 || status === 551 || status === 553)
    return `The mail server refuses the sender or the recipients (${status}): see \`from\` and \`to\` beside ${setting}.`;
  return `The mail server answered ${status}.`;
}
