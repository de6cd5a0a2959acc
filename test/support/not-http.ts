/** A TCP server that does what a test tells it with each connection, and answers that are no HTTP. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What answers in place of an HTTP server: other protocols, noise, and HTTP that breaks its own rules. */
export const NOT_HTTP: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.2p1\r\n')],
  ['a TLS alert', Buffer.from('15030100020246', 'hex')],
  ['HTTP/2', Buffer.from('00001204000000000000030000008000040000ffff000500004000', 'hex')],
  ['noise', Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 97 + 31) % 256))],
  ['HTTP/0.9', Buffer.from('<html>hello</html>')],
  ['an impossible status', Buffer.from('HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n')],
  ['an impossible length', Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nok')],
  ['an impossible header', Buffer.from('HTTP/1.1 200 OK\r\n\u0000x: y\r\n\r\n')],
];

/** Starts one for this test; answers its address. */
export async function startTcp(onConnection: (socket: Socket, count: number) => void): Promise<string> {
  let count = 0;
  return listenForTest(
    createServer((socket) =>
      onConnection(
        socket.on('error', () => undefined),
        ++count,
      ),
    ),
  );
}

/** Has a server listen on a free port until the test is over; answers its address. */
export async function listenForTest(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
