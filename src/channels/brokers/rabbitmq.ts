/** The RabbitMQ channel: each event is published to an exchange, and delivered when the broker has confirmed that a queue keeps it. */

import type { ChannelModel, ConfirmChannel, Message } from 'amqplib';
import { monotonic } from '../../runtime/time.ts';
import { type NetworkFailure, networkFailureOf } from '../http/network-failure.ts';
import type { Channel } from '../outgoing/channel.ts';
import { BrokerFailure, type BrokerLink, connectionLost, createBrokerChannel, noBroker, takingTurns } from './broker.ts';
import { readBrokerAddress } from './broker-address.ts';
import { type BrokerMessage, type BrokerOptions, createComposer, readAddress } from './broker-message.ts';

/** The address is `amqp://` or, with TLS, `amqps://`; its path is the virtual host. */
export interface RabbitOptions extends BrokerOptions {
  /** Must exist. */
  readonly exchange: string;
  /** With `{type}` and `{site}`. */
  readonly routingKey: string;
}

const ROUTING_KEY = { setting: 'routingKey', pattern: /^\P{Cc}{0,255}$/u, expected: 'up to 255 characters' };
/** Seconds; a dead connection is noticed after two. */
const HEARTBEAT = 20;

/**
 * A channel to one broker, with one connection that is made at the first event. Throws AppError `configuration` for an
 * address, a routing key or a key that could never work.
 */
export function createRabbitChannel(options: RabbitOptions): Channel {
  const { url, routingKey, timeout } = options;
  const compose = createComposer(options, readAddress(routingKey, ROUTING_KEY));
  const open = takingTurns(readServers(url), timeout, (server, signal) => openLink(server, options, signal));
  return createBrokerChannel(open, compose, timeout);
}

function readServers(text: string) {
  const example = 'amqp://user:password@rabbitmq.example/vhost, or amqps://…';
  const addresses = readBrokerAddress(text, { broker: 'RabbitMQ', protocols: ['amqp:', 'amqps:'], example });
  return addresses.map(({ protocol, hostname, port, user, password, path }) => {
    const isAnonymous = user === '' && password === '';
    return {
      protocol: protocol.slice(0, -1),
      hostname,
      ...(port !== null && { port }),
      username: isAnonymous ? 'guest' : user,
      password: isAnonymous ? 'guest' : password,
      // Percent-encoded, as the library takes it.
      vhost: path.slice(1),
      heartbeat: HEARTBEAT,
    };
  });
}

async function openLink(
  server: ReturnType<typeof readServers>[number],
  { clientCertificate, exchange, timeout }: RabbitOptions,
  signal: AbortSignal,
): Promise<BrokerLink> {
  const { connect } = await import('amqplib');
  // The signal reaches the socket, so that it ends in every phase.
  const shown = clientCertificate && { cert: clientCertificate.certificate, key: clientCertificate.key };
  const socketOptions = { noDelay: true, timeout, signal, ...shown, clientProperties: { connection_name: 'purchase-watch' } };
  const connection = await connect(server, socketOptions).catch((error: unknown) => {
    throw connectFailure(error);
  });
  // The send that waits for a confirmation reports what ended it.
  connection.on('error', () => undefined);
  try {
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    // Every broker has the one without a name, and refuses a request for it.
    if (exchange !== '') await channel.checkExchange(exchange);
    return createLink(connection, channel, exchange);
  } catch (error) {
    connection.close().catch(() => undefined);
    throw channelFailure(error, exchange);
  }
}

/** A message on its way. The broker returns one that no queue wants, and confirms it afterwards. */
interface Sent {
  readonly id: string;
  isReturned: boolean;
}

