/** What the operator of RabbitMQ does there and sees there. */
import { type ChannelModel, connect, type GetMessage, type Channel as Wire } from 'amqplib';

/** Connects when it has something to do, and again after the broker was away. */
export class RabbitOperator {
  #connection: ChannelModel | null = null;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async wire(): Promise<Wire> {
    if (this.#connection === null) {
      this.#connection = await connect(this.#url);
      this.#connection.on('error', () => undefined);
      this.#connection.on('close', () => {
        this.#connection = null;
      });
    }
    return await this.#connection.createChannel();
  }

  /** Makes the exchange `shop` and the queue `events` that takes all of it, empty. */
  async setUp(queue: Parameters<Wire['assertQueue']>[1] = {}): Promise<void> {
    const wire = await this.wire();
    await wire.deleteExchange('shop');
    await wire.deleteQueue('events');
    await wire.assertExchange('shop', 'topic', { durable: true });
    await wire.assertQueue('events', { durable: true, ...queue });
    await wire.bindQueue('events', 'shop', '#');
    await wire.close();
  }

  /** Takes what a queue holds, in its order. */
  async kept(queue = 'events'): Promise<GetMessage[]> {
    const wire = await this.wire();
    const messages: GetMessage[] = [];
    for (;;) {
      const message = await wire.get(queue, { noAck: true });
      if (message === false) break;
      messages.push(message);
    }
    await wire.close();
    return messages;
  }

  async keptIds(): Promise<string[]> {
    return (await this.kept()).map(({ properties }) => String(properties.messageId));
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }
}
