import { once } from 'node:events';
import { connect } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { makeAuthority } from '../support/certificates.ts';
import { listenForTest, NOT_HTTP, startTcp } from '../support/not-http.ts';
import { clientOf, ID, json, STATUS, startService, statusText } from './service.ts';

const OK = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const poll = (baseUrl: string, timeout = 10_000) => clientOf(baseUrl, { timeout, concurrency: 1 }).pollStatus(ID);

describe('one deadline covers the whole call', () => {
  test('a silent service, and the connection is given up', async () => {
    const closed = Promise.withResolvers<unknown>();
    const baseUrl = await startTcp((socket) => closed.resolve(once(socket.resume(), 'close')));
    expect(await poll(baseUrl, 500)).toMatchObject({ kind: 'unreachable', reason: 'timeout', httpStatus: null });
    await closed.promise;
  });

  test('a body that trickles for ever', async () => {
    let drops: NodeJS.Timeout | undefined;
    const baseUrl = await startTcp((socket) => {
      socket.on('close', () => clearInterval(drops));
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n');
        drops = setInterval(() => socket.write(' '), 5);
      });
    });
    const began = performance.now();
    expect(await poll(baseUrl, 1_200)).toMatchObject({ kind: 'unreachable', reason: 'timeout', httpStatus: 200 });
    // The whole of it would take 25 s.
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('headers that trickle for ever', async () => {
    let drops: NodeJS.Timeout | undefined;
    const baseUrl = await startTcp((socket) => {
      socket.on('close', () => clearInterval(drops));
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n');
        drops = setInterval(() => socket.write('x-more: 1\r\n'), 5);
      });
    });
    expect(await poll(baseUrl, 300)).toMatchObject({ kind: 'unreachable', reason: 'timeout' });
  });

  test('a connection that never comes about, and the next call is not held up by it', async () => {
    const baseUrl = await startTcp((socket) => socket.resume()); // never answers the TLS greeting
    const client = clientOf(baseUrl.replace('http:', 'https:'), { timeout: 60, concurrency: 1 });
    const both = await Promise.all([client.pollStatus(ID), client.pollStatus(ID)]);
    for (const seen of both) expect(seen).toMatchObject({ kind: 'unreachable', reason: 'timeout' });
    expect(JSON.stringify(both)).toMatch(/No connection came about/);
  });

  test('begins when a connection is free: waiting for our own other calls is not the fault of the service', async () => {
    const service = await startService({
      [STATUS]: (response) => setTimeout(() => json(response, statusText()), 300),
    });
    const client = clientOf(service.baseUrl, { timeout: 1_500, concurrency: 1 });
    const seen = await Promise.all(Array.from({ length: 6 }, () => client.pollStatus(ID)));
    expect(seen.map(({ kind }) => kind)).toEqual(Array(6).fill('seen'));
    expect(service.received.every(({ connection }) => connection === 1)).toBe(true);
  });

  test('an answer that came in time counts, even when this process was too busy to read it', async () => {
    // The stand-in lives in this process, so the answer is written by hand: on the wire before the deadline passes.
    const baseUrl = await startTcp((socket) =>
      socket.once('data', () => {
        socket.write(OK(statusText()), () => {
          const until = performance.now() + 1_200;
          while (performance.now() < until);
        });
      }),
    );
    expect(await poll(baseUrl, 1_000)).toMatchObject({ kind: 'seen' });
  });

  test('ends only the calls that are late', async () => {
    const service = await startService({
      [STATUS]: (response, { count }) => {
        if (count % 2 === 0) json(response, statusText());
      },
    });
    const client = clientOf(service.baseUrl, { timeout: 1_200, concurrency: 8 });
    const seen = await Promise.all(Array.from({ length: 8 }, () => client.pollStatus(ID)));
    expect(seen.filter(({ kind }) => kind === 'seen')).toHaveLength(4);
    expect(seen.filter(({ kind }) => kind === 'unreachable')).toHaveLength(4);
  });
});

describe('the cap on a body', () => {
  test.each(['content-length', 'chunked'])('announced by %s', async (how) => {
    let sent = 0;
    const service = await startService({
      [STATUS]: (response) => {
        if (how === 'content-length') response.setHeader('content-length', 1e9);
        const chunk = Buffer.alloc(64 * 1024, ' ');
        const more = () => {
          while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        };
        response.on('drain', more);
        more();
      },
    });
    expect(await poll(service.baseUrl)).toMatchObject({ kind: 'malformed', reason: 'too_large', httpStatus: 200 });
    expect(sent).toBeLessThan(50 * 1024 * 1024);
  });
});

