/** Another program at the client's address: whatever it answers, it takes little memory and little time. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createPurchaseWatchClient, type PurchaseWatchClient } from '../../packages/client/src/index.ts';

async function clientOf(answer: RequestListener): Promise<PurchaseWatchClient> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return createPurchaseWatchClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

test('an answer that is compressed unasked is not unpacked', async () => {
  let asked: string | undefined;
  const client = await clientOf(({ headers }, response) => {
    asked = headers['accept-encoding'];
    response.setHeader('content-encoding', 'gzip').end(gzipSync('{"purchaseId":"p"}'));
  });
  await expect(client.get('p')).rejects.toMatchObject({ code: 'unexpected_answer', status: 200 });
  expect(asked).toBe('identity');
});

test('an answer without end is read up to its limit', async () => {
  const closed = Promise.withResolvers<void>();
  const client = await clientOf((_, response) => {
    response.on('close', () => closed.resolve());
    const piece = Buffer.alloc(1024 * 1024, ' ');
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', write);
    write();
  });
  await expect(client.get('p')).rejects.toMatchObject({ code: 'unexpected_answer', status: 200 });
  await closed.promise;
});

test('an answer of nearly the limit is read', async () => {
  const client = await clientOf((_, response) => response.end(`${' '.repeat(15_000_000)}{"purchaseId":"p"}`));
  expect(await client.get('p')).toMatchObject({ purchaseId: 'p' });
});
