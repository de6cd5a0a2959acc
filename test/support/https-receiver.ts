/** A webhook receiver with TLS, which may ask for the caller's certificate. */
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Pair } from './certificates.ts';

interface ReceivedPost {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** The name in the certificate that the caller showed; null when it showed none. */
  readonly caller: string | null;
}

export interface HttpsReceiver {
  readonly port: number;
  readonly received: readonly ReceivedPost[];
  stop(): Promise<void>;
}

/** Starts one at a free port; `clients` is the authority whose certificates it asks for. */
export async function startHttpsReceiver(pair: Pair, { clients }: { clients?: string } = {}): Promise<HttpsReceiver> {
  const received: ReceivedPost[] = [];
  const asking = clients === undefined ? {} : { ca: clients, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ cert: pair.certificate, key: pair.key, ...asking }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const subject = (request.socket as TLSSocket).getPeerCertificate()?.subject?.CN;
    const caller = Array.isArray(subject) ? (subject[0] ?? null) : (subject ?? null);
    received.push({ body: Buffer.concat(chunks).toString(), headers: request.headers, caller });
    response.end('ok');
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    received,
    stop: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
