/** What the operator of a NATS server does there and sees there. */
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { NATS_PASSWORD, NATS_USER, type NatsServer } from './nats-server.ts';

/** A message of a stream. */
export interface KeptMessage {
  readonly subject: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

export interface NatsOperator {
  /** The stream `SHOP` for `shop.>`, or as the configuration says. */
  addStream(config?: Partial<StreamConfig>): Promise<void>;
  /** All that a stream holds, in its order. */
  kept(stream?: string): Promise<KeptMessage[]>;
  /** Values of the header `webhook-id`. */
  keptIds(): Promise<string[]>;
  /** Numbers of the connections that our channels have; no two of a server's life have the same. */
  connections(): Promise<number[]>;
  /** Listens to a subject and never answers, until the question is over. */
  listenSilently(subject: string): Promise<void>;
}

/** Connects for one question, since a server of a test may be another one by the next. */
export async function askNats<T>(server: NatsServer, ask: (operator: NatsOperator) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: `127.0.0.1:${server.port}`, user: NATS_USER, pass: NATS_PASSWORD });
  const manager = await jetstreamManager(connection);
  const kept = async (stream = 'SHOP'): Promise<KeptMessage[]> => {
    const { state } = await manager.streams.info(stream);
    const messages: KeptMessage[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const stored = (await manager.streams.getMessage(stream, { seq }))!;
      const headers = Object.fromEntries([...stored.header].map(([name, [value]]) => [name, value!]));
      messages.push({ subject: stored.subject, body: stored.string(), headers });
    }
    return messages;
  };
  try {
    return await ask({
      addStream: async (config = {}) => void (await manager.streams.add({ name: 'SHOP', subjects: ['shop.>'], ...config })),
      kept,
      keptIds: async () => (await kept()).map(({ headers }) => headers['webhook-id']!),
      connections: async () => {
        const answer = await (await fetch(`${server.monitor}/connz`)).json();
        const { connections } = answer as { connections: { cid: number; name?: string }[] };
        return connections.filter(({ name }) => name === 'purchase-watch').map(({ cid }) => cid);
      },
      listenSilently: async (subject) => {
        connection.subscribe(subject, { callback: () => undefined });
        await connection.flush();
      },
    });
  } finally {
    await connection.close();
  }
}