function createLink(connection: ChannelModel, channel: ConfirmChannel, exchange: string): BrokerLink {
  const sent = new Set<Sent>();
  const over = Promise.withResolvers<void>();
  let isOver = false;
  let closedFor: unknown;
  let blocked: PromiseWithResolvers<void> | null = null;

  const end = (): void => {
    isOver = true;
    blocked?.resolve();
    over.resolve();
  };
  channel.on('error', (error) => {
    closedFor = error;
  });
  // Before the library rejects each message because its channel is gone.
  channel.prependListener('close', end);
  connection.on('close', end);
  connection.on('blocked', () => {
    blocked ??= Promise.withResolvers();
  });
  connection.on('unblocked', () => {
    blocked?.resolve();
    blocked = null;
  });
  channel.on('return', ({ properties }: Message) => {
    for (const one of sent) {
      if (one.id !== properties.messageId || one.isReturned) continue;
      one.isReturned = true;
      break;
    }
  });

  const handOver = ({ id, dedupId, type, at, address, contentType, headers, body }: BrokerMessage): Promise<string> =>
    new Promise((resolve, reject) => {
      const one: Sent = { id, isReturned: false };
      sent.add(one);
      channel.publish(
        exchange,
        address,
        body,
        {
          persistent: true,
          mandatory: true,
          messageId: id,
          type,
          timestamp: Math.floor(at / 1_000),
          appId: 'purchase-watch',
          contentType,
          headers: { ...headers, 'x-deduplication-header': dedupId },
        },
        (error: unknown) => {
          sent.delete(one);
          if (one.isReturned) reject(unroutable(exchange, address));
          else if (!error) resolve('confirmed');
          else reject(isOver ? channelFailure(closedFor ?? error, exchange) : nack());
        },
      );
    });

  return {
    publish: async (message, within) => {
      const until = monotonic() + within;
      while (blocked !== null && !isOver) await blocked.promise;
      // The attempt is over.
      if (monotonic() >= until) throw new BrokerFailure(BLOCKED);
      if (isOver) throw channelFailure(closedFor, exchange);
      return await handOver(message);
    },
    ended: over.promise,
    heldBack: () => (blocked === null ? null : BLOCKED),
    close: () => connection.close(),
  };
}

const BLOCKED: NetworkFailure = {
  reason: 'blocked',
  detail: 'RabbitMQ takes no messages for now: it is short of memory or disk, and says so.',
  fault: 'receiver',
};

function failure(reason: string, detail: string, cause?: unknown): BrokerFailure {
  return new BrokerFailure({ reason, detail, fault: 'receiver' }, cause);
}

function unroutable(exchange: string, key: string): BrokerFailure {
  const to =
    exchange === '' ? `There is no queue ${key}` : `No queue is bound to the exchange ${exchange} for the routing key ${key}`;
  return failure('unroutable', `${to}, so nobody would get the event; make the queue or the binding.`);
}

function nack(): BrokerFailure {
  return failure('nack', 'RabbitMQ could not keep the message (nack): a queue is full or not available.');
}

/** Why no connection came about. During the handshake the library has the broker's code only in its words. */
function connectFailure(error: unknown): unknown {
  const known = networkFailureOf(error);
  if (known.reason !== 'unexpected') return error;
  const message = error instanceof Error ? error.message : '';
  if (/ETIMEDOUT/.test(message)) return failure('timeout', 'RabbitMQ did not answer in time.', error);
  if (/\b403\b|ACCESS[-_]REFUSED/.test(message)) {
    return failure('login_refused', 'RabbitMQ refused the user name or the password in the address.', error);
  }
  if (/OpenOk; got <ConnectionClose/.test(message)) {
    const detail =
      'RabbitMQ refused the virtual host in the address: there is none of that name, this user has no access to it, or it has as many connections as it may.';
    return failure('not_permitted', detail, error);
  }
  return noBroker('RabbitMQ', error);
}

/** Why the broker closed the channel, or why there is none. */
function channelFailure(error: unknown, exchange: string): BrokerFailure {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  switch (code) {
    case 403:
      return failure('not_permitted', `RabbitMQ does not permit this user to publish to the exchange ${exchange}.`, error);
    case 404:
      return failure('no_exchange', `There is no exchange ${exchange} in this virtual host of RabbitMQ; make it first.`, error);
    case 406:
      return failure('refused', 'RabbitMQ refused the message: it may be larger than it takes (max_message_size).', error);
    default:
      return connectionLost(error);
  }
}
