/** A real SMTP server for tests, which keeps what it takes. */
import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A message as it came over the wire, with the quoted-printable parts decoded. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly raw: string;
  readonly headers: string;
  readonly text: string;
  readonly html: string;
}

/** Starts one; `options` are those of smtp-server. Without `authOptional: true` clients must sign in as shop with secret-of-mail. */
export async function startSmtpServer(options: Partial<SMTPServerOptions> = {}) {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    logger: false,
    // The certificate that comes with the server is its own and trusted by nobody.
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'shop@example.com' && password === 'secret-of-mail'
        ? done(null, { user: username })
        : done(Object.assign(new Error(`Invalid login for ${password}`), { responseCode: 535 })),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          raw,
          headers: raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n\s+/g, ' '),
          text: partOf(raw, 'text/plain'),
          html: partOf(raw, 'text/html'),
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as { port: number };
  const at = `127.0.0.1:${port}`;
  return {
    received,
    /** The address with the user and the password that it lets in. */
    url: `${options.secure === true ? 'smtps' : 'smtp'}://shop%40example.com:secret-of-mail@${at}`,
    at,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** A part of a message by its type, decoded. */
function partOf(raw: string, type: string): string {
  const part = raw.split(/^--.*$/m).find((some) => some.includes(`Content-Type: ${type}`)) ?? '';
  const [head = '', ...body] = part.split('\r\n\r\n');
  const text = body.join('\r\n\r\n').replaceAll('\r\n', '\n');
  if (/base64/.test(head)) return Buffer.from(text, 'base64').toString();
  if (!/quoted-printable/.test(head)) return text;
  const bytes = text
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
