import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createNatsChannel } from '../../../src/channels/brokers/nats.ts';
import { createRabbitChannel } from '../../../src/channels/brokers/rabbitmq.ts';
import { failed, outgoingEvent } from '../../support/outgoing-event.ts';

const COMMON = { format: 'standard', keys: [], timeout: 10_000 } as const;

test.each([
  [
    'RabbitMQ',
    (host: string) =>
      createRabbitChannel({ name: 'shop', ...COMMON, url: `amqp://${host}`, exchange: 'x', routingKey: '{type}' }),
  ],
  ['NATS', (host: string) => createNatsChannel({ name: 'shop', ...COMMON, url: `nats://${host}`, subject: 'shop.{type}' })],
])('what is no %s was never connected to, and that is said', async (kind, open) => {
  // As a mail server would answer.
  const other = createServer((socket) => void socket.on('error', () => undefined).end('220 mail.example ESMTP\r\n'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const channel = open(`127.0.0.1:${(other.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    await channel.close();
    other.close();
  });
  expect(failed(await channel.send(outgoingEvent(1), { attempt: 1, now: Date.now() }))).toMatchObject({
    detail: `No connection to the broker came about: what answers at its address may be no ${kind}.`,
    fault: 'receiver',
  });
});
