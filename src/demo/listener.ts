/** Small HTTP servers of the demo: each takes POSTs on a free port of this machine. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Posted {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface PostListener {
  readonly origin: string;
  close(): Promise<void>;
}

/** Answers every request with what `receive` says. */
export async function listenForPosts(receive: (posted: Posted) => { status: number; body: string }): Promise<PostListener> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status, body } = receive({ body: Buffer.concat(chunks).toString(), headers: request.headers, at: Date.now() });
      response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The wanted port when it is free now, or 0, which means any. */
export async function freePortOrAny(wanted: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(wanted, '127.0.0.1');
    await once(probe, 'listening');
    return wanted;
  } catch {
    return 0;
  } finally {
    probe.close();
  }
}