describe('a connection that fails', () => {
  test('nobody listens', async () => {
    const gone = await new Promise<string>((resolve) => {
      const server = connect({ port: 1, host: '127.0.0.1' }).on('error', () => resolve('http://127.0.0.1:1'));
      server.unref();
    });
    expect(await poll(gone)).toMatchObject({ kind: 'unreachable', reason: 'connection_refused' });
  });
  test('no such name', async () => {
    expect(await poll('http://nowhere.invalid')).toMatchObject({ kind: 'unreachable', reason: 'dns' });
  });
  test('no TLS where TLS is asked for', async () => {
    const baseUrl = await startTcp((socket) => socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await poll(baseUrl.replace('http:', 'https:'))).toMatchObject({ kind: 'unreachable', reason: 'tls' });
  });
  test('a certificate of an authority that is not trusted, and nothing is sent', async () => {
    const received: string[] = [];
    const { certificate, key } = makeAuthority().issue('localhost');
    const server = createTlsServer({ cert: certificate, key }, (socket) =>
      socket.on('data', (data) => received.push(String(data))),
    );
    server.on('tlsClientError', () => undefined);
    const baseUrl = (await listenForTest(server)).replace('http://127.0.0.1', 'https://localhost');
    expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'tls' });
    expect(received).toEqual([]);
  });
  test('no newer TLS than 1.1', async () => {
    const { certificate, key } = makeAuthority().issue('localhost');
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    const server = createTlsServer({ cert: certificate, key, ...old });
    const refusal = once(server, 'tlsClientError');
    const baseUrl = (await listenForTest(server)).replace('http://127.0.0.1', 'https://localhost');
    expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'tls' });
    expect((await refusal)[0]).toMatchObject({ code: 'ERR_SSL_UNSUPPORTED_PROTOCOL' });
  });
  test('reset before an answer, and not tried again on a connection that never worked', async () => {
    let connections = 0;
    const baseUrl = await startTcp((socket, count) => {
      connections = count;
      socket.on('data', () => socket.resetAndDestroy());
    });
    expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'connection_reset' });
    expect(connections).toBe(1);
  });
  test('closed before an answer', async () => {
    const baseUrl = await startTcp((socket) => socket.on('data', () => socket.end()));
    expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'connection_closed' });
  });
  test.each(['content-length: 900', 'transfer-encoding: chunked'])('cut in the body (%s)', async (header) => {
    const baseUrl = await startTcp((socket) =>
      socket.on('data', () => socket.end(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n2\r\n{}`)),
    );
    expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'connection_cut', httpStatus: 200 });
  });
  test.each([...NOT_HTTP, ['a huge header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`] as const])(
    '%s is no HTTP, and the fault of the service',
    async (_what, bytes) => {
      const baseUrl = await startTcp((socket) => socket.on('data', () => socket.end(bytes)));
      expect(await poll(baseUrl)).toMatchObject({ kind: 'unreachable', reason: 'bad_http' });
    },
  );
});

describe('a kept connection that the service closes as we write on it', () => {
  test.each(['end', 'resetAndDestroy'] as const)('(%s) is replaced once, unseen', async (how) => {
    let connections = 0;
    const baseUrl = await startTcp((socket, count) => {
      connections = count;
      let calls = 0;
      socket.on('data', () => {
        calls += 1;
        if (calls === 1) socket.write(OK(statusText()));
        else socket[how]();
      });
    });
    const client = clientOf(baseUrl, { concurrency: 1 });
    for (let call = 1; call <= 3; call += 1) expect(await client.pollStatus(ID)).toMatchObject({ kind: 'seen' });
    expect(connections).toBe(3);
  });

  test('is not replaced when an answer had begun', async () => {
    let connections = 0;
    const baseUrl = await startTcp((socket, count) => {
      connections = count;
      let calls = 0;
      socket.on('data', () => {
        calls += 1;
        if (calls === 1) socket.write(OK(statusText()));
        else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{');
      });
    });
    const client = clientOf(baseUrl, { concurrency: 1 });
    await client.pollStatus(ID);
    expect(await client.pollStatus(ID)).toMatchObject({ kind: 'unreachable', reason: 'connection_cut' });
    expect(connections).toBe(1);
  });
});
