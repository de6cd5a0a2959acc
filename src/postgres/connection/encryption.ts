/**
 * Asks a server for TLS before the driver gets the socket. The driver could ask too, but would make the encrypted socket
 * itself, out of reach of watched-socket.ts: a query that the driver began between the failure of such a socket and its end was never answered.
 */

import { isIP, type Socket } from 'node:net';
import { connect as encrypt } from 'node:tls';
import type { Encryption } from './tls-parameters.ts';

/** The message of the protocol that asks for TLS, and the answers to it. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const GRANTED = 'S'.charCodeAt(0);
const DENIED = 'N'.charCodeAt(0);

/** The socket to go on with: encrypted, or the same one where the server has no TLS and need not. Rejects otherwise. */
export async function encrypted(socket: Socket, host: string, { mode, checks, isDirect }: Encryption): Promise<Socket> {
  if (mode === false) return socket;
  if (!isDirect) {
    socket.write(SSL_REQUEST);
    const [answer, ...rest] = (await next(socket, 'data')) as Buffer;
    if (answer === DENIED && rest.length === 0 && mode === 'prefer') return socket;
    if (answer === DENIED) throw new Error('the server offers no TLS, and sslmode in the URL asks for it');
    // More bytes would be read as if the server had sent them encrypted.
    if (answer !== GRANTED || rest.length > 0) throw new Error('the server did not answer whether it offers TLS');
  }
  const name = isIP(host) === 0 ? { servername: host } : {};
  const line = encrypt({ socket, host, ...name, ...(isDirect ? { ALPNProtocols: ['postgresql'] } : {}), ...checks() });
  await next(line, 'secureConnect');
  return line;
}

/** Resolves with what the event brings; rejects when the socket fails or closes before that. */
function next(socket: Socket, event: 'data' | 'secureConnect'): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const closed = (): void => reject(Object.assign(new Error('the server closed the connection'), { code: 'CONNECTION_CLOSED' }));
  socket.once(event, resolve).once('error', reject).once('close', closed);
  return promise.finally(() => socket.off(event, resolve).off('error', reject).off('close', closed));
}
