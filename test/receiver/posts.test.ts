import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { forward } from '../../src/receiver/forward.ts';
import { listenForPosts } from '../../src/receiver/posts.ts';

const MEGABYTE = 1024 * 1024;

test('bodies that arrive at once are bounded together, and taken again once their senders are gone', async () => {
  const refusals: string[] = [];
  const listener = await listenForPosts(({ body }) => ({ status: 200, body: `${body.length}` }), {
    onRefused: (detail) => refusals.push(detail),
  });
  onTestFinished(() => listener.close());
  const post = async () => {
    const answer = await fetch(listener.origin, { method: 'POST', body: 'x'.repeat(1_000) }).catch(() => null);
    return answer && [answer.status, await answer.text()];
  };
  // All but the last byte of each comes.
  const halves = Array.from({ length: 33 }, () => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${MEGABYTE}\r\n\r\n`);
    socket.write('x'.repeat(MEGABYTE - 1));
    return socket;
  });
  await expect.poll(() => refusals).toContain('too many bodies arrive at once; send this again later');
  const closed = halves.map(async (socket) => {
    socket.destroy();
    if (!socket.closed) await once(socket, 'close');
  });
  await Promise.all(closed);
  await expect.poll(post).toEqual([200, '1000']);
});

test('an answer of the program behind is bounded', async () => {
  const behind = await listenForPosts(() => ({ status: 200, body: 'x'.repeat(2 * MEGABYTE) }));
  onTestFinished(() => behind.close());
  const posted = { path: '/', body: Buffer.from('{}'), headers: {}, rawHeaders: [], at: 0, signal: AbortSignal.timeout(60_000) };
  expect(await forward(behind.origin, posted, 'self')).toEqual({ answer: null, detail: 'its answer is larger than 1 MiB' });
});
