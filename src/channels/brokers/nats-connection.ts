/** Connections to NATS that can be ended at any moment, also while they are being made. Loads the library: import it when needed. */
import { createConnection, type Socket } from 'node:net';
import { jetstream } from '@nats-io/jetstream';
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  type NatsConnection,
  NatsConnectionImpl,
  nkeyAuthenticator,
  setTransportFactory,
} from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

export { JetStreamApiError } from '@nats-io/jetstream';
export { errors, headers } from '@nats-io/transport-node';

interface EndableOptions extends ConnectionOptions {
  readonly endedBy: AbortSignal;
}

/**
 * The library's own transport forgets a socket whose server accepts and then says nothing: it would stay open. Here the
 * signal ends it in every phase.
 */
class EndableTransport extends NodeTransport {
  #endedBy: AbortSignal | undefined;

  override connect(server: Parameters<NodeTransport['connect']>[0], options: EndableOptions): Promise<void> {
    this.#endedBy = options.endedBy;
    return super.connect(server, options);
  }

  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.#endedBy?.throwIfAborted();
      const socket = createConnection({ host: hostname, port, noDelay: true });
      this.#endedBy?.addEventListener('abort', () => socket.destroy(), { once: true });
      let failure: Error = new Error('the connection was ended');
      socket.on('error', (error) => {
        failure = error;
      });
      socket.on('close', () => reject(failure));
      socket.on('connect', () => {
        // The caller that gets the socket listens from here on.
        socket.removeAllListeners();
        resolve(socket);
      });
    });
  }
}

/** Connects. Nothing is buffered and nothing made again by the library: a lost connection is over. */
export async function connectToNats(options: ConnectionOptions, signal: AbortSignal): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndableTransport(), dnsResolveFn: nodeResolveHost });
  const endable: EndableOptions = {
    ...options,
    reconnect: false,
    ignoreClusterUpdates: true,
    noAsyncTraces: true,
    endedBy: signal,
  };
  return await NatsConnectionImpl.connect(endable);
}

/** Logs in with the content of a .creds file, or with an NKEY's seed alone. */
export function authenticatorOf(credentials: string, isSeedAlone: boolean): Authenticator {
  const bytes = new TextEncoder().encode(credentials);
  return isSeedAlone ? nkeyAuthenticator(bytes) : credsAuthenticator(bytes);
}

export { jetstream };
