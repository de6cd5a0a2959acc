/** An egress proxy that makes tunnels to this machine, whatever name is asked for, and can be set to fail or to want a login. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Pair } from './certificates.ts';

interface AskedTunnel {
  /** `host:port` as it was asked for. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ConnectProxy {
  readonly port: number;
  readonly asked: readonly AskedTunnel[];
  /** From now on every tunnel is refused with this status, cut off, or made again. */
  answer(how: number | 'reset' | 'silence' | 'tunnel'): void;
  /** Ends every tunnel. */
  cut(): void;
  stop(): Promise<void>;
}

/** With TLS where it has a certificate; `login` (`user:password`) is what it wants with HTTP Basic. */
export async function startConnectProxy(pair?: Pair, login?: string): Promise<ConnectProxy> {
  const wanted = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
  const asked: AskedTunnel[] = [];
  let how: number | 'reset' | 'silence' | 'tunnel' = 'tunnel';
  const server = pair === undefined ? createServer() : createSecureServer({ cert: pair.certificate, key: pair.key });
  const sockets = new Set<Socket>();
  const keep = <Kind extends Socket>(socket: Kind): Kind => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    return socket;
  };
  server.on('connection', keep);
  server.on('connect', (request, stream, head) => {
    const socket = keep(stream as Socket);
    asked.push({ target: request.url ?? '', headers: request.headers });
    if (how === 'silence') return;
    if (how === 'reset') return void socket.destroy();
    const isStranger = wanted !== undefined && request.headers['proxy-authorization'] !== wanted;
    const refusal = isStranger ? 407 : how;
    if (refusal !== 'tunnel') return void socket.end(`HTTP/1.1 ${refusal} no\r\ncontent-length: 0\r\n\r\n`);
    const receiver = keep(connect(Number(request.url?.split(':').at(-1)), '127.0.0.1'));
    receiver.on('connect', () => {
      socket.write('HTTP/1.1 200 connected\r\n\r\n');
      receiver.write(head);
      socket.pipe(receiver).pipe(socket);
    });
    receiver.on('close', () => socket.destroy());
    socket.on('close', () => receiver.destroy());
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    answer: (next) => {
      how = next;
    },
    cut,
    stop: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
