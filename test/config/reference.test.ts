import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { markdownReference, publishedSchema } from '../../src/config/reference.ts';
import { STATE_NAMES } from '../../src/domain/purchases/states.ts';
import { SIGNING_SECRET } from './files.ts';

test('the reference has every variable of the contract with its default', () => {
  const markdown = markdownReference();
  const defaults = {
    DATA_DIR: './.purchase-watch',
    CHECKOUT_AUTH: 'oauth2',
    CHECKOUT_TIME_ZONE: 'Europe/Stockholm',
    CHECKOUT_MAX_RPS: '50',
    CHECKOUT_CONCURRENCY: '32',
    CHECKOUT_TIMEOUT: '10s',
    HOST: '127.0.0.1',
    PORT: '8080',
    LOG_LEVEL: 'info',
  };
  for (const [name, value] of Object.entries(defaults)) expect(markdown).toContain(`| \`${name}\` | \`${value}\` |`);
  for (const name of [
    'DATABASE_URL',
    'CHECKOUT_CLIENT_SECRET',
    'SLACK_WEBHOOK_URL',
    'WEBHOOK_SECRET',
    'API_KEY',
    'API_READ_KEY',
    'SECRETS_KEY',
  ]) {
    expect(markdown).toMatch(new RegExp(`^\\| \`${name}\` .*\`${name}_FILE\``, 'm'));
  }
});

test('the reference has every setting of the file', () => {
  expect(markdownReference()).toContain('| `slack.groupWait` | `30s` |');
  expect(markdownReference()).toContain('`states.<state>.poll.first` |');
  expect(markdownReference()).toContain('| `subscribers.<name>.headers.<header>` | none |');
  expect(markdownReference()).toContain('| `subscribers.<name>.subject` | `purchase-watch.{type}` |');
  expect(markdownReference()).toContain('| `subscribers.<name>.secret` | required for webhooks |');
});

describe('the published schema', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a schema is read here as whatever JSON it is
  const schema = publishedSchema() as any;

  test('is of draft 2020-12 and knows sections, defaults and meanings', () => {
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(Object.keys(schema.properties)).toEqual([
      '$schema',
      'sites',
      'states',
      'polling',
      'slack',
      'teams',
      'email',
      'alerts',
      'alertmanager',
      'subscribers',
      'webhooks',
      'api',
      'store',
    ]);
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties.slack.properties.groupWait).toMatchObject({
      type: 'string',
      default: '30s',
      description: expect.any(String),
    });
    expect(schema.properties.sites.additionalProperties.required).toEqual(['baseUrl', 'clientId', 'clientSecret']);
  });

  test('lets brokers do without a secret, and webhooks not', () => {
    const check = new Ajv2020({ strict: false }).compile(schema);
    const fits = (shop: object) => check({ subscribers: { shop } });
    expect(fits({ url: 'https://shop.example' })).toBe(false);
    expect(fits({ url: 'https://shop.example', secret: SIGNING_SECRET, headers: { 'X-A': 'b' } })).toBe(true);
    expect(fits({ url: 'nats://nats.example', subject: 'a.{type}' })).toBe(true);
    expect(fits({ url: 'kafka://nats.example', secret: SIGNING_SECRET })).toBe(false);
  });

  test('completes the names of states', () => {
    expect(schema.properties.states.propertyNames.anyOf[0].enum).toEqual([...STATE_NAMES, 'default']);
  });

  test('knows limits by their length, as learned and as switched off', () => {
    const check = new Ajv2020({ strict: false }).compile(schema);
    const fits = (stuckAfter: unknown) => check({ states: { New: { stuckAfter } } });
    expect(['15m', 'auto', 'never', null].every(fits)).toBe(true);
    expect([15, 'soon', 'Auto'].some(fits)).toBe(false);
  });

  test('has patterns that let durations and placeholders pass', () => {
    const pattern = new RegExp(schema.properties.polling.properties.giveUpAfter.pattern);
    expect(['30d', '250ms', `\${LONG}`].every((text) => pattern.test(text))).toBe(true);
    expect(['30', '30 d', 'soon'].some((text) => pattern.test(text))).toBe(false);
  });
});
