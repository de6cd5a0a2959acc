/** What could never work at a broker is refused when its channel is made. */
import { describe, expect, test } from 'vitest';
import { createNatsChannel, type NatsOptions } from '../../../src/channels/brokers/nats.ts';
import { createRabbitChannel, type RabbitOptions } from '../../../src/channels/brokers/rabbitmq.ts';
import { AppError } from '../../../src/domain/values/errors.ts';

const common = { format: 'standard', keys: [], timeout: 1_000 } as const;
const NO_KEY = [{ key: 'hunter2', until: null }];

describe('NATS', () => {
  const make = (options: Partial<NatsOptions>) => () =>
    createNatsChannel({ name: 'shop', url: 'nats://127.0.0.1', subject: 'shop.{type}', ...common, ...options });

  test.each(['http://127.0.0.1', 'not an address', 'nats://', 'nats://nats.example?timeout=5'])('the address %s', (url) => {
    expect(make({ url })).toThrow(AppError);
    expect(make({ url })).toThrow(/NATS needs an address such as nats:/);
  });

  test.each([
    ['shop.{state}', /contains \{state\}; it may contain \{type\} and \{site\}/],
    ['shop.{type', /contains \{type;/],
    ['shop..{type}', /expected names between dots/],
    ['shop.>', /expected names between dots/],
    ['my shop.{type}', /expected names between dots/],
    ['$JS.API.{type}', /do not begin with \$/],
    ['', /expected names between dots/],
  ])('the subject "%s"', (subject, problem) => {
    expect(make({ subject })).toThrow(problem);
  });

  test('credentials that are not percent-encoded', () => {
    expect(make({ url: 'nats://shop:100%sure@nats.example' })).toThrow(/must be percent-encoded: a % is %25$/);
  });

  test('a key that is none', () => {
    expect(make({ keys: NO_KEY })).toThrow(/whsec_/);
  });
});

describe('RabbitMQ', () => {
  const make = (options: Partial<RabbitOptions>) => () =>
    createRabbitChannel({ name: 'shop', url: 'amqp://127.0.0.1', exchange: 'shop', routingKey: '{type}', ...common, ...options });

  test.each(['http://127.0.0.1', 'not an address', 'amqp://', 'amqp://rabbitmq.example?heartbeat=5'])('the address %s', (url) => {
    expect(make({ url })).toThrow(AppError);
    expect(make({ url })).toThrow(/RabbitMQ needs an address such as amqp:/);
  });

  test('the routing key, and a key that is none', () => {
    expect(make({ routingKey: '{state}' })).toThrow(/contains \{state\}; it may contain \{type\} and \{site\}/);
    expect(make({ routingKey: 'x'.repeat(256) })).toThrow(/up to 255 characters/);
    expect(make({ keys: NO_KEY })).toThrow(/whsec_/);
  });

  test('an empty routing key is one: exchanges of the type fanout look at none', async () => {
    const channel = make({ routingKey: '' })();
    await channel.close();
  });
});
