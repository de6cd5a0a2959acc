/** One conversation with an SMTP server: connect, encrypt, sign in, and hand one message over or none. */

import type { NodemailerError } from 'nodemailer/lib/errors';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Milliseconds } from '../../domain/values/time.ts';
import { startTimer } from '../../runtime/time.ts';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same on every attempt, so that mail programs show one message. */
  readonly messageId: string;
  readonly date: Date;
}

/** The server's last answer, and how many of the recipients it refused. */
export interface HandedOver {
  readonly answer: string;
  readonly refused: number;
}

/** Why there is no answer, or not the wanted one. */
export class SmtpFailure extends Error {
  override name = 'SmtpFailure';
  /** The server's code such as 550; null where it gave none. */
  readonly status: number | null;
  /** nodemailer's word for what failed (`EAUTH`, `ETLS`, `EDNS`), the system's (`ECONNREFUSED`), `TIMEOUT` or `STOPPED`. */
  readonly code: string;
  /** The server's own words, which may name recipients. */
  readonly answer: string;

  constructor({ status = null, code, answer = '' }: { status?: number | null; code: string; answer?: string }) {
    super(code);
    this.status = status;
    this.code = code;
    this.answer = answer;
  }
}

export interface ConversationOptions {
  /** `smtp://` or `smtps://`, with a user and password or without. */
  readonly url: string;
  /** For the whole conversation. */
  readonly timeout: Milliseconds;
  readonly signal?: AbortSignal | undefined;
  /** Asked right before the message leaves; false: it does not. */
  readonly mayLeave?: (() => boolean) | undefined;
}

/** Only where nobody else is on the way may a message, or a password, go without encryption. */
const THIS_MACHINE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** Signs in and hands the message over; without a message the server only shows that it lets us in. Throws SmtpFailure. */
export async function converse(mail: Mail | null, { url, timeout, signal, mayLeave }: ConversationOptions): Promise<HandedOver> {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const limits = {
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
    dnsTimeout: timeout,
    socketCloseTimeout: 0,
  };
  const requireTLS = !secure && !THIS_MACHINE.test(hostname);
  const connection = new SMTPConnection({ host, port: port === '' ? undefined : port, secure, requireTLS, ...limits });
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    connection.on('error', (error) => reject(failureOf(error)));
    connection.on('end', () => reject(new SmtpFailure({ code: 'ECONNECTION' })));
    timer = startTimer(() => reject(new SmtpFailure({ code: 'TIMEOUT' })), timeout);
    stop = () => reject(new SmtpFailure({ code: 'STOPPED' }));
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
  const step = <T>(begin: (done: (error?: Error | null, result?: T) => void) => void): Promise<T> =>
    Promise.race([
      ended,
      new Promise<T>((resolve, reject) => begin((error, result) => (error ? reject(failureOf(error)) : resolve(result as T)))),
    ]);
  try {
    await step((done) => connection.connect(done));
    const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
    if (username !== '') await step((done) => connection.login(auth, done));
    if (mail === null) return { answer: '', refused: 0 };
    const message = await new MailComposer({ ...mail, to: [...mail.to], disableFileAccess: true, disableUrlAccess: true })
      .compile()
      .build();
    if (mayLeave?.() === false) throw new SmtpFailure({ code: 'STOPPED' });
    const envelope = { from: mail.from, to: [...mail.to], size: message.length };
    const sent = await step<{ response: string; rejected: string[] }>((done) => connection.send(envelope, message, done));
    return { answer: sent.response, refused: sent.rejected.length };
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener('abort', stop);
    ended.catch(() => undefined);
    connection.close();
  }
}

function failureOf(error: unknown): SmtpFailure {
  if (error instanceof SmtpFailure) return error;
  const { code, originalCode, responseCode, response } = error as NodemailerError;
  return new SmtpFailure({ status: responseCode ?? null, code: originalCode ?? code ?? 'ESOCKET', answer: response ?? '' });
}
