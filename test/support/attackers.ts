/**
 * Hostile callers, as a process of their own, so that the event loop of a test is not their limit:
 * `node attackers.ts <kind> <port> <connections>`. Each connection sends what its kind says, again as soon as it was closed, until
 * the process is ended. They run with the lowest priority: attackers have processors of their own, which the daemon does not pay for.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';

interface Kind {
  /** What is sent at once. */
  readonly sends: () => string | Buffer;
  /** What is sent each second after. */
  readonly drips?: string;
  /** Takes nothing of what is answered. */
  readonly isDeaf?: boolean;
  /** Sends all of it again after each answer, or `sendsNext`. */
  readonly goesOn?: boolean;
  readonly sendsNext?: () => string | Buffer;
}

const HOST = 'Host: 127.0.0.1\r\n';
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const MEGABYTE = 1_000_000;
const random = (): string => randomBytes(32).toString('base64url');
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`;
const post = (path: string, length: number, headers = FORM): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}${headers}Content-Length: ${length}\r\n\r\n`;
/** Made once: a process that makes 2 000 of them is busy with itself. */
const once = (text: string): (() => Buffer) => {
  const bytes = Buffer.from(text);
  return () => bytes;
};
const manyFields = Array.from({ length: 200_000 }, (_, index) => index)
  .join('&')
  .slice(0, MEGABYTE);
const cookie = (): string =>
  `Cookie: purchase_watch_session=${random()}.${(Date.now() + 3_600_000).toString(36)}.${random()}\r\n`;

/** Every way in which a caller without a key can keep the daemon busy. */
export const KINDS = {
  'forms of 200 000 fields': { sends: once(post('/sign-in', manyFields.length) + manyFields) },
  'forms of many parts': {
    sends: () =>
      post('/sign-in', 20_000, 'Content-Type: multipart/form-data; boundary=x\r\n') + '--x\r\nContent-Disposition: '.repeat(700),
  },
  'forms that come slowly': { sends: () => `${post('/sign-in', 4_000)}key=`, drips: 'x' },
  'forms of 1 MB that stop': { sends: once(post('/sign-in', MEGABYTE) + manyFields.slice(0, 600_000)) },
  'forms without a length': {
    sends: () => `POST /sign-in HTTP/1.1\r\n${HOST}${FORM}Transfer-Encoding: chunked\r\n\r\n3\r\nk=1\r\n`,
    drips: '1\r\nx\r\n',
  },
  'heads that stop': { sends: () => `GET / HTTP/1.1\r\n${HOST}X-Long: ${'x'.repeat(8_000)}`, drips: 'x' },
  'bodies that stop': { sends: () => `${post('/v1/purchases', MEGABYTE, 'Content-Type: application/json\r\n')}{"a": 1,` },
  'bodies of 1 MB': {
    sends: once(post('/v1/purchases/batch', MEGABYTE, 'Content-Type: application/json\r\n') + 'x'.repeat(MEGABYTE)),
  },
  'wrong keys': { sends: () => get('/v1/purchases', `Authorization: Bearer ${random()}\r\n`), goesOn: true },
  'made-up cookies': { sends: () => get('/incidents', cookie()), goesOn: true },
  'made-up cookies with forms': { sends: () => `${post('/theme', 10, FORM + cookie())}theme=dark`, goesOn: true },
  'random paths': { sends: () => get(`/${random()}/%ff/..%2f`), goesOn: true },
  'files that are not there': { sends: () => get(`/assets/${random()}`), goesOn: true },
  'descriptions of the API': { sends: () => get(`/openapi.json?${random()}`), goesOn: true },
  'sign-in pages': { sends: () => get('/sign-in'), goesOn: true },
  'requests behind one another': { sends: once(get('/sign-in').repeat(500)) },
  // Only by sending on does a caller that reads nothing learn that its connection was closed.
  'answers that are not taken': { sends: once(get('/openapi.json')), isDeaf: true, drips: 'G' },
  'many answers that are not taken': { sends: once(get('/openapi.json').repeat(20)), isDeaf: true, drips: 'G' },
  'heads that cannot be read': { sends: () => `${random()}\r\n\r\n` },
  'expectations behind one another': { sends: once(get('/', 'Expect: x\r\n').repeat(500)), goesOn: true },
  'requests without a Host': { sends: once('GET / HTTP/1.1\r\n\r\n'), goesOn: true },
  'tunnels asked for': { sends: once('CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n') },
  'requests behind an answered one': { sends: once(get('/sign-in')), goesOn: true, sendsNext: once(get('/sign-in').repeat(500)) },
  silence: { sends: () => '' },
} as const satisfies Record<string, Kind>;

const [, script = '', name = '', port = '', count = ''] = process.argv;
if (script === import.meta.filename) {
  setPriority(19);
  const { sends, drips, isDeaf = false, goesOn = false, sendsNext = sends }: Kind = KINDS[name as keyof typeof KINDS];
  const open = new Set<Socket>();
  const attack = (): void => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: drips !== undefined });
    open.add(socket);
    socket.once('connect', () => socket.write(sends()));
    if (isDeaf) socket.pause();
    else socket.on('data', () => goesOn && socket.write(sendsNext()));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      open.delete(socket);
      setImmediate(attack);
    });
  };
  for (let index = 0; index < Number(count); index += 1) attack();
  const drip = (): void => {
    for (const socket of open) if (socket.writable) socket.write(drips ?? '');
  };
  if (drips !== undefined) setInterval(drip, 1_000);
}
