/** Answers of a hostile HTTP server, down to bytes that are no HTTP, and how they are sent. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { hostileHeaderText } from './hostile.ts';

const WIRE_SPOILS = [
  'reset',
  'closed',
  'half a body',
  'silence',
  'no HTTP',
  'wrong length',
  'broken chunks',
  'many interim answers',
  'many headers',
  'a long header',
  'header injection',
  'two answers',
  'odd status',
  'bomb',
] as const;

export interface WireAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** Null: HTTP as it should be. */
  readonly spoil: (typeof WIRE_SPOILS)[number] | null;
}

const RETRY_AFTER = [
  '0',
  '1',
  '-1',
  '1e9',
  '99999999999999999999',
  'Infinity',
  'NaN',
  '',
  'soon',
  '0x10',
  '1.5',
  '1,2',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  'Mon, 99 Foo 2026',
];
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/html',
  'text/event-stream',
  '',
  ';;;',
  'application/json, text/plain',
  'multipart/form-data',
];

const header: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(fc.constant('retry-after'), fc.constantFrom(...RETRY_AFTER)),
  fc.tuple(fc.constant('content-type'), fc.constantFrom(...CONTENT_TYPES)),
  fc.tuple(fc.constant('location'), fc.constantFrom('http://169.254.169.254/', 'file:///etc/passwd', '//', '/loop', '')),
  fc.tuple(
    fc.constantFrom('www-authenticate', 'set-cookie', 'date', 'etag', 'server', 'x-odd', 'vary', 'age', 'warning'),
    hostileHeaderText,
  ),
);

/** An answer around bodies of one's own. `good` is the share, of ten, of those that say 200 in proper HTTP. */
export function wireAnswers(body: fc.Arbitrary<string>, good: number): fc.Arbitrary<WireAnswer> {
  const headers = fc.array(header, { maxLength: 3 });
  return fc.oneof(
    { weight: good, arbitrary: fc.record({ status: fc.constant(200), headers, body, spoil: fc.constant(null) }) },
    {
      weight: 10 - good,
      arbitrary: fc.record({
        status: fc.oneof(
          fc.constantFrom(
            200,
            201,
            202,
            204,
            206,
            226,
            301,
            302,
            304,
            307,
            400,
            401,
            403,
            404,
            408,
            409,
            413,
            418,
            429,
            500,
            502,
            503,
            504,
            599,
          ),
          fc.integer({ min: 200, max: 999 }),
        ),
        headers,
        body,
        spoil: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: fc.constantFrom(...WIRE_SPOILS) }),
      }),
    },
  );
}

const BOMB = gzipSync(Buffer.alloc(24 * 1024 * 1024, 'x'));
const SILENCE = 400;

/** Sends it. What is no HTTP ends the connection. */
export function play({ status, headers, body, spoil }: WireAnswer, response: ServerResponse): void {
  if (spoil === null) {
    playWell({ status, headers, body }, response);
    return;
  }
  const { socket } = response;
  if (socket === null || socket.destroyed) return;
  // What is written after the caller has gone away fails, and that is no news.
  socket.on('error', () => undefined);
  if (spoil === 'reset') return void socket.resetAndDestroy();
  if (spoil === 'silence') return void setTimeout(() => socket.destroy(), SILENCE);
  socket.end(bytesOf(spoil, { status, headers, body }), () => socket.destroySoon());
}

function playWell({ status, headers, body }: Omit<WireAnswer, 'spoil'>, response: ServerResponse): void {
  const taken = headers.filter(
    ([name, value], index) => value !== '' && headers.findIndex(([other]) => other === name) === index,
  );
  response.writeHead(status, Object.fromEntries(taken));
  response.end(body);
}

function bytesOf(spoil: NonNullable<WireAnswer['spoil']>, { status, headers, body }: Omit<WireAnswer, 'spoil'>): Buffer | string {
  const head = (line: string, lines: readonly string[]): string =>
    `${[line, ...headers.map(([name, value]) => `${name}: ${value}`), ...lines].join('\r\n')}\r\n\r\n`;
  const ok = `HTTP/1.1 ${status} Odd`;
  const length = Buffer.byteLength(body);
  switch (spoil) {
    case 'half a body':
      return head(ok, [`content-length: ${length + 10}`]) + body;
    case 'no HTTP':
      return `SSH-2.0-OpenSSH_9.2\r\n\0\xff${body.slice(0, 2_000)}`;
    case 'wrong length':
      return head(ok, ['content-length: -5', 'content-length: 12']) + body;
    case 'broken chunks':
      return `${head(ok, ['transfer-encoding: chunked'])}${length.toString(16)}\r\n${body}\r\nffffffffffffffffff\r\nx`;
    case 'many interim answers':
      return 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(2_000) + head(ok, [`content-length: ${length}`]) + body;
    case 'many headers':
      return head(ok, [...Array.from({ length: 3_000 }, (_, index) => `x-${index}: 1`), `content-length: ${length}`]) + body;
    case 'a long header':
      return head(ok, [`x-long: ${'x'.repeat(200_000)}`, `content-length: ${length}`]) + body;
    case 'header injection':
      return head(ok, ['x-odd: \0\x01\x7f', ' folded: 1', 'no colon', `content-length: ${length}`]) + body;
    case 'two answers':
      return (head(ok, [`content-length: ${length}`]) + body).repeat(2);
    case 'odd status':
      return head(`HTTP/9.9 ${status}${status} `, [`content-length: ${length}`]) + body;
    case 'bomb':
      return Buffer.concat([Buffer.from(head(ok, ['content-encoding: gzip', `content-length: ${BOMB.length}`])), BOMB]);
    default:
      return '';
  }
}
