/** Bytes to the HTTP socket that no HTTP client would send: odd methods, request lines, headers, lengths and chunks. */
import { connect } from 'node:net';
import fc from 'fast-check';
import type { OpenApiDocument } from '../../tools/book/api/model.ts';
import { oddText } from '../api/generate.ts';
import { brief, edited, edits, hostileHeaderText, hostileJson, sample } from './hostile.ts';
import { KEY } from './world.ts';

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'get',
  'G\tT',
  '',
  'X'.repeat(5_000),
];
const TARGETS = [
  '*',
  '/',
  '//',
  '/%',
  '/%00',
  '/%ff',
  '/..',
  '/docs/..%2f..%2fetc/passwd',
  'http://169.254.169.254/latest',
  'http://[::1',
  '?',
  '/v1/',
  `/v1/purchases/${'x'.repeat(9_000)}`,
  '\\\\host\\share',
  '/v1/purchases?limit=1&limit=2&cursor=%',
];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'HTTP', ''];
const HEADER_LINES = [
  'content-length: -1',
  'content-length: 1e3',
  'content-length: 0x10',
  'content-length: 99999999999999999999',
  'content-length: 5, 5',
  'content-length: 3\r\ncontent-length: 4',
  'transfer-encoding: chunked',
  'transfer-encoding: chunked\r\ncontent-length: 3',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: identity',
  'expect: 100-continue',
  'expect: 200-ok',
  'upgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABk',
  'upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: x',
  'connection: keep-alive, close, te',
  'trailer: authorization',
  'host: evil.example',
  'host: 127.0.0.1:99999999',
  'host: a b',
  'host: [::1',
  'Authorization: Bearer x\r\n y',
  ': no name',
  'no colon',
  ' folded: 1',
  'x-control: \x01\x02\x7f',
  'x-latin: \xff\xfe',
  `x-long: ${'x'.repeat(20_000)}`,
  Array.from({ length: 2_500 }, (_, index) => `x-${index}: 1`).join('\r\n'),
];
const BODIES = [
  '',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffffff\r\nx',
  '-1\r\n\r\n',
  '3;ext="x"\r\n{}\n\r\n0\r\nauthorization: Bearer x\r\n\r\n',
  'GET /v1/purchases HTTP/1.1\r\nhost: x\r\n\r\n',
];

const ANSWERS_WITHIN = 10_000;
/** A server breaks off what it does for a client that has ended its side; one that waits for more bytes waits until then. */
const ENDS_AFTER = 500;

/** Bytes as latin1 text. */
function requestBytes(document: OpenApiDocument): fc.Arbitrary<string> {
  const paths = Object.keys(document.paths);
  const known = fc
    .tuple(fc.constantFrom(...paths), oddText)
    .map(([path, odd]) => path.replace(/\{\w+\}/g, () => encodeURIComponent(odd.toWellFormed())));
  const target = fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 2, arbitrary: fc.constantFrom(...TARGETS) },
    { weight: 1, arbitrary: fc.webPath() },
  );
  const method = fc.constantFrom(...METHODS);
  const line = fc.tuple(method, target, fc.constantFrom(...VERSIONS)).map((parts) => parts.join(' '));
  const headers = fc.array(
    fc.oneof(
      fc.constantFrom(...HEADER_LINES),
      fc
        .tuple(fc.constantFrom('accept', 'range', 'cookie', 'x-forwarded-for', 'content-type'), hostileHeaderText)
        .map((pair) => pair.join(': ')),
    ),
    { maxLength: 3 },
  );
  const body = fc.oneof(fc.constantFrom(...BODIES), hostileJson);
  return fc
    .tuple(line, headers, body, fc.boolean(), fc.option(edits, { freq: 4 }))
    .map(([first, lines, content, measured, damage]) => {
      const own = ['host: 127.0.0.1', `authorization: Bearer ${KEY}`, 'content-type: application/json', 'connection: close'];
      const length = measured ? [`content-length: ${Buffer.byteLength(content)}`] : [];
      const text = `${[first, ...own, ...lines, ...length].join('\r\n')}\r\n\r\n${content}`;
      return damage === null ? text : edited(text, damage);
    });
}

/** Sends a request that asks for the end of its connection, and resolves with what came back until then. */
export function exchange(port: number, bytes: Buffer, endsAfter = ANSWERS_WITHIN): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' });
    const timers = [setTimeout(() => socket.end(), endsAfter), setTimeout(() => socket.destroy(), ANSWERS_WITHIN)];
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      // A stream of events has no end.
      if (answer.includes('text/event-stream')) socket.destroy();
    });
    // A reset is an answer, too.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      timers.forEach(clearTimeout);
      resolve(answer);
    });
    socket.write(bytes);
  });
}

/** Why what came back is a fault of the server; null where it is none. */
export function serverFault(answer: string): string | null {
  const bad = answer
    .matchAll(/HTTP\/1\.1 (5\d\d)/g)
    // An answer to HEAD has no body, and so not the code of a service that gives no usable answer.
    .some(
      ([, status]) =>
        status !== '503' && !answer.includes('checkout_unavailable') && !/502 .*problem\+json.*\r\n\r\n$/s.test(answer),
    );
  if (bad) return brief(answer);
  return answer === '' || answer.startsWith('HTTP/1.1 ') ? null : `the answer is no HTTP: ${answer.slice(0, 200)}`;
}

/** Sends so many requests. `found` is told of each answer that is a fault. */
export async function attackSocket(
  origin: string,
  document: OpenApiDocument,
  seed: number,
  count: number,
  found: (fault: string) => void,
): Promise<void> {
  const port = Number(new URL(origin).port);
  const queue = sample(requestBytes(document), count, seed);
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const answer = await exchange(port, Buffer.from(next), ENDS_AFTER);
      const fault = serverFault(answer);
      if (fault !== null) found(`raw HTTP: ${brief(JSON.stringify(next))}\n  ${fault}`);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
}
